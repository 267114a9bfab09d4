import assert from 'node:assert/strict';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../../test/support/engine-lmdb.js';
import { systemTimers } from '../../../base/async/timers.js';
import { systemClock } from '../../../base/clock.js';
import { it } from '../../../base/conformance/limited-test.js';
import { lockDirectory, type Taking } from '../directory-lock.js';
import { dataFile } from '../directory/file-kinds.js';
import { openEnvironment } from '../environment.js';
import { openLmdbStore } from '../store.js';
import { writeTransaction } from '../write-transaction.js';
import { assertIntact, checkDirectory } from './directory-check.js';
import { pageBytes } from './page.js';

const key = Buffer.from('key');

/** Takes a directory and dies. */
async function leave(directory: string, taking: Taking): Promise<void> {
  const environment = openEnvironment(directory, { sync: false });
  const waiting = () => undefined;
  const options = { directory, clock: systemClock, timers: systemTimers, waiting, ...taking };
  const lock = await lockDirectory(environment, options);
  await lock.abandon();
  await environment.root.close();
}

void describe('the check of a data file at a start', () => {
  it('finds no fault with a value that was made shorter within its transaction', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    await (await openLmdbStore({ directory, clock: systemClock })).close();
    const environment = openEnvironment(directory, { sync: false });
    await writeTransaction(environment.root, () => {
      for (const bytes of [60_000, 20_000]) environment.meta.put(key, Buffer.alloc(bytes), 1);
    });
    await environment.root.close();
    const { findings } = await checkDirectory(directory, () => undefined);
    assert.deepEqual(findings, []);
    assert.deepEqual(await assertIntact(directory, { isNew: false, progress: () => undefined }), {
      wasLeft: false,
      wasRead: true,
    });
  });

  it('tells of a copy that was made during writes what it is', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const path = join(directory, dataFile);
    const write = async (rounds: number): Promise<void> => {
      const store = await openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
      for (let round = 0; round < rounds; round += 1) {
        await store.commit({ checks: [], puts: [{ key, value: key }], deletes: [] });
      }
      await store.close();
    };
    await write(3);
    // The beginning is copied first, and the rest when it is of later transactions.
    const metas = (await readFile(path)).subarray(0, 2 * pageBytes);
    await write(10);
    await writeFile(path, metas, { flag: 'r+' });
    const check = assertIntact(directory, { isNew: false, progress: () => undefined });
    await assert.rejects(check, /of a transaction to come.*made while a server wrote/);
  });

  it('reads all of a large one when sound owners were not the last', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    await (await openLmdbStore({ directory, clock: systemClock })).close();
    // Sparse.
    await truncate(join(directory, dataFile), 2 ** 30 + 8192);
    const check = () => assertIntact(directory, { isNew: false, progress: () => undefined });
    assert.deepEqual(await check(), { wasLeft: false, wasRead: false });
    const lives: readonly (readonly [string, Taking, boolean])[] = [
      ['behind one that closed it', { isDurable: true, wasRead: false }, false],
      ['behind one that died', { isDurable: true, wasRead: false }, true],
      ['after a complete check', { isDurable: true, wasRead: true }, false],
      ['without syncs', { isDurable: false, wasRead: true }, true],
    ];
    for (const [what, taking, wasRead] of lives) {
      await leave(directory, taking);
      assert.deepEqual(await check(), { wasLeft: true, wasRead }, what);
    }
  });
});
