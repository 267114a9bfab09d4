import { compareBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Entry, Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { containerPrefix, droppedContainersPrefix, droppedIdOfKey } from './keys.js';
import { SweepCursor, type Reclaimed } from './sweep-cursor.js';
import { accountsOf, entriesOf } from './walk.js';

/**
 * How long what was dropped stays on the list. A write looks its container up and then commits,
 * which are two steps: one that looked before the drop may commit after it, and after a sweep. No
 * request lives this long, so a sweep later than this finds the last of them. In microseconds.
 */
export const droppedGraceMicros = 10 * 60 * 1_000_000;

const pageEntriesMax = 1000;
const pageBytesMax = 4 << 20;

/** A container that has no name any more. */
export interface DroppedContainer {
  /** Of the dropped list. Its version says when the container was dropped. */
  readonly entry: Entry;
  /** Of what the container holds. */
  readonly prefix: Bytes;
}

/**
 * Frees the space of a service's dropped containers, all accounts. Every commit only deletes, in one
 * partition, what no name reaches any more. So a step may be interrupted anywhere and be repeated,
 * or run in several processes at once. A container leaves the list when a sweep finds it empty
 * after the grace time.
 */
export function droppedContainersSweep(
  store: Store,
  clock: Clock,
  service: string,
): SweepCursor<DroppedContainer> {
  return new SweepCursor(
    () => droppedContainers(store, service),
    async ({ entry, prefix }, entriesMax) => {
      const swept = await sweep(store, prefix, entriesMax);
      const isPast = clock.nowMicros() - entry.version >= droppedGraceMicros;
      if (isPast && swept.deleted === 0) await forget(store, entry);
      return swept;
    },
  );
}

async function* droppedContainers(store: Store, service: string): AsyncGenerator<DroppedContainer> {
  for await (const account of accountsOf(store, service)) {
    const list = droppedContainersPrefix(service, account);
    for await (const entry of entriesOf(store, prefixRange(list))) {
      const id = droppedIdOfKey(entry.key, list);
      yield { entry, prefix: containerPrefix(service, account, id) };
    }
  }
}

/** Deletes what is left of a container, up to so many entries; one commit a partition. */
async function sweep(store: Store, prefix: Bytes, entriesMax: number): Promise<Reclaimed> {
  const range = prefixRange(prefix);
  let deleted = 0;
  for (;;) {
    // One more than may be deleted shows whether anything is left.
    const limit = Math.min(entriesMax - deleted, pageEntriesMax - 1) + 1;
    const { entries } = await store.range(range, { limit, bytesMax: pageBytesMax });
    const doomed = entries.slice(0, entriesMax - deleted);
    for (const deletes of byPartition(doomed)) {
      await store.commit({ checks: [], puts: [], deletes });
    }
    deleted += doomed.length;
    if (doomed.length < entries.length) return { deleted, more: true };
    if (entries.length === 0) return { deleted, more: false };
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

/** Takes a container off the list. Whoever else did so already has done the same. */
async function forget(store: Store, { key, version }: Entry): Promise<void> {
  await store.commit({ checks: [{ key, version }], puts: [], deletes: [key] });
}
