import { odataString, type StoredRow, type TableGateway } from '../../../src/modeling/index.js';
import { envelopeOfRow } from '../../../src/modeling/patterns/transactional-outbox/outbox-row.js';
import {
  outboxOf,
  type Outbox,
} from '../../../src/modeling/patterns/transactional-outbox/outbox.js';
import type { MessageHandler } from '../../../src/modeling/worker/handler.js';

// The outbox itself, and a simple relay that tests can run in any order and twice.

export function testOutbox(table: TableGateway): Outbox {
  const registry = {
    register: () => Promise.resolve(),
    async *partitions() {
      yield* await Promise.resolve([]);
    },
  };
  return outboxOf({ table, registry });
}

/** The rows of waiting intents in the order of their keys. */
export async function waitingIntents(table: TableGateway): Promise<readonly StoredRow[]> {
  const rows: StoredRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await table.page({
      filter: `RowKey ge ${odataString('~outbox_')} and RowKey lt ${odataString('~outbox`')}`,
      ...(cursor === undefined ? {} : { cursor }),
    });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

/** Handles an intent without deleting it. */
export async function handleIntent(handler: MessageHandler, row: StoredRow): Promise<void> {
  const envelope = envelopeOfRow(row);
  const { signal } = new AbortController();
  await handler.run(envelope, { id: envelope.id, queue: 'test', dequeueCount: 1, signal });
}

/** Handles an intent, then deletes it. */
export async function settleIntent(
  table: TableGateway,
  handler: MessageHandler,
  row: StoredRow,
): Promise<void> {
  await handleIntent(handler, row);
  await table.write({ kind: 'delete', key: row, etag: '*' });
}

/** Handles and deletes all intents, in the order of their keys. */
export async function drainOutbox(table: TableGateway, handler: MessageHandler): Promise<void> {
  for (;;) {
    const rows = await waitingIntents(table);
    if (rows.length === 0) return;
    for (const row of rows) await settleIntent(table, handler, row);
  }
}
