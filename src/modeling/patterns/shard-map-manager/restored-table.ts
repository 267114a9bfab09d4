import { concurrently } from '../../../base/async/concurrently.js';
import type { Row } from '../../rows/row.js';
import { operationBytes, transactionBytesMax } from '../../table/request-size.js';
import { RestoredPartition, restoredRowsMax, type RestoringRun } from './restored-partition.js';

/** How many transactions are sent at once. */
const concurrency = 8;

/** The bytes of a transaction that are left for the rows of the map. */
const otherBytes = 65_536;

interface Batch {
  readonly partition: RestoredPartition;
  readonly rows: readonly Row[];
  /** Whether the partition has no other rows. */
  readonly isLast: boolean;
}

/**
 * Writes the rows of a backup into a table, in the order of their partitions; `onRows` is told how
 * many were written. A partition is claimed first, and its rows follow in transactions of up to 97,
 * one after the other. Ends at the first error, after what was sent.
 */
export async function restoreTable(
  run: RestoringRun,
  rows: AsyncIterable<Row>,
  onRows: (count: number) => void,
): Promise<void> {
  await concurrently(batchesIn(run, rows), concurrency, async (batch) => {
    await batch.partition.write(batch.rows, batch.isLast);
    onRows(batch.rows.length);
  });
}

async function* batchesIn(
  run: RestoringRun,
  rows: AsyncIterable<Row>,
): AsyncGenerator<Batch, void, undefined> {
  let partition: RestoredPartition | undefined;
  let batch: Row[] = [];
  let bytes = otherBytes;
  for await (const row of rows) {
    const size = operationBytes({ kind: 'upsert-replace', row });
    const isOther = partition !== undefined && partition.partitionKey !== row.partitionKey;
    const isFull = batch.length >= restoredRowsMax || bytes + size > transactionBytesMax;
    if (partition !== undefined && batch.length > 0 && (isOther || isFull)) {
      yield { partition, rows: batch, isLast: isOther };
      batch = [];
      bytes = otherBytes;
    }
    if (partition === undefined || isOther) {
      partition = new RestoredPartition(run, row.partitionKey);
    }
    batch.push(row);
    bytes += size;
  }
  if (partition !== undefined) yield { partition, rows: batch, isLast: true };
}
