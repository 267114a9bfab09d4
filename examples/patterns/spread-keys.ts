// Events in the order of their time, without a partition that takes all of them.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  defineEntity,
  Instant,
  instant,
  int32,
  key,
  openSpreadEntities,
  openTable,
  string,
} from 'tabularium/modeling';

const Event = defineEntity({
  type: 'Event',
  properties: {
    bucket: int32(),
    stream: string(),
    at: instant(),
    id: string(),
    text: string(),
  },
  partitionKey: (p) => key`${p.bucket.padded(2)}_${p.stream}`,
  rowKey: (p) => key`${p.at.ascending()}_${p.id}`,
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'spreadkeysexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const events = await openSpreadEntities(Event, table, { bucket: 'bucket', buckets: 8 });

  const begin = Instant.parse('2014-07-31T18:00:00Z').ticks;
  const at = (second: number) => Instant.ofTicks(begin + BigInt(second) * 10_000_000n);
  for (let second = 0; second < 40; second += 1) {
    await events.insert({ stream: 'shop', at: at(second), id: 'a', text: `event ${second}` });
  }
  const used = new Set<number>();
  for await (const { bucket } of events.entities.scanTable()) used.add(bucket);
  console.log(`40 events that follow one another went to ${used.size} partitions`);

  requests.length = 0;
  const one = await events.get({ stream: 'shop', at: at(7), id: 'a' });
  console.log(`${one?.text}: ${requests.join(', ')}`);

  requests.length = 0;
  const query = events.query({
    partition: { stream: 'shop' },
    rowKeyFrom: { at: at(10) },
    rowKeyBefore: { at: at(20) },
  });
  const texts: string[] = [];
  for await (const { text } of query) texts.push(text);
  console.log(`in order: ${texts.join(', ')}`);
  console.log(`a request a bucket: ${requests.length}`);

  const page = await query.page({ limit: 3 });
  console.log(`first page: ${page.items.map(({ text }) => text).join(', ')}`);

  const other = openSpreadEntities(Event, table, { bucket: 'bucket', buckets: 16 });
  console.log(await other.then(String, (error: Error) => error.message));
} finally {
  await client.deleteTable();
}
