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

/** Services that share a store as processes do: none knows what the others do. */
export function queueServices(
  count: number,
  parts: { readonly store: Store; readonly clock: Clock; readonly randomness: Randomness },
): QueueService[] {
  const store = withPartitionRule(parts.store);
  return Array.from({ length: count }, () => new QueueService({ ...parts, store }));
}
