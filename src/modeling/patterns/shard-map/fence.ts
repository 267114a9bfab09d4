import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import { ModelError } from '../../rows/model-error.js';
import type { Row, RowKey, RowProperties } from '../../rows/row.js';
import { writeIfPresent } from '../../table/conditional-write.js';
import { EntityNotFoundError, TransactionFailedError } from '../../table/errors.js';
import type { RowWrite, TableGateway, WriteResult } from '../../table/gateway.js';
import { isConflict, retryConflicts, type ContentionOptions } from '../../table/contention.js';
import { allRows } from '../../table/all-rows.js';

/**
 * Rows that a shard keeps in each partition:
 *
 *   !shard:claim   a program prepares the partition here; it knows the ETag of this row. A restore
 *                  also writes Run, String: which run it is, and Sent, Int32: the number of its
 *                  transactions; the claim of a map has neither
 *   !shard:epoch   Epoch, Int32: how often the partition was opened, on any shard; without it, it
 *                  was only claimed here, and what is there was copied by a map
 *   !shard:owner   the shard accepts writes of the partition
 *
 * **Writes.** Every write of a program is a transaction with a merge of the owner row, which must
 * exist. So a write is applied by a shard that owns the partition, or by none.
 *
 * **Closed → claimed.** Any program may claim at any time, also over another claim, which its
 * holder then loses. It looks for an owner row first, and for the map afterwards. Rows of a
 * partition without an owner row are written only by its claimant, in transactions that merge the
 * claim under its ETag.
 * **Claimed → open.** A transaction replaces the claim, under its ETag, by the owner row, with an
 * epoch above that of every other shard.
 * **Open, claimed → closed.** Deletes both rows. The program that closes has read a map that takes
 * the partition from this shard; a later claimant reads that map, too. Or it has found a later
 * handover on the shard that a map takes the partition from: this one was restored since.
 */
const { shardFence: prefix } = reservedRowKeys;
const names = {
  claim: `${prefix}claim`,
  epoch: `${prefix}epoch`,
  owner: `${prefix}owner`,
} as const;

const fenceKeys: ReadonlySet<string> = new Set(Object.values(names));
const fenceType = 'ShardFence';

/** The property that tells the rows of shard maps; reads that look for them select it. */
export const ownTypeProperty = 'EntityType';

/** Whether a shard map wrote a row. Rows of others that only have such a key are content. */
export function isFenceRow({ rowKey, properties }: Row): boolean {
  const type = properties[ownTypeProperty];
  return fenceKeys.has(rowKey) && type?.type === 'String' && type.value === fenceType;
}

/** Whether a key is reserved for the rows of shard maps. */
export function isFenceKey({ rowKey }: RowKey): boolean {
  return rowKey.startsWith(prefix);
}

/** Another program has claimed the partition, or closed it. */
class ClaimLostError extends ModelError {
  override readonly name = 'ClaimLostError';
}

export function isClaimLost(error: unknown): boolean {
  return error instanceof ClaimLostError;
}

function fenceRow(partitionKey: string, rowKey: string): Row {
  return {
    partitionKey,
    rowKey,
    properties: { [ownTypeProperty]: { type: 'String', value: fenceType } },
  };
}

function epochRow(partitionKey: string, epoch: number): Row {
  const row = fenceRow(partitionKey, names.epoch);
  return { ...row, properties: { ...row.properties, Epoch: { type: 'Int32', value: epoch } } };
}

/** Gives an open partition another epoch. One transaction; results as those of `writeIfOwned`. */
export function raiseEpoch(
  table: TableGateway,
  partitionKey: string,
  epoch: number,
): ReturnType<typeof writeIfOwned> {
  return writeIfOwned(table, partitionKey, [
    { kind: 'upsert-replace', row: epochRow(partitionKey, epoch) },
  ]);
}

/** The claim of a restore: which run it is, and how many transactions that has sent. */
export interface RestoreClaim {
  readonly run: string;
  readonly sent: number;
}

