import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import {
  holding,
  journalDirectory,
  putRow,
  rowOf,
  withoutNotes,
} from '../../../test/support/journals.js';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { StoreWriteError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { encodeTuple } from '../../kv/tuple.js';
import { costly } from '../../../test/support/run-length.js';

/** Of one commit. */
const rowsAtOnce = 100;
/** Longer than until a pass begins behind a start or a failure, shorter than any limit. */
const soonMs = 1_000;
/** Far more calls of the file system than a pass makes. */
const looksMax = 10_000;

function keyOf(row: number): Uint8Array {
  return Buffer.concat([partitionPrefix('T', 'account', 1, 'p'), encodeTuple([`${row}`])]);
}

async function putRows(store: Store, from: number): Promise<void> {
  const puts = Array.from({ length: rowsAtOnce }, (_, index) => ({
    key: keyOf(from + index),
    value: Buffer.of(1),
  }));
  assert.ok((await store.commit({ checks: [], puts, deletes: [] })).ok);
}

describe('bounds of a journal', () => {
  it(
    'hold for what a start reads again, also when no pass ends and processes die',
    costly(),
    async () => {
      await using made = await journalDirectory();
      const limits = { tableRowsMax: 1_500, changesMax: 4_000 };
      let rows = 0;
      for (let life = 0; life < 3; life += 1) {
        const timers = manualTimers();
        const store = await made.open({ base: withoutNotes, limits, timers });
        for (let attempt = 0; attempt < 60; attempt += 1) {
          try {
            await putRows(store, rows);
            rows += rowsAtOnce;
          } catch (error) {
            assert.ok(error instanceof StoreWriteError);
            // The next pass gives the base a part of the rows, and fails at its end.
            timers.fire(soonMs);
            for (let turn = 0; turn < 20; turn += 1) await setImmediate();
          }
        }
        assert.ok(rows >= 2_000 && rows <= limits.changesMax, `${rows} rows in life ${life}`);
      }
      const store = await made.open({ limits });
      const found = await store.getMany([keyOf(0), keyOf(rows - 1), keyOf(rows)]);
      assert.deepEqual(
        found.map((entry) => entry !== undefined),
        [true, true, false],
      );
    },
  );

  for (const { bytes, fit } of [
    // Two frames of five blocks fit into a file, and four files are allowed.
    { bytes: 20_000, fit: 8 },
    // Each has a file of its own, and three of 25 blocks are more than four usual files have.
    { bytes: 100_000, fit: 2 },
  ]) {
    it(`hold while a pass stands still: commits of ${bytes} bytes wait for it`, async () => {
      await using made = await journalDirectory();
      const { hold, base } = holding();
      const store = await made.open({ base, limits: { fileBytes: 65_536, filesMax: 4 } });
      hold.isOn = true;
      const { release: before } = hold;
      const acknowledged: number[] = [];
      const writing = (async () => {
        for (let row = 0; row < 20; row += 1) {
          await putRow(store, `${row}`, 'x'.repeat(bytes));
          acknowledged.push(row);
        }
      })();
      while (acknowledged.length < fit || hold.release === before) await pause(1);
      for (let turn = 0; turn < 20; turn += 1) await pause(1);
      assert.equal(acknowledged.length, fit);
      const files = await readdir(join(made.directory, 'journal', '1'));
      assert.ok(files.length <= 4, files.join(' '));
      hold.release();
      await writing;
      await store.close();
      assert.equal((await rowOf(made.memory, '19'))?.length, bytes);
    });
  }

  it('hold for files of processes that die soon after their start, again and again', async () => {
    await using made = await journalDirectory();
    const folders = () => readdir(join(made.directory, 'journal'));
    for (let life = 0; life < 5; life += 1) {
      const timers = manualTimers();
      const store = await made.open({ timers });
      await putRows(store, life * rowsAtOnce);
      timers.fire(soonMs);
      // The first opening finds nothing that was left, so its pass can wait.
      for (let look = 0; look < looksMax && (await folders()).length > 1; look += 1) {
        await setImmediate();
      }
      assert.deepEqual(await folders(), [`${life + 1}`]);
    }
  });
});
