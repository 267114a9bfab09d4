import type { RowKey } from '../../rows/row.js';
import { isConflict } from '../../table/contention.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { transactionWritesMax } from '../../table/gateway.js';
import type { WaitingMessage } from './outbox-row.js';

/** Where messages go from the outbox once they have been handed on. */
export interface MessageSink {
  /**
   * Takes messages of one partition out of the outbox, in this order. False when another relay was
   * faster and nothing is known to have been taken: the outbox has to be read again.
   */
  take(partitionKey: string, messages: readonly WaitingMessage[]): Promise<boolean>;
}

/**
 * Deletes them: one entity group transaction for every 100; one delete for each of them when
 * another relay has deleted some.
 */
export function deletingSink(table: TableGateway): MessageSink {
  return {
    async take(_partitionKey, messages) {
      const keys = messages.map(({ row: { partitionKey, rowKey } }) => ({ partitionKey, rowKey }));
      await deleteRows(table, keys);
      return true;
    },
  };
}

/**
 * Deletes rows of one partition that may be gone, in order: one entity group transaction for every
 * 100, and one delete for each of these when some are gone.
 */
export async function deleteRows(table: TableGateway, keys: readonly RowKey[]): Promise<void> {
  for (let at = 0; at < keys.length; at += transactionWritesMax) {
    const writes = keys.slice(at, at + transactionWritesMax).map(deletionOf);
    try {
      await table.transact(writes);
    } catch (error) {
      if (!isConflict(error)) throw error;
      for (const write of writes) await deleteIfExists(table, write);
    }
  }
}

function deletionOf(key: RowKey): RowWrite {
  return { kind: 'delete', key, etag: '*' };
}

async function deleteIfExists(table: TableGateway, write: RowWrite): Promise<void> {
  try {
    await table.write(write);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}
