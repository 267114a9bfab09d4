// Follows the changes of a table: every write tells of itself, and readers go on where they were.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { defineEntity, entitiesOf, int32, key, openTable, string } from 'tabularium/modeling';
import {
  announcingTableOf,
  changeFeedOf,
  consumerGroupOf,
  feedSinkOf,
  payloadOf,
  RowsChangedMessage,
  trimFeed,
  type FeedEvent,
} from 'tabularium/modeling/change-feed';
import { knownPartitions, outboxOf, relayOf } from 'tabularium/modeling/transactional-outbox';

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const options = { allowInsecureConnection: true };
const client = TableClient.fromConnectionString(connection, 'FollowedEmployees', options);
await client.createTable();

const Employee = defineEntity({
  type: 'Employee',
  properties: { department: string(), id: int32(), lastName: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});

const table = openTable(client);
const registry = knownPartitions(['Marketing', 'Sales']);
const outbox = outboxOf({ table, registry });

// Whoever writes through this table announces every write.
const employees = entitiesOf(Employee, announcingTableOf(outbox));
const jones = { department: 'Sales', id: 456 };
await employees.insert({ ...jones, lastName: 'Jones' });
await employees.update(jones, (employee) => ({ ...employee, lastName: 'Jones-Smith' }));
await employees.insert({ department: 'Sales', id: 457, lastName: 'Kwok' });
await employees.delete(jones, { ifMatch: 'any' });

// The relay numbers the messages into the feed. It would run beside the program.
const relay = relayOf({ table, registry, sink: feedSinkOf(table) });
await relay.sweep();

const feed = changeFeedOf(table);
async function print(event: FeedEvent): Promise<void> {
  const changed = await payloadOf(RowsChangedMessage, event);
  for (const { rowKey, change } of changed?.rows ?? []) {
    console.log(`  ${event.sequence}: ${change} ${rowKey}`);
  }
}

console.log('reading two, then the rest from the cursor:');
const first = await feed.read('Sales', { limit: 2 });
for (const event of first.events) await print(event);
const rest = await feed.read('Sales', { cursor: first.cursor });
for (const event of rest.events) await print(event);

console.log('a group that keeps its own checkpoint:');
const search = consumerGroupOf(feed, 'search-index');
await search.consume('Sales', print);
await employees.insert({ ...jones, lastName: 'Jones' });
await relay.partition('Sales');
await search.consume('Sales', print);

const deleted = await trimFeed(feed, 'Sales', { keepMs: 0 });
console.log(`deleted ${deleted} events that every group has handled`);

await client.deleteTable();
