import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import type { SnapshotStore } from '../kv/snapshots.js';
import type { Entry, Store } from '../kv/store.js';
import { openLmdbStore } from './lmdb/store.js';
import { openMemoryStore } from './memory/store.js';

/** Keys of the server begin with a low byte. */
const key = (text: string) => Buffer.from(`\u0002${text}`);

async function put(store: Store, ...texts: readonly string[]): Promise<number> {
  const puts = texts.map((text) => ({ key: key(text), value: key(`value of ${text}`) }));
  const result = await store.commit({ checks: [], puts, deletes: [] });
  assert.ok(result.ok);
  return result.version;
}

async function everything(store: Store): Promise<readonly Entry[]> {
  const options = { limit: 100_000, bytesMax: Infinity };
  const { entries } = await store.range({ start: Buffer.alloc(0) }, options);
  // Engines return different kinds of bytes.
  return entries.map((entry) => ({
    key: Buffer.from(entry.key),
    value: Buffer.from(entry.value),
    version: entry.version,
  }));
}

const clock = manualClock();

const engines: readonly [
  name: string,
  run: (test: (store: Store & SnapshotStore) => Promise<void>) => Promise<void>,
][] = [
  [
    'the memory engine',
    async (test) => {
      const store = await openMemoryStore({ clock });
      await test(store);
      await store.close();
    },
  ],
  [
    'the default engine',
    async (test) => {
      const directory = await mkdtemp(join(tmpdir(), 'tabularium-snapshots-'));
      const store = await openLmdbStore({ directory, clock, durability: 'relaxed' });
      try {
        await test(store);
      } finally {
        await store.close();
        await rm(directory, { recursive: true, force: true });
      }
    },
  ],
];

for (const [name, run] of engines) {
  describe(`snapshots of ${name}`, () => {
    it('bring back exactly what was there, versions included, as often as asked', () =>
      run(async (store) => {
        await put(store, 'a', 'b');
        await store.commit({
          checks: [],
          puts: [{ key: Buffer.of(0), value: key('') }],
          deletes: [],
        });
        const before = await everything(store);
        const snapshot = await store.takeSnapshot();
        assert.equal(snapshot.entries, 3);
        for (let round = 0; round < 3; round += 1) {
          await put(store, 'b', 'd', `round ${round}`);
          await store.commit({ checks: [], puts: [], deletes: [key('a')] });
          await store.restoreSnapshot(snapshot);
          assert.deepEqual(await everything(store), before);
        }
      }));

    it('do not change with the store', () =>
      run(async (store) => {
        const empty = await store.takeSnapshot();
        // More than a few leaves and chunks.
        const names = Array.from({ length: 3000 }, (_, index) => `key ${index}`);
        await put(store, ...names);
        const full = await store.takeSnapshot();
        const before = await everything(store);
        await store.restoreSnapshot(empty);
        assert.deepEqual(await everything(store), []);
        await put(store, 'other');
        await store.restoreSnapshot(full);
        assert.deepEqual(await everything(store), before);
        assert.deepEqual([empty.entries, full.entries], [0, 3000]);
      }));

    it('leave nothing behind when there is none to restore', () =>
      run(async (store) => {
        await put(store, 'a', 'b');
        await store.restoreSnapshot();
        assert.deepEqual(await everything(store), []);
        assert.equal(await store.get(key('a')), undefined);
      }));

    it('never lead to a version that was there before', () =>
      run(async (store) => {
        const first = await put(store, 'a');
        const snapshot = await store.takeSnapshot();
        const second = await put(store, 'a');
        await store.restoreSnapshot(snapshot);
        assert.equal((await store.get(key('a')))?.version, first);
        const third = await put(store, 'b');
        await store.restoreSnapshot();
        const fourth = await put(store, 'c');
        // The clock stands still, so the store must remember the last version.
        assert.ok(first < second && second < third && third < fourth);
      }));

    it('wait for commits under way', () =>
      run(async (store) => {
        const writes = Array.from({ length: 50 }, (_, index) => put(store, `key ${index}`));
        const snapshot = await store.takeSnapshot();
        await Promise.all(writes);
        assert.equal(snapshot.entries, 50);
      }));
  });
}

describe('a snapshot of the default engine', () => {
  it('is restored on disk: a store opened later finds what it held, and newer versions', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tabularium-snapshots-'));
    try {
      const store = await openLmdbStore({ directory, clock, durability: 'relaxed' });
      await put(store, 'a');
      const snapshot = await store.takeSnapshot();
      const last = await put(store, 'b');
      await store.restoreSnapshot(snapshot);
      const before = await everything(store);
      await store.close();
      const reopened = await openLmdbStore({ directory, clock, durability: 'relaxed' });
      assert.deepEqual(await everything(reopened), before);
      assert.ok((await put(reopened, 'c')) > last);
      await reopened.close();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
