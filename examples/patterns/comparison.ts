// Three tasks that libraries for other stores are measured by: a look-up across partitions, an
// insert with a count, and all types of a partition. Works with the cloud service, Azurite and this
// server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import { otherPartition, withIndexes } from 'tabularium/modeling/indexes';
import { counter, openModel } from 'tabularium/modeling/model';

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), name: string(), email: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`employee_${p.id.padded(6)}`,
});
const Department = defineEntity({
  type: 'Department',
  properties: { department: string(), count: int32().default(0) },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`department`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const client = TableClient.fromConnectionString(connection, 'comparison', options);
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const company = openModel({
    table,
    entities: {
      employees: withIndexes(Employee, {
        email: otherPartition({
          partitionKey: (p) => key`email_${p.email}`,
          rowKey: () => key`employee`,
        }),
      }),
      departments: Department,
    },
    keeps: [
      counter({
        source: Employee,
        view: Department,
        measures: { count: () => 1 },
        ifAbsent: 'refuse',
      }),
    ],
  });
  const { employees, departments } = company.entities;
  await departments.insert({ department: 'Sales' });

  requests.length = 0;
  await employees.insert({ department: 'Sales', id: 1, name: 'Jo', email: 'jonesj@contoso.com' });
  console.log(`insert and count: ${requests.splice(0).join(', ')}`);

  // What a service with secondary indexes does by itself. `company.run()` goes on until it is
  // closed.
  await company.drain();

  requests.length = 0;
  const jones = await employees.by.email.get({ email: 'jonesj@contoso.com' });
  console.log(`${jones?.name} of ${jones?.department}: ${requests.splice(0).join(', ')}`);

  const sales = await company.read(['employees', 'departments'], { department: 'Sales' });
  for (const { department, count } of sales.departments) console.log(`${department} has ${count}`);
  for (const { name } of sales.employees) console.log(name);
  console.log(`all types: ${requests.splice(0).join(', ')}`);
  await company.close();
} finally {
  await client.deleteTable();
}