export function restoreClaimRow(partitionKey: string, { run, sent }: RestoreClaim): Row {
  const row = fenceRow(partitionKey, names.claim);
  const own: RowProperties = {
    Run: { type: 'String', value: run },
    Sent: { type: 'Int32', value: sent },
  };
  return { ...row, properties: { ...row.properties, ...own } };
}

/** A claim as it is found. */
export interface FoundClaim {
  readonly etag: string;
  /** Undefined: that of a map. */
  readonly restore: RestoreClaim | undefined;
}

/** The claim of a partition; undefined when there is none. One point read. */
export async function foundClaim(
  table: TableGateway,
  partitionKey: string,
): Promise<FoundClaim | undefined> {
  const row = await table.get(claimKey(partitionKey));
  return row === undefined ? undefined : { etag: row.etag, restore: restoreClaimIn(row) };
}

/**
 * Claims a partition for a restore, over another claim, also where it is open: its rows are those
 * of an earlier run. Returns the ETag of the claim. `look` throws when the run is superseded. It is
 * called after what the claim requires was read. So a claim that arrives after a later run has
 * claimed the partition, or opened it again, is refused; one is not that found neither claim nor
 * owner, and arrives after the later run has ended. Two point reads, a look and a transaction.
 */
export function claimOver(
  table: TableGateway,
  partitionKey: string,
  claim: RestoreClaim,
  { look, ...options }: ContentionOptions & { readonly look: () => Promise<void> },
): Promise<string> {
  const row = restoreClaimRow(partitionKey, claim);
  return retryConflicts(`claiming '${partitionKey}' in ${table.table}`, options, async () => {
    const owner = await table.get({ partitionKey, rowKey: names.owner }, [ownTypeProperty]);
    const found = await foundClaim(table, partitionKey);
    await look();
    const { run, sent } = found?.restore ?? {};
    const isOwn = run === claim.run && sent === claim.sent;
    // The answer to an earlier attempt was lost.
    if (found !== undefined && isOwn && owner === undefined) return found.etag;
    const claimed: RowWrite =
      found === undefined ? { kind: 'insert', row } : { kind: 'replace', row, etag: found.etag };
    const closing: readonly RowWrite[] =
      owner !== undefined && isFenceRow(owner)
        ? [{ kind: 'delete', key: { partitionKey, rowKey: names.owner }, etag: owner.etag }]
        : [];
    const [result] = await table.transact([claimed, ...closing]);
    return result?.etag ?? '';
  });
}

export function claimKey(partitionKey: string): RowKey {
  return { partitionKey, rowKey: names.claim };
}

function restoreClaimIn({ properties }: Row): RestoreClaim | undefined {
  const { Run: run, Sent: sent } = properties;
  if (run?.type !== 'String' || sent?.type !== 'Int32') return undefined;
  return { run: run.value, sent: sent.value };
}

/** Deletes the claims of restores in a table. A range read per 1,000, and a write for each. */
export async function endRestoreClaims(table: TableGateway): Promise<void> {
  const rowKey = { from: names.claim, to: names.claim };
  for await (const row of allRows(table, { rowKey })) {
    if (!isFenceRow(row) || restoreClaimIn(row) === undefined) continue;
    const key = claimKey(row.partitionKey);
    await writeIfPresent(() => table.write({ kind: 'delete', key, etag: '*' }));
  }
}

/** What a partition has in place of fences that are written again, as those of a backup. */
export function fencesAgain(rows: readonly Row[]): readonly RowWrite[] {
  const isClaim = ({ rowKey }: Row): boolean => rowKey === names.claim;
  const kept = rows.filter((row) => !isClaim(row));
  const writes: RowWrite[] = kept.map((row) => ({ kind: 'upsert-replace', row }));
  const claim = rows.find(isClaim);
  if (claim === undefined || kept.some(({ rowKey }) => rowKey === names.epoch)) return writes;
  return [...writes, wasClaimed(claim.partitionKey)];
}

