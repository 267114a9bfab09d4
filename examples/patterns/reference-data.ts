// Departments fetched once and kept, and employees joined with them in the client.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  openTable,
  referenceDataOf,
  string,
} from 'tabularium/modeling';

const Department = defineEntity({
  type: 'Department',
  properties: { id: string(), name: string() },
  partitionKey: () => key`departments`,
  rowKey: (p) => key`${p.id}`,
});

const Employee = defineEntity({
  type: 'Employee',
  properties: { company: string(), id: int32(), name: string(), department: string() },
  partitionKey: (p) => key`${p.company}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'referencedataexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const employees = entitiesOf(Employee, table);
  const departmentRows = entitiesOf(Department, table);
  await departmentRows.insert({ id: 'S', name: 'Sales' });
  await departmentRows.insert({ id: 'M', name: 'Marketing' });
  const company = 'contoso';
  await employees.insert({ company, id: 1, name: 'Jo', department: 'S' });
  await employees.insert({ company, id: 2, name: 'Al', department: 'M' });
  await employees.insert({ company, id: 3, name: 'Di', department: '?' });

  const departments = referenceDataOf({
    load: () => Promise.resolve(departmentRows.query({ partition: {} }).toArray({ max: 1000 })),
    keyOf: ({ id }) => id,
    ttlMs: 60_000,
    staleMsMax: 3_600_000,
  });

  requests.length = 0;
  const joined = departments.join(
    employees.query({ partition: { company } }),
    ({ department }) => department,
    (employee, department) => `${employee.name} works in ${department?.name ?? 'no department'}`,
  );
  for await (const line of joined) console.log(line);
  console.log(`requests: ${requests.join(', ')}`);

  requests.length = 0;
  console.log(`${(await departments.get('S'))?.name}, from memory: ${requests.length} requests`);
  await departments.refresh();
  console.log(`refreshed: ${requests.join(', ')}`);
} finally {
  await client.deleteTable();
}
