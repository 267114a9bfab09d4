import { compareBytes, nameOfBytes, type Bytes } from '../../base/bytes.js';
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

/** How long one step reads, in milliseconds: the event loop does nothing else meanwhile. */
const readMsMax = 1;

/** Containers that are known to be empty. When there are more, all are looked at again. */
const emptyMax = 100_000;

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
 * grace time. One that was found empty before is not looked at again until then.
 */
export function droppedContainersSweep(
  store: Store,
  clock: Clock,
  service: string,
): SweepCursor<DroppedContainer> {
  const empty = new Set<string>();
  return new SweepCursor({
    all: () => droppedContainers(store, service),
    nameOf,
    async clear(container, entriesMax) {
      const { entry, prefix } = container;
      const name = nameOf(container);
      const isPast = clock.nowMicros() - entry.version >= droppedGraceMicros;
      if (!isPast && empty.has(name)) return { deleted: 0, more: false };
      const swept = await sweep({ store, clock }, prefix, entriesMax);
      if (swept.deleted > 0) return swept;
      empty.delete(name);
      if (isPast) await forget(store, entry);
      else {
        if (empty.size >= emptyMax) empty.clear();
        empty.add(name);
      }
      return swept;
    },
  });
}

function nameOf({ entry }: DroppedContainer): string {
  return nameOfBytes(entry.key);
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

interface SweepContext {
  readonly store: Store;
  readonly clock: Clock;
}

/**
 * Deletes up to `entriesMax` of the first entries of a container, one commit per partition. The
 * commits are made at once, so that an engine with group commit writes them in one transaction.
 */
async function sweep(context: SweepContext, prefix: Bytes, entriesMax: number): Promise<Reclaimed> {
  const { keys, more } = await firstKeys(context, prefix, entriesMax);
  const commits = byPartition(keys).map((deletes) =>
    context.store.commit({ checks: [], puts: [], deletes }),
  );
  // A step ends when all of its commits have.
  for (const commit of await Promise.allSettled(commits)) {
    if (commit.status === 'rejected') throw commit.reason;
  }
  return { deleted: keys.length, more };
}

/** The first keys of a container, read for a bounded time. Values are not copied. */
async function firstKeys(
  { store, clock }: SweepContext,
  prefix: Bytes,
  keysMax: number,
): Promise<{ readonly keys: readonly Bytes[]; readonly more: boolean }> {
  const keys: Bytes[] = [];
  const endMs = clock.monotonicMs() + readMsMax;
  const { more } = await store.range(prefixRange(prefix), {
    limit: 1,
    bytesMax: 0,
    filter({ key }) {
      const isFull = keys.length >= keysMax || clock.monotonicMs() >= endMs;
      if (isFull && keys.length > 0) return 'stop';
      keys.push(Buffer.from(key));
      return 'skip';
    },
  });
  return { keys, more };
}

/** Groups sorted keys by partition. */
function byPartition(keys: readonly Bytes[]): Bytes[][] {
  const groups: Bytes[][] = [];
  let group: Bytes[] = [];
  let prefix: Bytes | undefined;
  for (const key of keys) {
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
