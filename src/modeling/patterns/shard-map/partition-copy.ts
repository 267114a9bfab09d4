import { contentOf, keyOf } from '../../rows/row-parts.js';
import { copyDifference } from '../../rows/same-value.js';
import type { StoredRow } from '../../rows/row.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { allPages } from '../../table/all-rows.js';
import { divided } from '../../table/divided.js';
import { batchesOf } from '../../table/write-batches.js';
import { isFenceRow, type Claim } from './fence.js';

/** A row with its copy on another shard; one of them may not exist. */
interface Pair {
  readonly row: StoredRow | undefined;
  readonly copy: StoredRow | undefined;
}

/** The room of the write of the claim in a transaction. */
const claimRoom = { writes: 1, bytes: 16_384 };

/** The stored rows of a partition, in order. A range read per 1,000. */
export async function* partitionContent(
  table: TableGateway,
  partitionKey: string,
  onPage?: () => Promise<void>,
): AsyncGenerator<StoredRow, void, undefined> {
  for await (const { rows, cursor } of allPages(table, { partitionKey })) {
    for (const row of rows) if (!isFenceRow(row)) yield row;
    if (cursor !== undefined) await onPage?.();
  }
}

/** Whether a partition has stored rows. A range read. */
export async function hasContent(table: TableGateway, partitionKey: string): Promise<boolean> {
  const { done } = await partitionContent(table, partitionKey).next();
  return done !== true;
}

async function* paired(
  rows: AsyncGenerator<StoredRow, void>,
  copies: AsyncGenerator<StoredRow, void>,
): AsyncGenerator<Pair, void, undefined> {
  let [left, right] = [await rows.next(), await copies.next()];
  for (;;) {
    const row = left.done === true ? undefined : left.value;
    const copy = right.done === true ? undefined : right.value;
    if (row === undefined && copy === undefined) return;
    const isRow = row !== undefined && (copy === undefined || row.rowKey <= copy.rowKey);
    const isCopy = copy !== undefined && (row === undefined || copy.rowKey <= row.rowKey);
    yield { row: isRow ? row : undefined, copy: isCopy ? copy : undefined };
    if (isRow) left = await rows.next();
    if (isCopy) right = await copies.next();
  }
}

/** The write that makes the copy equal to the row; undefined when it is. */
function mending({ row, copy }: Pair): RowWrite | undefined {
  if (copyDifference(row, copy) === undefined) return undefined;
  if (row !== undefined) {
    return { kind: 'upsert-replace', row: { ...keyOf(row), ...contentOf(row) } };
  }
  return copy && { kind: 'delete', key: keyOf(copy), etag: '*' };
}

/** A partition that only one program writes, as long as its writes succeed. */
export interface PreparedPartition {
  readonly table: TableGateway;
  readonly partitionKey: string;
  /**
   * One transaction of at most 99 writes. Without writes, it only shows others that the claim is
   * active.
   */
  write(writes: readonly RowWrite[]): Promise<void>;
}

/**
 * Makes a prepared partition equal to that on another shard. A range read per 1,000 rows of either
 * shard, and a transaction for up to 99 rows that differ. Returns the number of rows that differed.
 * `beforeDeleting` is called before each transaction that deletes copies, when the rows that it
 * follows from were read: it throws where they were not read from the shard that is meant.
 */
export async function copyPartition(
  from: TableGateway,
  claim: PreparedPartition,
  beforeDeleting?: () => Promise<void>,
): Promise<number> {
  const { partitionKey, table } = claim;
  const rows = partitionContent(from, partitionKey, () => claim.write([]));
  const writes = mendings(paired(rows, partitionContent(table, partitionKey)));
  return writeClaimed(claim, writes, beforeDeleting);
}

async function* mendings(pairs: AsyncIterable<Pair>): AsyncGenerator<RowWrite, void, undefined> {
  for await (const pair of pairs) {
    const write = mending(pair);
    if (write !== undefined) yield write;
  }
}

/** Writes under a claim, as many in a transaction as it holds. Returns their number. */
async function writeClaimed(
  claim: PreparedPartition,
  writes: AsyncIterable<RowWrite>,
  beforeDeleting?: () => Promise<void>,
): Promise<number> {
  let written = 0;
  for await (const batch of batchesOf(writes, (write) => [write], claimRoom)) {
    if (batch.some(({ kind }) => kind === 'delete')) await beforeDeleting?.();
    await divided(batch, (some) => claim.write(some));
    written += batch.length;
  }
  return written;
}

/** The number of rows of a partition that differ between two shards. Range reads of both. */
export async function differencesOf(
  from: TableGateway,
  to: TableGateway,
  partitionKey: string,
): Promise<number> {
  const rows = partitionContent(from, partitionKey);
  let differing = 0;
  for await (const _ of mendings(paired(rows, partitionContent(to, partitionKey)))) differing += 1;
  return differing;
}

/** Deletes the rows of a claimed partition, 99 per transaction. Returns their number. */
export function emptyPartition(claim: Claim): Promise<number> {
  return writeClaimed(claim, deletionsIn(claim));
}

async function* deletionsIn({
  table,
  partitionKey,
}: Claim): AsyncGenerator<RowWrite, void, undefined> {
  for await (const { rowKey } of partitionContent(table, partitionKey)) {
    yield { kind: 'delete', key: { partitionKey, rowKey }, etag: '*' };
  }
}
