import type { WireClient } from '../wire/kit/client.js';
import type { Row, RowId, SeenState, StoredRow } from './ledger.js';

const pagesMax = 10_000;

/** All tables and all their rows, as a client can read them. */
export async function readEverything(client: WireClient): Promise<SeenState> {
  const tables: string[] = [];
  await pages(client, '/Tables?$top=3', (item) => tables.push(String(item['TableName'])));
  const rows = new Map<RowId, StoredRow>();
  for (const table of tables) {
    let last: readonly [string, string] = ['', ''];
    await pages(client, `/${table}()?$top=500`, (item) => {
      const keys = [String(item['PartitionKey']), String(item['RowKey'])] as const;
      if (keys[0] < last[0] || (keys[0] === last[0] && keys[1] <= last[1] && last[1] !== '')) {
        throw new Error(`${keys.join('|')} comes after ${last.join('|')}`);
      }
      last = keys;
      const row: Row = { serial: Number(item['serial']), pad: textOf(item['pad']) };
      rows.set(`${table}|${keys.join('|')}`, { etag: String(item['odata.etag']), row });
    });
  }
  return { tables, rows };
}

async function pages(
  client: WireClient,
  path: string,
  take: (item: Record<string, unknown>) => void,
): Promise<void> {
  let token = '';
  for (let page = 0; page < pagesMax; page += 1) {
    const response = await client.send({ path: `${path}${token}` });
    if (response.status !== 200)
      throw new Error(`${path} answered ${response.status} ${response.text}`);
    for (const item of response.items) take(item);
    token = ['NextPartitionKey', 'NextRowKey', 'NextTableName']
      .map((name) => [name, response.header(`x-ms-continuation-${name}`)] as const)
      .flatMap(([name, value]) =>
        value === undefined ? [] : [`&${name}=${encodeURIComponent(value)}`],
      )
      .join('');
    if (token === '') return;
  }
  throw new Error(`${path} has no end`);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
