import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { keyAfter } from '../../kv/tuple.js';
import { openEnvironment } from './environment.js';
import { openLmdbStore } from './store.js';
import { costly } from '../../../test/support/run-length.js';

const keyOf = (index: number) => Buffer.from(`key ${String(index).padStart(6, '0')}`);
const page = { limit: 10, bytesMax: 1_000_000 };

describe('snapshots', () => {
  it('end with the read that began them', async (t) => {
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({ directory, clock: manualClock() });
    // The package shares one environment within a process, so this sees the readers of the store.
    const beside = openEnvironment(directory, { sync: true });
    t.after(async () => {
      await beside.root.close();
      await store.close();
      await remove();
    });
    const puts = Array.from({ length: 50 }, (_, index) => ({ key: keyOf(index), value: keyOf(1) }));
    await store.commit({ checks: [], puts, deletes: [] });
    const reads = [
      () => store.get(keyOf(1)),
      () => store.get(keyOf(1_000)),
      () => store.getMany([keyOf(1), keyOf(2)]),
      () => store.range({ start: keyOf(0) }, page),
      () => store.range({ start: keyOf(0) }, { ...page, reverse: true }),
      () => store.range({ start: keyOf(0) }, { limit: 1_000, bytesMax: 1_000_000 }),
    ];
    for (const read of reads) {
      await read();
      assert.deepEqual(activeReaders(beside.root.readerList()), []);
    }
    // Shows that the list does contain a snapshot that is in use.
    beside.entries.get(keyOf(1));
    assert.equal(activeReaders(beside.root.readerList()).length, 1);
    beside.entries.endRead();
  });

  it(
    'do not keep the space of replaced values while a long range is paged through',
    costly(),
    async (t) => {
      const { directory, remove } = await temporaryLocation();
      const store = await openLmdbStore({ directory, clock: manualClock(), durability: 'relaxed' });
      t.after(async () => {
        await store.close();
        await remove();
      });
      const rewrite = async (round: number) => {
        const value = Buffer.alloc(10_000, round);
        const puts = Array.from({ length: 100 }, (_, index) => ({ key: keyOf(index), value }));
        await store.commit({ checks: [], puts, deletes: [] });
      };
      const bytesInUse = async () => (await stat(join(directory, 'data.mdb'))).size;
      for (let round = 0; round < 5; round += 1) await rewrite(round);
      const before = await bytesInUse();
      let start = keyOf(0);
      for (let round = 0; round < 100; round += 1) {
        const { entries, more } = await store.range({ start }, page);
        start = more ? Buffer.from(keyAfter(entries.at(-1)?.key ?? start)) : keyOf(0);
        await rewrite(round);
      }
      const after = await bytesInUse();
      assert.ok(after <= before * 2, `${before} bytes have become ${after}`);
    },
  );
});

/** Lines of the readers that hold a snapshot; others have a dash instead of its number. */
function activeReaders(list: string): string[] {
  return list.split('\n').filter((line) => /^\s*\d+\s+\S+\s+\d+\s*$/.test(line));
}
