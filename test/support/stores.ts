import type { TestContext } from 'node:test';
import type { Clock } from '../../src/base/clock.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { Store } from '../../src/kv/store.js';
import { temporaryLocation } from './engine-lmdb.js';

export type EngineName = 'memory' | 'lmdb';

export const engineNames: readonly EngineName[] = ['memory', 'lmdb'];

/** A fresh store, closed and removed with the test. */
export async function openTestStore(
  engine: EngineName,
  context: TestContext,
  clock: Clock,
): Promise<Store> {
  if (engine === 'memory') {
    const store = await openMemoryStore({ clock });
    context.after(() => store.close());
    return store;
  }
  const { directory, remove } = await temporaryLocation();
  const store = await openLmdbStore({ directory, clock, durability: 'relaxed' });
  context.after(async () => {
    await store.close();
    await remove();
  });
  return store;
}