/**
 * Keeps that a map has claimed a partition where its claim ends: what is there is no content of
 * somebody else. Leaves an epoch as it is.
 */
function wasClaimed(partitionKey: string): RowWrite {
  return { kind: 'upsert-merge', row: fenceRow(partitionKey, names.epoch) };
}

/** Whether a map has claimed or opened a partition on a shard, ever. Up to two point reads. */
export async function isOfMap(table: TableGateway, partitionKey: string): Promise<boolean> {
  for (const rowKey of [names.epoch, names.claim]) {
    const row = await table.get({ partitionKey, rowKey }, [ownTypeProperty]);
    if (row !== undefined && isFenceRow(row)) return true;
  }
  return false;
}

/** One point read. */
export async function isOwned(table: TableGateway, partitionKey: string): Promise<boolean> {
  const row = await table.get({ partitionKey, rowKey: names.owner }, [ownTypeProperty]);
  return row !== undefined && isFenceRow(row);
}

/** How often the partition was opened, as known to this shard; 0: never. One point read. */
export async function epochOf(table: TableGateway, partitionKey: string): Promise<number> {
  const row = await table.get({ partitionKey, rowKey: names.epoch });
  return row === undefined ? 0 : epochIn(row);
}

function epochIn({ properties }: Row): number {
  const epoch = properties['Epoch'];
  return epoch?.type === 'Int32' ? epoch.value : 0;
}

/** What a shard keeps of a partition. */
export interface PartitionFence {
  readonly partitionKey: string;
  readonly isOwner: boolean;
  /** As `epochOf`. */
  readonly epoch: number;
}

/** What a shard keeps of one partition. Two point reads. */
export async function fenceOf(table: TableGateway, partitionKey: string): Promise<PartitionFence> {
  const [isOwner, epoch] = [await isOwned(table, partitionKey), await epochOf(table, partitionKey)];
  return { partitionKey, isOwner, epoch };
}

/** What a shard keeps of its partitions, in order. A range read for each 1,000 of these rows. */
export async function* fencesOf(
  table: TableGateway,
): AsyncGenerator<PartitionFence, void, undefined> {
  let fence: PartitionFence | undefined;
  for await (const row of allRows(table, { rowKey: rangeWithPrefix(prefix) })) {
    if (!isFenceRow(row)) continue;
    const { partitionKey, rowKey } = row;
    if (fence?.partitionKey !== partitionKey) {
      if (fence !== undefined) yield fence;
      fence = { partitionKey, isOwner: false, epoch: 0 };
    }
    if (rowKey === names.owner) fence = { ...fence, isOwner: true };
    if (rowKey === names.epoch) fence = { ...fence, epoch: epochIn(row) };
  }
  if (fence !== undefined) yield fence;
}

/** The ETag of the claim; undefined when there is none. One point read. */
export async function claimOf(
  table: TableGateway,
  partitionKey: string,
): Promise<string | undefined> {
  return (await table.get({ partitionKey, rowKey: names.claim }))?.etag;
}

/**
 * One transaction of a partition on a shard that owns it. `'closed'`: the shard does not own it;
 * `'contended'`: another writer has changed the owner row. Nothing was applied then. Throws as the
 * gateway does, with the indexes of these writes.
 */
export async function writeIfOwned(
  table: TableGateway,
  partitionKey: string,
  writes: readonly RowWrite[],
): Promise<readonly WriteResult[] | 'closed' | 'contended'> {
  const owner: RowWrite = { kind: 'merge', row: fenceRow(partitionKey, names.owner), etag: '*' };
  try {
    const [, ...results] = await table.transact([owner, ...writes]);
    return results;
  } catch (error) {
    if (!(error instanceof TransactionFailedError)) throw error;
    const { index, reason } = error;
    const isOfFence = index === 0 || (index === undefined && !(await isOwned(table, partitionKey)));
    if (isOfFence && reason instanceof EntityNotFoundError) return 'closed';
    if (isOfFence && isConflict(reason)) return 'contended';
    throw new TransactionFailedError(
      error.message,
      index === undefined ? undefined : Math.max(0, index - 1),
      reason,
    );
  }
}

