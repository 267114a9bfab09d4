import assert from 'node:assert/strict';
import { cp, readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../../test/support/engine-lmdb.js';
import { systemTimers } from '../../../base/async/timers.js';
import { systemClock } from '../../../base/clock.js';
import { it } from '../../../base/conformance/limited-test.js';
import { lockDirectory, type DataFileState } from '../directory-lock.js';
import { dataFile } from '../directory/file-kinds.js';
import { openEnvironment } from '../environment.js';
import { openLmdbStore } from '../store.js';
import { writeTransaction } from '../write-transaction.js';
import { assertIntact, checkDirectory } from './directory-check.js';
import { pageBytes } from './page.js';

const key = Buffer.from('key');
/** Just more than a start always reads completely. The files are sparse. */
const largeBytes = 2 ** 30 + pageBytes;
const sound: DataFileState = { isDurable: true, wasRead: true };

/** Takes a directory and dies. */
async function leave(directory: string, taking: DataFileState): Promise<void> {
  const environment = openEnvironment(directory, { sync: false });
  const waiting = () => undefined;
  const options = { directory, clock: systemClock, timers: systemTimers, waiting, ...taking };
  const lock = await lockDirectory(environment, options);
  await lock.abandon();
  await environment.root.close();
}

const rowMark = 'one of many rows';

/** Puts some pages of rows, all of them in each round. */
async function putRows(directory: string, rounds: number): Promise<void> {
  const store = await openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
  const value = Buffer.from(rowMark.repeat(10));
  const puts = Array.from({ length: 500 }, (_, row) => ({
    key: Buffer.from(`row ${String(row).padStart(4, '0')}`),
    value,
  }));
  for (let round = 0; round < rounds; round += 1) {
    await store.commit({ checks: [], puts, deletes: [] });
  }
  await store.close();
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
    await truncate(join(directory, dataFile), largeBytes);
    const check = () => assertIntact(directory, { isNew: false, progress: () => undefined });
    assert.deepEqual(await check(), { wasLeft: false, wasRead: false });
    const lives: readonly (readonly [string, DataFileState, boolean])[] = [
      ['behind one that closed it', { isDurable: true, wasRead: false }, false],
      ['behind one that died', { isDurable: true, wasRead: false }, true],
      ['after a complete check', sound, false],
      ['without syncs', { isDurable: false, wasRead: true }, true],
    ];
    for (const [what, taking, wasRead] of lives) {
      await leave(directory, taking);
      assert.deepEqual(await check(), { wasLeft: true, wasRead }, what);
    }
  });

  it('reads all of a large copy of what a sound owner left, and not when the file moved', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    await (await openLmdbStore({ directory, clock: systemClock })).close();
    await leave(directory, sound);
    const [moved, copied] = [`${directory}-moved`, `${directory}-copied`];
    await cp(directory, copied, { recursive: true });
    await rename(directory, moved);
    const check = async (place: string) => {
      await truncate(join(place, dataFile), largeBytes);
      return assertIntact(place, { isNew: false, progress: () => undefined });
    };
    assert.deepEqual(await check(moved), { wasLeft: true, wasRead: false });
    assert.deepEqual(await check(copied), { wasLeft: true, wasRead: true });
    // The owner of the copy notes that one.
    await leave(copied, sound);
    assert.deepEqual(await check(copied), { wasLeft: true, wasRead: false });
  });

  it('refuses a large copy, made during writes, of which only pages with entries are torn', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const path = join(directory, dataFile);
    await putRows(directory, 1);
    await leave(directory, sound);
    const early = await readFile(path);
    const copied = `${directory}-copied`;
    await cp(directory, copied, { recursive: true });
    await putRows(directory, 10);
    const late = await readFile(path);
    let torn = 0;
    // What the copy has of the rows is of later transactions, which used these pages again.
    for (let at = 2 * pageBytes; at < early.length; at += pageBytes) {
      const page = early.subarray(at, at + pageBytes);
      const later = late.subarray(at, at + pageBytes);
      if (!page.includes(rowMark) || page.equals(later)) continue;
      later.copy(early, at);
      torn += 1;
    }
    assert.ok(torn > 0);
    await writeFile(join(copied, dataFile), early);
    await truncate(join(copied, dataFile), largeBytes);
    const check = assertIntact(copied, { isNew: false, progress: () => undefined });
    await assert.rejects(check, /of a transaction to come.*made while a server wrote/);
  });
});
