import { transactionWritesMax, type RowWrite } from './gateway.js';
import { operationBytes, transactionBytes, transactionBytesMax } from './request-size.js';

/** The room that a transaction needs besides the writes of a batch. */
export interface BatchRoom {
  /** Other writes; 0 when absent. */
  readonly writes?: number;
  /** Their bytes; 0 when absent. */
  readonly bytes?: number;
}

/**
 * Items in batches, in their order, so that the writes of a batch fit into one transaction. An item
 * whose own writes do not fit is a batch by itself, which the transaction refuses.
 */
export async function* batchesOf<T>(
  items: Iterable<T> | AsyncIterable<T>,
  writesOf: (item: T) => readonly RowWrite[],
  { writes: otherWrites = 0, bytes: otherBytes = 0 }: BatchRoom = {},
): AsyncGenerator<readonly T[], void, undefined> {
  const emptyBytes = transactionBytes([]) + otherBytes;
  let batch: T[] = [];
  let count = otherWrites;
  let bytes = emptyBytes;
  for await (const item of items) {
    const writes = writesOf(item);
    const size = writes.reduce((sum, write) => sum + operationBytes(write), 0);
    const fits =
      count + writes.length <= transactionWritesMax && bytes + size <= transactionBytesMax;
    if (!fits && batch.length > 0) {
      yield batch;
      batch = [];
      count = otherWrites;
      bytes = emptyBytes;
    }
    batch.push(item);
    count += writes.length;
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
