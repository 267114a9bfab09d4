// Messages of each hour of a day, in one entity that one read brings to a plot.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import {
  dataSeriesOf,
  defineEntity,
  Instant,
  int32,
  key,
  openTable,
  string,
  timeSeriesOf,
} from 'tabularium/modeling';

const MessageCounts = defineEntity({
  type: 'MessageCounts',
  properties: { employee: string(), day: string() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`${p.day}`,
});

/** The clock of this program: the morning after the day of its messages. */
const now = Instant.parse('2014-08-01T09:30:00Z');
const clock = { nowMicros: () => now.toDate().getTime() * 1000, monotonicMs: () => 0 };

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'dataseriesexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const counts = dataSeriesOf(MessageCounts, table, { slots: 24, value: int32() });

  const today = { employee: '000123', day: '20140731' };
  await counts.setAll(
    today,
    new Map([
      [9, 4],
      [10, 7],
      [11, 3],
    ]),
  );
  await counts.set(today, 14, 5);
  console.log(`known values: ${requests.join(', ')}`);

  requests.length = 0;
  await Promise.all(Array.from({ length: 8 }, () => counts.add(today, 15, 1)));
  console.log(`eight counted at the same time took ${requests.length} requests`);

  requests.length = 0;
  const { values } = await counts.read(today);
  console.log(`read: ${requests.join(', ')}`);
  values.forEach((value, hour) => {
    if (value !== undefined) console.log(`${String(hour).padStart(2, '0')} ${'#'.repeat(value)}`);
  });

  // The same entities as a series that runs on over midnight.
  const byHour = timeSeriesOf(MessageCounts, table, {
    time: 'day',
    period: 'day',
    slots: 24,
    value: int32(),
    clock,
  });
  await byHour.add({ employee: '000123' }, Instant.parse('2014-08-01T08:59:00Z'), 2);

  requests.length = 0;
  const lastDay = await byHour.last({ employee: '000123' }, 24);
  console.log(`the last ${lastDay.length} hours: ${requests.join(', ')}`);
  for (const { at, value } of lastDay) {
    if (value !== undefined) console.log(`${at.toString()} ${'#'.repeat(value)}`);
  }

  const row = await table.get({ partitionKey: '000123', rowKey: '20140731' });
  const names = Object.keys(row?.properties ?? {}).filter((name) => name.startsWith('_'));
  console.log(`stored as ${names.toSorted().join(', ')}`);
} finally {
  await client.deleteTable();
}
