// A department names its manager and has the manager's details, so that one point read shows both.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  copiesOf,
  defineEntity,
  entitiesOf,
  int32,
  key,
  openTable,
  string,
} from 'tabularium/modeling';
import { copies, openModel } from 'tabularium/modeling/model';

const Department = defineEntity({
  type: 'Department',
  properties: {
    name: string(),
    employeeCount: int32().default(0),
    managerId: int32().optional(),
    managerName: string().optional(),
    managerEmail: string().optional(),
  },
  partitionKey: (p) => key`${p.name}`,
  rowKey: () => key`Department`,
});

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), name: string(), email: string() },
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

  // Declared with the table: every way to write keeps them.
  const model = openModel({
    table,
    entities: { departments: Department, employees: Employee },
    keeps: [
      copies({
        source: Employee,
        target: Department,
        sourceOf: ({ name: department, managerId: id }) =>
          id === undefined ? undefined : { department, id },
        targetsOf: ({ department }) => [{ name: department }],
        copy: (manager) => ({ managerName: manager?.name, managerEmail: manager?.email }),
      }),
    ],
  });
  const { departments, employees } = model.entities;

  await departments.insert({ name: 'Sales', employeeCount: 2, managerId: 1 });
  for (const [id, name, email] of [
    [1, 'Jo Jones', 'jonesj@contoso.com'],
    [2, 'Al Brown', 'browna@contoso.com'],
  ] as const) {
    await employees.insert({ department: 'Sales', id, name, email });
  }

  // Same partition: the employee and the copy change in one transaction.
  const jo = { department: 'Sales', id: 1 };
  requests.length = 0;
  await employees.update(jo, (current) => ({ ...current, name: 'Jo Smith' }));
  console.log(`another name: ${requests.join(', ')}`);
  requests.length = 0;
  const sales = await departments.get({ name: 'Sales' });
  console.log(`${sales?.name}, managed by ${sales?.managerName}: ${requests.join(', ')}`);

  // Another manager, and then one who leaves.
  await departments.merge({ name: 'Sales' }, { managerId: 2 }, { ifMatch: 'any' });
  console.log(`now ${(await departments.get({ name: 'Sales' }))?.managerEmail}`);
  await employees.delete({ department: 'Sales', id: 2 }, { ifMatch: 'any' });
  console.log(`and then ${(await departments.get({ name: 'Sales' }))?.managerEmail ?? 'nobody'}`);
  for await (const drift of model.verify()) console.log('differs:', drift);

  // Called: a worker is told the key of an employee, whose projects a query finds.
  const projects = entitiesOf(Project, table);
  const leads = copiesOf({
    source: Employee,
    sourceTable: table,
    target: Project,
    targetTable: table,
    sourceOf: ({ leadDepartment: department, leadId: id }) =>
      department === undefined || id === undefined ? undefined : { department, id },
    targetsOf: ({ department, id }) =>
      projects.query({
        partition: {},
        where: (p) => p.leadDepartment.eq(department).and(p.leadId.eq(id)),
      }),
    copy: (lead) => ({ leadName: lead?.name }),
  });
  await employees.insert({ department: 'Labs', id: 3, name: 'Vi Green', email: 'vi@contoso.com' });
  await leads.insert({ code: 'apollo', leadDepartment: 'Sales', leadId: 1 });
  const apollo = { code: 'apollo' };
  requests.length = 0;
  const given = await leads.update(apollo, (project) => ({
    ...project,
    leadDepartment: 'Labs',
    leadId: 3,
  }));
  console.log(`led by ${given.leadName}: ${requests.join(', ')}`);
  await employees.merge({ department: 'Labs', id: 3 }, { name: 'Vi Gray' }, { ifMatch: 'any' });
  console.log(`behind: ${(await leads.drift(given))?.leadName}`);
  const count = await leads.refresh({ department: 'Labs', id: 3 });
  console.log(`${count} project is led by ${(await projects.get(apollo))?.leadName} now`);
} finally {
  await client.deleteTable();
}
