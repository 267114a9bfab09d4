// All employees with the last name Jones: a list of their keys for each name, in the same
// partition, in a table for the whole company, and in a blob for each name. Works with the cloud
// service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import {
  indexedEntitiesOf,
  indexEntity,
  openListBlobs,
  withIndexes,
} from 'tabularium/modeling/indexes';
import {
  outboxOf,
  relayOf,
  tableRegistryOf,
  toHandlers,
} from 'tabularium/modeling/transactional-outbox';

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const EmployeeIndexes = withIndexes(Employee, {
  lastName: indexEntity({
    place: 'same-partition',
    rowKey: (p) => key`${p.lastName}`,
    list: 'EmployeeIDs',
  }),
  companyLastName: indexEntity({
    place: 'other-table',
    partitionKey: (p) => key`${p.lastName}`,
    rowKey: () => key`EmployeeIDs`,
    list: 'EmployeeIDs',
  }),
  lastNameBlob: indexEntity({ place: 'blob', name: (p) => key`${p.lastName}` }),
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const client = TableClient.fromConnectionString(connection, 'indexentities', options);
const company = TableClient.fromConnectionString(connection, 'indexentitiescompany', options);
const partitions = TableClient.fromConnectionString(connection, 'indexentitiesoutbox', options);
const container =
  BlobServiceClient.fromConnectionString(connection).getContainerClient('index-entities');
await client.createTable();
await company.createTable();
await partitions.createTable();
await container.createIfNotExists();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const registry = tableRegistryOf(openTable(partitions), table.table);
  const employees = indexedEntitiesOf(EmployeeIndexes, {
    table,
    tables: { companyLastName: openTable(company) },
    blobs: { lastNameBlob: openListBlobs(container, 'last-names/') },
    outbox: outboxOf({ table, registry }),
  });
  const relay = relayOf({ table, registry, dispatch: toHandlers([employees.handler]) });

  const people = [
    { department: 'Sales', id: 123, firstName: 'Jun', lastName: 'Jones' },
    { department: 'Sales', id: 223, firstName: 'Ann', lastName: 'Jones' },
    { department: 'Sales', id: 330, firstName: 'Kay', lastName: 'Kwok' },
    { department: 'Marketing', id: 7, firstName: 'Max', lastName: 'Jones' },
  ];
  for (const person of people) await employees.insert(person);
  requests.length = 0;

  // The same partition: the list changed in the transaction of each employee.
  const jones = await client.getEntity<{ EmployeeIDs: string }>('Sales', 'Jones');
  console.log(`the index row Jones of Sales: ${jones.EmployeeIDs}`);
  for await (const { id, firstName } of employees.by.lastName.entities({
    department: 'Sales',
    lastName: 'Jones',
  })) {
    console.log(`  ${id} ${firstName}`);
  }
  console.log(`look-up: ${requests.splice(0).join(', ')}`);

  // The whole company, when the worker has acted.
  await relay.sweep();
  const everywhere = await employees.by.companyLastName.keys({ lastName: 'Jones' });
  console.log(
    `in the company: ${everywhere.map(({ department, id }) => `${department} ${id}`).join(', ')}`,
  );
  const blob = await container.getBlobClient('last-names/Jones.txt').downloadToBuffer();
  console.log(`the blob:\n${blob.toString()}`);

  // A change of the last name touches three rows of the partition, in one transaction.
  requests.length = 0;
  await employees.update({ department: 'Sales', id: 223 }, (current) => ({
    ...current,
    lastName: 'Kwok',
  }));
  console.log(`change of name: ${requests.splice(0).join(', ')}`);
  await relay.sweep();
  for (const lastName of ['Jones', 'Kwok']) {
    const beside = await employees.by.lastName.keys({ department: 'Sales', lastName });
    const all = await employees.by.lastNameBlob.keys({ lastName });
    console.log(`${lastName}: ${beside.length} in Sales, ${all.length} in the company`);
  }

  // Eight writers of one list: those who lose start over, and nothing is lost.
  await Promise.all(
    Array.from({ length: 8 }, (_, at) =>
      employees.insert({ department: 'Sales', id: 1000 + at, firstName: 'New', lastName: 'Lopez' }),
    ),
  );
  const lopez = await employees.by.lastName.keys({ department: 'Sales', lastName: 'Lopez' });
  console.log(`Lopez: ${lopez.length}`);
} finally {
  await client.deleteTable();
  await company.deleteTable();
  await partitions.deleteTable();
  await container.delete();
}
