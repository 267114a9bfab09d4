import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { storeConformance } from '../../src/kv/conformance/index.js';
import type { ConformanceSuite } from '../../src/kv/conformance/suite.js';
import type { Clock } from '../../src/base/clock.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { byLength, isLong } from '../support/run-length.js';
import { composed, membersOf } from './composed-stores.js';
import { moving } from './moving.js';

const capabilities = {
  persistent: false,
  processes: false,
  groupsCommits: false,
  versionsGlobal: false,
  member: false,
} as const;

const modelRuns = byLength({ short: 8, long: 60 });

async function memoryStores(clock: Clock): Promise<MemberStore[]> {
  return Promise.all([1, 2, 3].map(() => openMemoryStore({ clock })));
}

storeConformance({
  name: 'a store whose ranges split, merge and move all the time',
  hasOtherCommits: true,
  async open({ clock }) {
    const parts = await composed(await memoryStores(clock), clock);
    const over = new AbortController();
    const moved = moving(parts, over.signal);
    return {
      store: parts.store,
      async dispose() {
        over.abort();
        await moved;
        await parts.store.close();
      },
    };
  },
  modelRuns,
  capabilities,
});

const atRest: ConformanceSuite = {
  name: 'a store made of three in memory',
  async open({ clock }) {
    const { store } = await composed(await memoryStores(clock), clock);
    return { store, dispose: () => store.close() };
  },
  modelRuns,
  capabilities,
};

const overFiles: ConformanceSuite = {
  name: 'a store made of two LMDB directories',
  async open({ clock }) {
    const places = [await temporaryLocation(), await temporaryLocation()];
    const stores = () =>
      Promise.all(
        places.map(({ directory }) => openLmdbStore({ directory, clock, durability: 'relaxed' })),
      );
    let { store } = await composed(await stores(), clock);
    return {
      store,
      async reopen() {
        await store.close();
        const members = membersOf(await stores());
        const options = { members, clock, timers: systemTimers, randomness: systemRandomness };
        store = await openPartitionedStore(options);
        return store;
      },
      async dispose() {
        await store.close();
        for (const { remove } of places) await remove();
      },
    };
  },
  modelRuns,
  capabilities: { ...capabilities, persistent: true },
};

// The short form has the suite that asks most of the store.
if (isLong) for (const suite of [atRest, overFiles]) storeConformance(suite);
