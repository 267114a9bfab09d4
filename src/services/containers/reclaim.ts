import { compareBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Entry, Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { containerPrefix, droppedContainersPrefix, droppedIdOfKey } from './keys.js';
import { SweepCursor, type Reclaimed } from './sweep-cursor.js';
import { accountsOf, entriesOf } from './walk.js';

/**
 * How long a dropped container stays on the list, in microseconds. A write looks up its container
 * and then commits, in two steps: a write that began before the drop may commit after it, and even
 * after a sweep. No request lives this long, so a sweep after this time finds all late writes.
 */
export const droppedGraceMicros = 10 * 60 * 1_000_000;

const pageEntriesMax = 1000;
const pageBytesMax = 4 << 20;

/** A container without a name. */
export interface DroppedContainer {
  /** The entry of the dropped list. Its version is the time of the drop. */
  readonly entry: Entry;
  /** The prefix of the container's content. */
  readonly prefix: Bytes;
}

/**
 * Frees the space of a service's dropped containers, all accounts. Every commit only deletes
 * unreachable entries of one partition, so a step may be interrupted anywhere, be repeated, or run
 * in several processes at once. A container leaves the list when a sweep finds it empty after the
 * grace time.
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

/** Deletes up to `entriesMax` remaining entries of a container; one commit per partition. */
async function sweep(store: Store, prefix: Bytes, entriesMax: number): Promise<Reclaimed> {
  const range = prefixRange(prefix);
  let deleted = 0;
  for (;;) {
    // One extra entry shows whether anything is left.
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

/** Groups sorted keys by partition. */
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

/** Removes a container from the list. A concurrent removal has the same effect. */
async function forget(store: Store, { key, version }: Entry): Promise<void> {
  await store.commit({ checks: [{ key, version }], puts: [], deletes: [key] });
}
