import { compareBytes, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import { prefixRange, keyAfter } from '../../kv/tuple.js';
import type { Entry, KeyRange, Store } from '../../kv/store.js';
import {
  accountOfKey,
  accountPrefix,
  decodeTableRecord,
  droppedTablesPrefix,
  servicePrefix,
  tablePrefix,
} from './keys.js';

/**
 * How long a dropped table stays on the list. A write looks its table up and then commits, which
 * are two steps: one that looked before the drop may commit after it, and after a sweep. No request
 * lives this long, so a sweep later than this finds the last of them. In microseconds.
 */
export const droppedGraceMicros = 10 * 60 * 1_000_000;

/** Dropped tables that one step looks at. */
const visitsMax = 10_000;
const pageEntriesMax = 1000;
const pageBytesMax = 4 << 20;

export interface Reclaimed {
  /** Entities whose space is free now. */
  readonly deleted: number;
  /** Whether another step would find something to delete at once. */
  readonly more: boolean;
}

/**
 * One bounded step of freeing the space of dropped tables, all accounts. Every commit only deletes,
 * in one partition, what no table reaches any more. So a step may be interrupted anywhere and be
 * repeated, or run in several processes at once. A table leaves the list when a sweep finds it
 * empty after the grace time.
 */
export async function reclaimTables(
  store: Store,
  clock: Clock,
  entriesMax: number,
): Promise<Reclaimed> {
  invariant(entriesMax >= 1, 'a step of reclaiming deletes at least one entity');
  let deleted = 0;
  let visits = 0;
  for await (const dropped of droppedTables(store)) {
    const swept = await sweep(store, dropped, entriesMax - deleted);
    deleted += swept.deleted;
    if (swept.more) return { deleted, more: true };
    const expired = clock.nowMicros() - dropped.version >= droppedGraceMicros;
    if (expired && swept.deleted === 0) await forget(store, dropped);
    visits += 1;
    if (visits === visitsMax) break;
  }
  return { deleted, more: false };
}

/** The entries of all dropped lists. Jumps from account to account. */
async function* droppedTables(store: Store): AsyncGenerator<Entry, void, void> {
  const everything = prefixRange(servicePrefix());
  let start: Bytes | undefined = everything.start;
  while (start !== undefined) {
    const found: readonly Entry[] = await firstOf(store, { ...everything, start }, 1);
    const [first] = found;
    if (first === undefined) return;
    const account = accountOfKey(first.key);
    const range = prefixRange(droppedTablesPrefix(account));
    let from: Bytes | undefined = range.start;
    while (from !== undefined) {
      const page: readonly Entry[] = await firstOf(
        store,
        { ...range, start: from },
        pageEntriesMax,
      );
      yield* page;
      const last: Entry | undefined = page.at(-1);
      from = last === undefined ? undefined : keyAfter(last.key);
    }
    start = prefixRange(accountPrefix(account)).end;
  }
}

/** Deletes what a dropped table has, up to so many entities; one commit a partition. */
async function sweep(store: Store, dropped: Entry, entriesMax: number): Promise<Reclaimed> {
  const { id } = decodeTableRecord(dropped.value);
  const range = prefixRange(tablePrefix(accountOfKey(dropped.key), id));
  let deleted = 0;
  for (;;) {
    // One more than may be deleted shows whether anything is left.
    const limit = Math.min(entriesMax - deleted, pageEntriesMax - 1) + 1;
    const page = await firstOf(store, range, limit);
    const doomed = page.slice(0, entriesMax - deleted);
    for (const deletes of byPartition(doomed)) {
      await store.commit({ checks: [], puts: [], deletes });
    }
    deleted += doomed.length;
    if (doomed.length < page.length) return { deleted, more: true };
    if (page.length === 0) return { deleted, more: false };
  }
}

/** Keys in groups of one partition each. They come sorted, so those of one are neighbours. */
function byPartition(entries: readonly Entry[]): Bytes[][] {
  const groups: Bytes[][] = [];
  let group: Bytes[] = [];
  let prefix: Bytes | undefined;
  for (const { key } of entries) {
    const own = key.subarray(0, partitionPrefixLength(key));
    if (prefix === undefined || compareBytes(prefix, own) !== 0) {
      group = [];
      groups.push(group);
      prefix = own;
    }
    group.push(key);
  }
  return groups;
}

/** Takes a table off the list. Whoever else did so already has done the same. */
async function forget(store: Store, { key, version }: Entry): Promise<void> {
  await store.commit({ checks: [{ key, version }], puts: [], deletes: [key] });
}

async function firstOf(store: Store, range: KeyRange, limit: number): Promise<readonly Entry[]> {
  const page = await store.range(range, { limit, bytesMax: pageBytesMax });
  return page.entries;
}
