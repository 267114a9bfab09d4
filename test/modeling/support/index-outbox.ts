import {
  odataString,
  type StoredRow,
  type RowWrite,
  type TableGateway,
} from '../../../src/modeling/index.js';
import type { IndexIntent, IntentOutbox } from '../../../src/modeling/patterns/indexes/index.js';

const type = 'TestOutbox';

/** The plainest outbox: a row for each intent, beside the entity. */
export function rowOutbox(): IntentOutbox {
  let count = 0;
  return {
    write(partitionKey, intent) {
      count += 1;
      const rowKey = `outbox_${process.hrtime.bigint()}_${count}`;
      const properties = {
        EntityType: { type: 'String' as const, value: type },
        Intent: { type: 'String' as const, value: JSON.stringify(intent) },
      };
      const write: RowWrite = { kind: 'insert', row: { partitionKey, rowKey, properties } };
      return Promise.resolve(write);
    },
  };
}

/** The intents that wait, in the order of their keys. */
export async function waitingIntents(table: TableGateway): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await table.page({
      filter: `EntityType eq ${odataString(type)}`,
      ...(cursor === undefined ? {} : { cursor }),
    });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

/** Acts on one intent, then forgets it: at least once, as a worker does. */
export async function settle(
  table: TableGateway,
  row: StoredRow,
  apply: (intent: IndexIntent) => Promise<void>,
): Promise<void> {
  const intent = row.properties['Intent'];
  await apply(JSON.parse(String(intent?.value)) as IndexIntent);
  await table.write({ kind: 'delete', key: row, etag: '*' });
}

/** Acts on all intents that wait, in the order given. */
export async function drainOutbox(
  table: TableGateway,
  apply: (intent: IndexIntent) => Promise<void>,
  order: (rows: readonly StoredRow[]) => readonly StoredRow[] = (rows) => rows,
): Promise<number> {
  const rows = order(await waitingIntents(table));
  for (const row of rows) await settle(table, row, apply);
  return rows.length;
}
