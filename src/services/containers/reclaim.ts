import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Entry, Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { containerPrefix, droppedContainersPrefix, droppedIdOfKey } from './keys.js';
import { SweepCursor } from './sweep-cursor.js';
import { sweepRange, type SweepContext } from './sweep-range.js';
import { accountsOf, entriesOf } from './walk.js';

/**
 * How long a dropped container stays on the list, in microseconds. A write looks up its container
 * and then commits, in two steps: a write that began before the drop may commit after it, and even
 * after a sweep. No request lives this long, so a sweep after this time finds all late writes.
 */
export const droppedGraceMicros = 10 * 60 * 1_000_000;

/** The number of containers that are remembered as empty. With more, all are checked again. */
const emptyMax = 100_000;

/** A container without a name. */
export interface DroppedContainer {
  /** The entry of the dropped list. Its version is the time of the drop. */
  readonly entry: Entry;
  /** The prefix of the container's content. */
  readonly prefix: Bytes;
}

/** Frees what a container holds besides its entries, such as extents of blobs. */
export interface DroppedContent {
  /**
   * How long after the entry of the dropped list was written the content stays, in microseconds. A
   * reader of the content rewrites the entry, which restarts this time.
   */
  readonly graceMicros: number;
  readonly release: NonNullable<SweepContext['release']>;
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
  content?: DroppedContent,
): SweepCursor<DroppedContainer> {
  const empty = new Set<string>();
  return new SweepCursor({
    all: () => droppedContainers(store, service),
    nameOf,
    async clear(container, entriesMax) {
      const { prefix } = container;
      const name = nameOf(container);
      const entry = content === undefined ? container.entry : await again(store, container);
      if (entry === undefined) return { deleted: 0, more: false };
      const ageMicros = clock.nowMicros() - entry.version;
      const isKept = content !== undefined && ageMicros < content.graceMicros;
      if (isKept) return { deleted: 0, more: false };
      const isPast = ageMicros >= droppedGraceMicros;
      if (!isPast && empty.has(name)) return { deleted: 0, more: false };
      const release = content?.release;
      const swept = await sweepRange({ store, clock, release }, prefixRange(prefix), entriesMax);
      if (swept.deleted > 0 || swept.more) return swept;
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

/** The present entry: a reader may have rewritten it. */
function again(store: Store, { entry }: DroppedContainer): Promise<Entry | undefined> {
  return store.get(entry.key);
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

/** Removes a container from the list. A concurrent removal has the same effect. */
async function forget(store: Store, { key, version }: Entry): Promise<void> {
  await store.commit({ checks: [{ key, version }], puts: [], deletes: [key] });
}
