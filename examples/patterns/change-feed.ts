// Follows the changes of a table: every write tells of itself, and readers go on where they were.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { defineEntity, int32, key, openTable, string } from 'tabularium/modeling';
import {
  changeFeed,
  changeFeedOf,
  consumerGroupOf,
  payloadOf,
  RowsChangedMessage,
  trimFeed,
  type FeedEvent,
} from 'tabularium/modeling/change-feed';
import { openModel } from 'tabularium/modeling/model';

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

// Whoever writes through the model's table announces every write.
const model = openModel({
  table: openTable(client),
  entities: { employees: Employee },
  keeps: [changeFeed()],
});
const { employees } = model.entities;
const jones = { department: 'Sales', id: 456 };
await employees.insert({ ...jones, lastName: 'Jones' });
await employees.update(jones, (employee) => ({ ...employee, lastName: 'Jones-Smith' }));
await employees.insert({ department: 'Sales', id: 457, lastName: 'Kwok' });
await employees.delete(jones, { ifMatch: 'any' });

// The relay numbers the messages into the feed. `model.run()` does it beside the program.
await model.drain();

const feed = changeFeedOf(model.table);
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
await model.drain();
await search.consume('Sales', print);

const deleted = await trimFeed(feed, 'Sales', { keepMs: 0 });
console.log(`deleted ${deleted} events that every group has handled`);

await client.deleteTable();
