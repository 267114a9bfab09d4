import { compareBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Entry, KeyRange, Put, Store } from '../../kv/store.js';
import type { Reclaimed } from './sweep-cursor.js';

/** How long one step reads, in milliseconds: the event loop does nothing else meanwhile. */
const readMsMax = 1;

export interface SweepContext {
  readonly store: Store;
  readonly clock: Clock;
  /**
   * Releases what entries of one partition refer to, before a commit deletes them. A process
   * may end before that commit, so entries may be passed again, also to another process.
   */
  readonly release?: ((entries: readonly Entry[]) => Release | undefined) | undefined;
}

/** Further writes of the commit that deletes entries, and what is done after it. */
export interface Release {
  /** Writes to keys of the store. */
  readonly puts: readonly Put[];
  /** Called when the commit is durable. */
  afterwards(): Promise<void>;
}

/**
 * Deletes up to `entriesMax` of the first entries of a range, one commit per partition. The
 * commits are made at once, so that an engine with group commit writes them in one transaction.
 * With `release`, the entries of a partition stay, and there are more, when one of them was
 * written since it was read: it may refer to something else.
 */
export async function sweepRange(
  context: SweepContext,
  range: KeyRange,
  entriesMax: number,
): Promise<Reclaimed> {
  const { entries, more } = await firstEntries(context, range, entriesMax);
  const commits = byPartition(entries).map((partition) => deleteEntries(context, partition));
  let deleted = 0;
  // A step ends when all of its commits have.
  for (const commit of await Promise.allSettled(commits)) {
    if (commit.status === 'rejected') throw commit.reason;
    deleted += commit.value;
  }
  return { deleted, more: more || deleted < entries.length };
}

/** Returns how many were deleted. */
async function deleteEntries(
  { store, release }: SweepContext,
  entries: readonly Entry[],
): Promise<number> {
  const released = release?.(entries);
  const deletes = entries.map(({ key }) => key);
  const checks = release === undefined ? [] : entries.map(({ key, version }) => ({ key, version }));
  const { ok } = await store.commit({ checks, puts: released?.puts ?? [], deletes });
  if (!ok) return 0;
  await released?.afterwards();
  return entries.length;
}

/**
 * The first entries of a range, read for a bounded time. Values are only copied when they are
 * needed.
 */
async function firstEntries(
  { store, clock, release }: SweepContext,
  range: KeyRange,
  entriesMax: number,
): Promise<{ readonly entries: readonly Entry[]; readonly more: boolean }> {
  const entries: Entry[] = [];
  const endMs = clock.monotonicMs() + readMsMax;
  const { more } = await store.range(range, {
    limit: 1,
    bytesMax: 0,
    filter({ key, value, valueLength, version }) {
      const isFull = entries.length >= entriesMax || clock.monotonicMs() >= endMs;
      if (isFull && entries.length > 0) return 'stop';
      const copied = release === undefined ? noValue : Buffer.from(value.subarray(0, valueLength));
      entries.push({ key: Buffer.from(key), value: copied, version });
      return 'skip';
    },
  });
  return { entries, more };
}

const noValue: Bytes = Buffer.alloc(0);

/** Groups sorted entries by partition. */
function byPartition(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  let group: Entry[] = [];
  let prefix: Bytes | undefined;
  for (const entry of entries) {
    const { key } = entry;
    const own = key.subarray(0, partitionPrefixLength(key));
    if (prefix === undefined || compareBytes(prefix, own) !== 0) {
      group = [];
      groups.push(group);
      prefix = own;
    }
    group.push(entry);
  }
  return groups;
}
