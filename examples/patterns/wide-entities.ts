// A count for each day of a year: more than 252 properties, in two rows that are one entity.
// Works with the cloud service, Azurite and this server. Run it while `npm start` runs.
import { TableClient } from '@azure/data-tables';
import { int32, key, openTable, string, type Property } from 'tabularium/modeling';
import { defineWideEntity, wideEntitiesOf, wideEtagsOf } from 'tabularium/modeling/wide-entities';

type Day = `day${number}`;

function days(
  from: number,
  to: number,
): Readonly<Record<Day, Property<'int32', number, 'optional'>>> {
  const names = Array.from({ length: to - from + 1 }, (_, index) => `day${from + index}`);
  return Object.fromEntries(names.map((name) => [name, int32().optional()]));
}

const MessageCounts = defineWideEntity({
  type: 'MessageCounts',
  keys: { employee: string(), year: int32() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`counts_${p.year.padded(4)}`,
  groups: { '01': days(1, 183), '02': days(184, 366) },
});

const connection = process.env['AZURE_STORAGE_CONNECTION_STRING'] ?? 'UseDevelopmentStorage=true';
const client = TableClient.fromConnectionString(connection, 'wideexample', {
  allowInsecureConnection: true,
});
await client.createTable();
try {
  const requests: string[] = [];
  const table = openTable(client, { observer: ({ kind }) => requests.push(kind) });
  const counts = wideEntitiesOf(MessageCounts, table);
  const show = (what: string) => console.log(`${what}: ${requests.splice(0).join(', ')}`);

  const year = { employee: '000123', year: 2024 };
  await counts.insert({ ...year, day1: 4, day200: 7 });
  show('insert');

  await counts.change(year, { day2: 5 }, { ifMatch: 'any' });
  show('change of one day');

  await counts.change(year, { day3: 1, day366: 2 }, { ifMatch: 'any' });
  show('change of days in both rows');

  const whole = await counts.get(year);
  show('read of the whole');
  const shown = Object.entries(whole ?? {}).filter(([name]) => name.startsWith('day'));
  console.log(shown.map(([name, count]) => `${name}=${count}`).join(' '));
  console.log(`ETags of the rows ${Object.keys(wideEtagsOf(whole ?? {})).join(' and ')}`);

  const half = await counts.get(year, { groups: ['02'] });
  show('read of the second half');
  console.log(`day200=${half?.['day200']}, and no day1: ${half?.['day1' as never]}`);

  const add = (day: Day) => counts.update(year, (now) => ({ ...now, [day]: (now[day] ?? 0) + 1 }));
  await Promise.all(Array.from({ length: 8 }, () => add('day100')));
  console.log(`eight counted at the same time: ${requests.splice(0).length} requests`);
  console.log(`day100=${(await counts.get(year))?.['day100']}`);

  await counts.delete(year, { ifMatch: 'any' });
} finally {
  await client.deleteTable();
}
