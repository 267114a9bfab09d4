import assert from 'node:assert/strict';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import { defaultJournalLimits } from '../../src/engines/journal/journal-limits.js';
import { openJournaledStore } from '../../src/engines/journal/store.js';
import { checkDataFile } from '../../src/engines/lmdb/check/check.js';
import { pageBytes } from '../../src/engines/lmdb/check/page.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { manualTimers } from '../support/manual-timers.js';
import { byLength } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';
import { keyOf, stateOf } from './work.js';

const seed = seedSetting('TABULARIUM_POWER_SEED');
const images = byLength({ short: 6, long: 200 });
/** Two pages alternately describe the last transaction. */
const metaPages = 2;
const left = ['data.mdb', 'format', 'journal'];

async function open(directory: string) {
  return openJournaledStore({
    base: await openLmdbStore({ directory, clock: systemClock }),
    files: new DiskFiles({ directory, sync: true }),
    clock: systemClock,
    // The data file changes when the test says so.
    timers: manualTimers(),
    randomness: systemRandomness,
    limits: { ...defaultJournalLimits, fileBytes: 65_536 },
  });
}

function transactionOf(path: string): number {
  const steps = checkDataFile(path, { entries: false });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value.transaction;
  }
}

/**
 * The pages of a transaction are synced before its meta page: until then any of them may be on the
 * disk.
 */
function tornImage(before: Buffer, after: Buffer, random: SimRandom): Buffer {
  if (random.chance(0.2)) return after;
  const image = Buffer.alloc(after.length);
  before.copy(image);
  for (let page = metaPages; page * pageBytes < after.length; page += 1) {
    const start = page * pageBytes;
    if (random.chance(0.5)) after.copy(image, start, start, start + pageBytes);
  }
  return image;
}

it(`finds everything whatever was written of a transaction of the data file (seed ${seed})`, async () => {
  const random = new SimRandom(seed);
  const { directory, remove } = await temporaryLocation();
  const [live, image] = ['live', 'image'].map((name) => join(directory, name));
  assert.ok(live !== undefined && image !== undefined);
  await mkdir(directory, { recursive: true });
  const store = await open(live);
  try {
    for (let round = 0; round < images; round += 1) {
      for (let count = 0; count < 20; count += 1) {
        const name = `p${random.int(3)}/row${random.int(40)}`;
        const put = { key: keyOf(name), value: random.bytes(random.int(300)) };
        const isGone = random.chance(0.3);
        const batch = { checks: [], puts: isGone ? [] : [put], deletes: isGone ? [put.key] : [] };
        assert.ok((await store.commit(batch)).ok);
      }
      const expected = await stateOf(store, false);
      const folder = join(image, `${round}`);
      for (const name of left) await cp(join(live, name), join(folder, name), { recursive: true });
      const before = await readFile(join(live, 'data.mdb'));
      const transaction = transactionOf(join(live, 'data.mdb'));
      // Moves everything in the journal to the data file.
      await store.takeSnapshot();
      const after = await readFile(join(live, 'data.mdb'));
      assert.equal(transactionOf(join(live, 'data.mdb')), transaction + 1);
      await writeFile(join(folder, 'data.mdb'), tornImage(before, after, random));
      const found = await open(folder);
      assert.deepEqual(await stateOf(found, false), expected, `image ${round}`);
      await found.close();
    }
  } finally {
    await store.close();
    await remove();
  }
});
