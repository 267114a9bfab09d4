// A department with the details of its manager, so that one point read shows both.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  denormalisationOf,
  entitiesOf,
  int32,
  key,
  openTable,
  referenceCopiesOf,
  string,
} from 'tabularium/modeling';

const Department = defineEntity({
  type: 'Department',
  properties: {
    name: string(),
    employeeCount: int32().default(0),
    managerName: string().optional(),
    managerEmail: string().optional(),
  },
  partitionKey: (p) => key`${p.name}`,
  rowKey: () => key`Department`,
});

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    isManager: string().default('no'),
    name: string(),
    email: string(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const Project = defineEntity({
  type: 'Project',
  properties: {
    code: string(),
    leadDepartment: string().optional(),
    leadId: int32().optional(),
    leadName: string().optional(),
  },
  partitionKey: () => key`projects`,
  rowKey: (p) => key`project_${p.code}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'denormalisationexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const departments = entitiesOf(Department, table);
  const employees = entitiesOf(Employee, table);
  const projects = entitiesOf(Project, table);

  const managers = denormalisationOf({
    source: Employee,
    sourceTable: table,
    target: Department,
    targetTable: table,
    targetsOf: ({ department, isManager }) => (isManager === 'yes' ? [{ name: department }] : []),
    copy: ({ name, email }) => ({ managerName: name, managerEmail: email }),
  });

  await departments.insert({ name: 'Sales', employeeCount: 1 });
  const jo = await employees.insert({
    department: 'Sales',
    id: 1,
    isManager: 'yes',
    name: 'Jo Jones',
    email: 'jonesj@contoso.com',
  });

  // Same partition: the employee and the copy change in one transaction.
  requests.length = 0;
  await managers.replace({ ...jo, name: 'Jo Smith' });
  console.log(`replace: ${requests.join(', ')}`);
  requests.length = 0;
  const sales = await departments.get({ name: 'Sales' });
  console.log(`${sales?.name}, managed by ${sales?.managerName}: ${requests.join(', ')}`);

  // Elsewhere, or written past the copies: a worker refreshes them by the key of the employee.
  const manager = { department: 'Sales', id: 1 };
  await employees.merge(manager, { email: 'smithj@contoso.com' }, { ifMatch: 'any' });
  console.log(`copies that drift: ${(await managers.verify(manager)).length}`);
  requests.length = 0;
  await managers.refresh(manager);
  console.log(`refresh: ${requests.join(', ')}`);
  console.log(`now ${(await departments.get({ name: 'Sales' }))?.managerEmail}`);

  // The other way round: the project names its lead, and both may change.
  const leads = referenceCopiesOf({
    source: Employee,
    sourceTable: table,
    target: Project,
    targetTable: table,
    sourceOf: ({ leadDepartment: department, leadId: id }) =>
      department === undefined || id === undefined ? undefined : { department, id },
    copy: (project, lead) => ({ ...project, leadName: lead?.name }),
    targetsOf: ({ department, id }) =>
      projects.query({
        partition: {},
        where: (p) => p.leadDepartment.eq(department).and(p.leadId.eq(id)),
      }),
  });
  await employees.insert({ department: 'Labs', id: 2, name: 'Al Brown', email: 'al@contoso.com' });
  await leads.insert({ code: 'apollo', leadDepartment: 'Sales', leadId: 1 });
  const apollo = { code: 'apollo' };
  requests.length = 0;
  const given = await leads.update(apollo, (project) => ({
    ...project,
    leadDepartment: 'Labs',
    leadId: 2,
  }));
  console.log(`led by ${given.leadName}: ${requests.join(', ')}`);
  await employees.merge({ department: 'Labs', id: 2 }, { name: 'Al Green' }, { ifMatch: 'any' });
  const count = await leads.refresh({ department: 'Labs', id: 2 });
  console.log(`${count} project is led by ${(await projects.get(apollo))?.leadName} now`);
} finally {
  await client.deleteTable();
}
