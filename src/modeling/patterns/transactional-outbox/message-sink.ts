import type { RowKey } from '../../rows/row.js';
import { isConflict } from '../../table/contention.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { batchesOf } from '../../table/write-batches.js';
import type { WaitingMessage } from './outbox-row.js';

/** Receives messages from the outbox after they were dispatched. */
export interface MessageSink {
  /**
   * Removes messages of one partition from the outbox, in this order. False when another relay was
   * faster and possibly nothing was removed: the outbox must be read again.
   */
  take(partitionKey: string, messages: readonly WaitingMessage[]): Promise<boolean>;
}

/**
 * Deletes the messages: one entity group transaction per 100, and single deletes when another relay
 * has deleted some.
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
 * Deletes rows of one partition, in order, some of which may not exist: one entity group
 * transaction per 100, and single deletes when some do not exist.
 */
export async function deleteRows(table: TableGateway, keys: readonly RowKey[]): Promise<void> {
  for await (const writes of batchesOf(keys.map(deletionOf), (write) => [write])) {
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
