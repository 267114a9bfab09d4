// Hires employees and welcomes each of them: the mail is stated in the transaction that hires.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import {
  defineEntity,
  int32,
  key,
  openTable,
  string,
  transaction,
  type CreateOf,
} from 'tabularium/modeling';
import {
  hintHandlerOf,
  outboxOf,
  relayOf,
  tableRegistryOf,
  toHandlers,
} from 'tabularium/modeling/transactional-outbox';
import { defineMessage, handle, keyPayload, queueWorkerOf } from 'tabularium/modeling/worker';

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const employeesTable = TableClient.fromConnectionString(connection, 'Employees', options);
const registryTable = TableClient.fromConnectionString(connection, 'OutboxPartitions', options);
const queues = QueueServiceClient.fromConnectionString(connection);
const hints = queues.getQueueClient('outbox-hints');
const poison = queues.getQueueClient('outbox-hints-poison');
await employeesTable.createTable();
await registryTable.createTable();
await hints.createIfNotExists();
await poison.createIfNotExists();

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), lastName: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});
const Hired = defineMessage('hired', { payload: keyPayload(Employee) });

const table = openTable(employeesTable);
const registry = tableRegistryOf(openTable(registryTable), table.table);
const outbox = outboxOf({ table, registry, hints });

/** The employee and the message are stored together, or neither. */
async function hire(employee: CreateOf<typeof Employee>): Promise<void> {
  const { department, id } = employee;
  const message = await outbox.message(department, Hired, { department, id });
  const { writes } = transaction(table).insert(Employee, employee);
  await outbox.transact(writes, [message]);
}

const welcome = handle(Hired, async ({ department, id }) => {
  console.log(`welcome, employee ${id} of ${department}`);
  await Promise.resolve();
});
const relay = relayOf({ table, registry, dispatch: toHandlers([welcome]) });

await hire({ department: 'Sales', id: 456, lastName: 'Jones' });
await hire({ department: 'Marketing', id: 457, lastName: 'Kwok' });

// The fast path: a worker gets the hints and relays the partitions that they name.
const worker = queueWorkerOf({
  sources: [{ queue: hints, poison }],
  handlers: [hintHandlerOf([relay])],
  concurrency: 1, // for the order of what is printed
});
const { handled } = await worker.drain();
console.log(`hints: ${handled}`);

// A process that crashes between its transaction and its hint leaves the message to the sweep,
// which finds it because `Sales` was registered before its first message.
const message = await outbox.message('Sales', Hired, { department: 'Sales', id: 458 });
const { writes } = transaction(table)
  .insert(Employee, { department: 'Sales', id: 458, lastName: 'Lopez' })
  .add(message.write);
await table.transact(writes);
const { partitions, dispatched } = await relay.sweep();
console.log(`swept: ${dispatched} message in ${partitions} partitions`);

await employeesTable.deleteTable();
await registryTable.deleteTable();
await hints.delete();
await poison.delete();
