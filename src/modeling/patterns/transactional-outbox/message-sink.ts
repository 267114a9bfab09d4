import type { RowKey } from '../../rows/row.js';
import { keyOf } from '../../rows/row-parts.js';
import { isConflict } from '../../table/contention.js';
import { divided } from '../../table/divided.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { batchesOf } from '../../table/write-batches.js';
import type { WaitingMessage } from './outbox-row.js';

/** Receives messages of some types from the outbox after they were dispatched. */
export interface MessageSink {
  /** Whether messages of a type are for this sink. It is given no others. */
  takes(type: string): boolean;
  /**
   * Removes messages of one partition from the outbox, in this order. False when another relay was
   * faster and possibly nothing was removed: the outbox must be read again.
   */
  take(partitionKey: string, messages: readonly WaitingMessage[]): Promise<boolean>;
}

/**
 * Deletes the messages: one entity group transaction per 100, or as many as the table takes, and
 * single deletes when another relay has deleted some.
 */
export function deleteMessages(
  table: TableGateway,
  messages: readonly WaitingMessage[],
): Promise<void> {
  return deleteRows(
    table,
    messages.map(({ row }) => keyOf(row)),
  );
}

/**
 * Deletes rows of one partition, in order, some of which may not exist: one entity group
 * transaction per 100, or as many as the table takes, and single deletes when some do not exist.
 */
export async function deleteRows(table: TableGateway, keys: readonly RowKey[]): Promise<void> {
  for await (const writes of batchesOf(keys.map(deletionOf), (write) => [write])) {
    await divided(writes, (some) => deleteTogether(table, some));
  }
}

async function deleteTogether(table: TableGateway, deletes: readonly RowWrite[]): Promise<void> {
  try {
    await table.transact(deletes);
  } catch (error) {
    if (!isConflict(error)) throw error;
    for (const write of deletes) await deleteIfExists(table, write);
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
