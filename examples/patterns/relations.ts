// Departments that count their employees, employees that move, and a detail kept apart.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { defineEntity, entitiesOf, int32, key, openTable, string } from 'tabularium/modeling';
import { oneToManyOf, oneToOneOf } from 'tabularium/modeling/relations';

const Department = defineEntity({
  type: 'Department',
  properties: { name: string(), employeeCount: int32().default(0) },
  partitionKey: (p) => key`${p.name}`,
  rowKey: () => key`Department`,
});

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), name: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

// One to one with the employee, in a partition of its own that fewer people may read.
const Contract = defineEntity({
  type: 'Contract',
  properties: { id: int32(), department: string(), salary: int32() },
  partitionKey: (p) => key`contracts_${p.department}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'relationsexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const departments = entitiesOf(Department, table);
  const employees = entitiesOf(Employee, table);
  for (const name of ['Sales', 'Marketing']) await departments.insert({ name });

  const staff = oneToManyOf({
    parent: Department,
    child: Employee,
    table,
    parentOf: ({ department }) => ({ name: department }),
    count: 'employeeCount',
  });
  requests.length = 0;
  await staff.add({ department: 'Sales', id: 1, name: 'Jo' });
  console.log(`add: ${requests.join(', ')}`);
  await staff.add({ department: 'Sales', id: 2, name: 'Al' });

  // To another partition: no transaction does that, and still nobody is lost or counted twice.
  const jo = await employees.get({ department: 'Sales', id: 1 });
  requests.length = 0;
  if (jo !== undefined) await staff.move(jo, { ...jo, department: 'Marketing' });
  console.log(`move: ${requests.join(', ')}`);
  for await (const { name, employeeCount } of departments.scanTable()) {
    console.log(`${name}: ${employeeCount}`);
  }

  // After a crash: whatever was under way is put where it goes.
  const { finished } = await staff.finishMoves({ department: 'Sales' });
  console.log(`interrupted moves finished: ${finished}`);
  console.log(`recounted: ${await staff.recount({ name: 'Sales' })}`);

  const contracts = oneToOneOf({
    main: Employee,
    mainTable: table,
    detail: Contract,
    detailTable: table,
    detailOf: ({ department, id }) => ({ department, id }),
    mainOf: ({ department, id }) => ({ department, id }),
  });
  await contracts.insert(
    { department: 'Sales', id: 3, name: 'Di' },
    { department: 'Sales', id: 3, salary: 3000 },
  );
  const pair = await contracts.get({ department: 'Sales', id: 3 });
  console.log(`${pair?.main.name} earns ${pair?.detail?.salary}`);
  if (pair !== undefined) await contracts.delete(pair.main);
  const { removed } = await contracts.removeOrphans({ department: 'Sales' });
  console.log(`contracts without an employee: ${removed.length}`);
} finally {
  await client.deleteTable();
}
