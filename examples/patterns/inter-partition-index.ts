// Employees found by their id and by their email in partitions of their own. The employee and the
// intent to copy it are stored in one transaction; a worker stores the copy.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import { indexedEntitiesOf, otherPartition, withIndexes } from 'tabularium/modeling/indexes';
import {
  hintHandlerOf,
  outboxOf,
  relayOf,
  tableRegistryOf,
  toHandlers,
} from 'tabularium/modeling/transactional-outbox';
import { queueWorkerOf } from 'tabularium/modeling/worker';

const Employee = defineEntity({
  type: 'Employee',
  properties: {
    department: string(),
    id: int32(),
    firstName: string(),
    lastName: string(),
    email: string(),
  },
  partitionKey: (p) => key`empid_${p.department}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const EmployeeIndexes = withIndexes(Employee, {
  email: otherPartition({
    partitionKey: (p) => key`email_${p.department}`,
    rowKey: (p) => key`${p.email}`,
  }),
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const client = TableClient.fromConnectionString(connection, 'interpartitionindex', options);
const partitions = TableClient.fromConnectionString(connection, 'interpartitionoutbox', options);
const queues = QueueServiceClient.fromConnectionString(connection);
const hints = queues.getQueueClient('inter-partition-hints');
const poison = queues.getQueueClient('inter-partition-hints-poison');
await client.createTable();
await partitions.createTable();
await hints.createIfNotExists();
await poison.createIfNotExists();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const registry = tableRegistryOf(openTable(partitions), table.table);
  const outbox = outboxOf({ table, registry, hints });
  const employees = indexedEntitiesOf(EmployeeIndexes, { table, outbox });

  // What a worker of the company runs, here or elsewhere: `worker.run({ signal })`.
  const relay = relayOf({ table, registry, dispatch: toHandlers([employees.handler]) });
  const worker = queueWorkerOf({
    sources: [{ queue: hints, poison }],
    handlers: [hintHandlerOf([relay])],
  });

  await employees.insert({
    department: 'Sales',
    id: 223,
    firstName: 'Jun',
    lastName: 'Jones',
    email: 'jonesj@contoso.com',
  });
  console.log(`insert: ${requests.splice(0).join(', ')}`);

  const email = { department: 'Sales', email: 'jonesj@contoso.com' };
  console.log(`before the worker: ${(await employees.by.email.get(email))?.lastName}`);
  await worker.drain();
  console.log(`after the worker: ${(await employees.by.email.get(email))?.lastName}`);
  for await (const { partitionKey, rowKey } of client.listEntities()) {
    console.log(`  ${partitionKey}  ${rowKey}`);
  }

  // The copy follows the employee. Until it does, `entity` gives nothing that is not true.
  await employees.merge(
    { department: 'Sales', id: 223 },
    { email: 'jun@contoso.com' },
    { ifMatch: 'any' },
  );
  const old = await employees.by.email.get(email);
  const current = await employees.by.email.entity(email);
  console.log(`the old copy: ${old?.lastName}, the employee: ${current?.lastName}`);

  // A hint that got lost: the next sweep finds the intent.
  await hints.clearMessages();
  await relay.sweep();
  console.log(`after the sweep: ${(await employees.by.email.get(email))?.lastName}`);
  const moved = await employees.by.email.entity({ ...email, email: 'jun@contoso.com' });
  console.log(`by the new email: ${moved?.firstName} ${moved?.lastName}`);
} finally {
  await client.deleteTable();
  await partitions.deleteTable();
  await hints.delete();
  await poison.delete();
}
