import type { Clock } from '../../src/base/clock.js';
import type { Randomness } from '../../src/base/randomness.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import type { Store } from '../../src/kv/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { temporaryLocation } from './engine-lmdb.js';

/** A store that can be closed and opened again over what it holds. */
export interface ReopenableStore extends AsyncDisposable {
  store(): Store;
  reopen(): Promise<void>;
}

export async function memoryStore(clock: Clock): Promise<ReopenableStore> {
  const store = await openMemoryStore({ clock });
  return {
    store: () => store,
    reopen: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** In a directory of its own, which is removed in the end. */
export async function lmdbStore(clock: Clock): Promise<ReopenableStore> {
  const { directory, remove } = await temporaryLocation();
  const open = () => openLmdbStore({ directory, clock, durability: 'relaxed' });
  let store = await open();
  return {
    store: () => store,
    async reopen() {
      await store.close();
      store = await open();
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await remove();
    },
  };
}

/**
 * Services that share a store as processes do: none knows what the others do. Their clocks differ
 * by up to `skewMicros`; the first has the clock itself.
 */
export function queueServices(
  count: number,
  parts: {
    readonly store: Store;
    readonly clock: Clock;
    readonly randomness: Randomness;
    readonly skewMicros?: number;
  },
): QueueService[] {
  const { clock, randomness, skewMicros = 0 } = parts;
  const store = withPartitionRule(parts.store);
  return Array.from({ length: count }, (_, index) => {
    const own = skewed(clock, index % 2 === 0 ? -skewMicros : skewMicros);
    return new QueueService({ store, clock: index === 0 ? clock : own, randomness });
  });
}

function skewed(clock: Clock, micros: number): Clock {
  return { ...clock, nowMicros: () => clock.nowMicros() + micros };
}