/** Ends all writes of a partition on a shard. A range read, and a transaction when it was open. */
export function closePartition(
  table: TableGateway,
  partitionKey: string,
  options: ContentionOptions,
): Promise<void> {
  return retryConflicts(`closing '${partitionKey}' in ${table.table}`, options, async () => {
    const deletes: RowWrite[] = [];
    for await (const row of allRows(table, { partitionKey, rowKey: rangeWithPrefix(prefix) })) {
      const { rowKey } = row;
      if (!isFenceRow(row) || rowKey === names.epoch) continue;
      // Unconditional: writers change the ETag of the owner row all the time.
      deletes.push({ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' });
    }
    if (deletes.length > 0) await table.transact([...deletes, wasClaimed(partitionKey)]);
  });
}

/** The exclusive right to prepare a partition on a shard, until another program takes it over. */
export class Claim {
  readonly table: TableGateway;
  readonly partitionKey: string;
  #etag: string;

  constructor(table: TableGateway, partitionKey: string, etag: string) {
    this.table = table;
    this.partitionKey = partitionKey;
    this.#etag = etag;
  }

  /**
   * A transaction of at most 99 writes; without writes, it shows others that the claim is active.
   */
  async write(writes: readonly RowWrite[]): Promise<void> {
    const row = fenceRow(this.partitionKey, names.claim);
    const claim: RowWrite = { kind: 'merge', row, etag: this.#etag };
    const [result] = await this.#held(() => this.table.transact([claim, ...writes]));
    this.#etag = result?.etag ?? '';
  }

  /** Makes the shard accept writes of the partition. One transaction. */
  async open(epoch: number): Promise<void> {
    await this.#held(() =>
      this.table.transact([
        this.#delete(),
        { kind: 'upsert-replace', row: epochRow(this.partitionKey, epoch) },
        { kind: 'insert', row: fenceRow(this.partitionKey, names.owner) },
      ]),
    );
  }

  /** One transaction. Does nothing when the claim was taken over. */
  async release(): Promise<void> {
    const writes = [this.#delete(), wasClaimed(this.partitionKey)];
    await this.#held(() => this.table.transact(writes)).catch((error: unknown) => {
      if (!isClaimLost(error)) throw error;
    });
  }

  /** As `release`, and deletes the epoch as well. A point read and a transaction. */
  async forget(): Promise<void> {
    const epoch = { partitionKey: this.partitionKey, rowKey: names.epoch };
    const isKnown = (await this.table.get(epoch, [ownTypeProperty])) !== undefined;
    const deletes: RowWrite[] = [this.#delete()];
    if (isKnown) deletes.push({ kind: 'delete', key: epoch, etag: '*' });
    await this.#held(() => this.table.transact(deletes));
  }

  #delete(): RowWrite {
    const key = { partitionKey: this.partitionKey, rowKey: names.claim };
    return { kind: 'delete', key, etag: this.#etag };
  }

  async #held<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (!isConflict(error)) throw error;
      const what = `'${this.partitionKey}' in ${this.table.table} was claimed by somebody else`;
      throw new ClaimLostError(what, { cause: error });
    }
  }
}

/**
 * Claims a partition on a shard; undefined when the shard owns it. A write and a point read; one
 * more transaction when it is owned.
 */
export async function claimPartition(
  table: TableGateway,
  partitionKey: string,
): Promise<Claim | undefined> {
  const row = fenceRow(partitionKey, names.claim);
  const { etag } = await table.write({ kind: 'upsert-replace', row });
  const claim = new Claim(table, partitionKey, etag ?? '');
  // Checked after claiming: a later owner row requires this claim.
  if (!(await isOwned(table, partitionKey))) return claim;
  await claim.release();
  return undefined;
}
