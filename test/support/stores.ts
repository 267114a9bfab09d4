import type { TestContext } from 'node:test';
import type { Clock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { Store } from '../../src/kv/store.js';
import { temporaryLocation } from './engine-lmdb.js';

export type EngineName = 'memory' | 'lmdb';

export const engineNames: readonly EngineName[] = ['memory', 'lmdb'];

/** A store that can be closed and opened again on the same data. */
export interface ReopenableStore extends AsyncDisposable {
  store(): Store;
  /** A memory store stays as it is. */
  reopen(): Promise<void>;
}

/** A new store. On LMDB it has its own directory, which is removed in the end. */
export const reopenableStore: Readonly<
  Record<EngineName, (clock: Clock) => Promise<ReopenableStore>>
> = {
  async memory(clock) {
    const store = await openMemoryStore({ clock });
    return {
      store: () => store,
      reopen: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => store.close(),
    };
  },

  async lmdb(clock) {
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
  },
};

/** A new store, which is closed and removed with the test. */
export async function openTestStore(
  engine: EngineName,
  context: TestContext,
  clock: Clock,
): Promise<Store> {
  const opened = await reopenableStore[engine](clock);
  context.after(() => opened[Symbol.asyncDispose]());
  return opened.store();
}
