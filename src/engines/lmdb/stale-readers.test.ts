import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { systemClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { dataFile } from './directory/file-kinds.js';
import { staleReadersMs, StaleReaders } from './stale-readers.js';
import { openLmdbStore } from './store.js';
import { costly } from '../../../test/support/run-length.js';

const holder = fileURLToPath(
  new URL('../../../test/support/hold-snapshot-child.js', import.meta.url),
);

async function setUp(t: TestContext) {
  const { directory, remove } = await temporaryLocation();
  const timers = manualTimers();
  const store = await openLmdbStore({
    directory,
    clock: systemClock,
    durability: 'relaxed',
    timers,
  });
  t.after(async () => {
    await store.close();
    await remove();
  });
  /** Replaces the same entries many times; returns the bytes that the data file has grown by. */
  const growth = async (): Promise<number> => {
    const bytes = () => statSync(join(directory, dataFile)).size;
    const before = bytes();
    for (let round = 0; round < 50; round += 1) {
      const value = Buffer.alloc(10_000, round);
      const puts = Array.from({ length: 10 }, (_, index) => ({
        key: Buffer.from(`key${index}`),
        value,
      }));
      await store.commit({ checks: [], puts, deletes: [] });
    }
    return bytes() - before;
  };
  return { directory, timers, growth };
}

describe('a process that died during a read', () => {
  it('keeps the data file growing only until it is looked for', costly(), async (t) => {
    const { directory, timers, growth } = await setUp(t);
    await growth();
    assert.equal(await growth(), 0, 'freed pages are used again');
    const child = spawn(process.execPath, [holder, directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const held = await growth();
    assert.ok(held > 1_000_000, `${held} bytes while the snapshot is held`);
    timers.fire(staleReadersMs);
    assert.ok((await growth()) > 1_000_000, 'the snapshot of a living process counts');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok((await growth()) > 1_000_000, 'nobody has looked yet');
    timers.fire(staleReadersMs);
    assert.equal(await growth(), 0);
  });
});

describe('looking for stale readers', () => {
  it('tells of the first of several failures, and goes on', async () => {
    let failing = true;
    let looks = 0;
    const told: unknown[] = [];
    const timers = manualTimers();
    const root = {
      readerCheck() {
        looks += 1;
        if (failing) throw new Error('locks');
        return 0;
      },
    };
    const readers = new StaleReaders({ root }, { timers, onFailed: (error) => told.push(error) });
    for (let second = 0; second < 3; second += 1) timers.fire();
    assert.equal(told.length, 1);
    failing = false;
    timers.fire();
    failing = true;
    timers.fire();
    assert.equal(told.length, 2);
    assert.equal(looks, 5);
    readers.close();
    assert.equal(timers.waiting, 0);
  });
});
