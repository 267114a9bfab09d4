import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { DiskFiles, journalFolder } from '../../src/engines/journal/disk-files.js';
import { blockBytes } from '../../src/engines/journal/frame.js';
import { defaultJournalLimits } from '../../src/engines/journal/journal-limits.js';
import { openJournaledStore, type JournalBase } from '../../src/engines/journal/store.js';
import { checkDataFile } from '../../src/engines/lmdb/check/check.js';
import { pageBytes } from '../../src/engines/lmdb/check/page.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import type { SnapshotStore } from '../../src/kv/snapshots.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import { manualTimers } from '../support/manual-timers.js';
import { byLength, costly } from '../support/run-length.js';
import { SimRandom } from '../support/sim-random.js';
import { seedSetting } from '../support/sim-settings.js';
import { sectorBytes, tear } from './sectors.js';
import { keyOf, stateOf } from './work.js';

const seed = seedSetting('TABULARIUM_POWER_SEED');
const images = byLength({ short: 6, long: 200 });
/** Two pages alternately describe the last transaction. */
const metaPages = 2;
const dataFile = 'data.mdb';

/** The files of a journal by their paths in the folder. */
type JournalCopy = ReadonlyMap<string, Buffer>;

/** What happens before the data file gets the next transaction. */
interface Held {
  before: () => Promise<void>;
}

type Base = JournalBase & SnapshotStore;

function holding(base: Base, held: Held): Base {
  return new Proxy(base, {
    get(target, name) {
      if (name === 'ingest') {
        return async (...given: Parameters<Base['ingest']>) => {
          await held.before();
          return target.ingest(...given);
        };
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function open(directory: string, held?: Held) {
  // The images say what is on the disk, so nothing waits for this one.
  const base = await openLmdbStore({ directory, clock: systemClock, durability: 'relaxed' });
  return openJournaledStore({
    base: held === undefined ? base : holding(base, held),
    files: new DiskFiles({ directory, sync: false }),
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
 * The pages of a transaction are synced before its meta page: until then any of their sectors may
 * be on the disk.
 */
function tornData(before: Buffer, after: Buffer, random: SimRandom): Buffer {
  if (random.chance(0.2)) return after;
  const image = Buffer.alloc(after.length);
  before.copy(image);
  for (let page = metaPages; page * pageBytes < after.length; page += 1) {
    const position = page * pageBytes;
    tear(image, { position, bytes: after.subarray(position, position + pageBytes) }, random);
  }
  return image;
}

async function journalOf(directory: string): Promise<JournalCopy> {
  const folder = join(directory, journalFolder);
  const found = new Map<string, Buffer>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(path.slice(directory.length + 1), await readFile(path));
  }
  return found;
}

/** The journal while what is new in the later copy is written. */
function tornJournal(before: JournalCopy, after: JournalCopy, random: SimRandom): JournalCopy {
  const image = new Map<string, Buffer>();
  const writes: { readonly content: Buffer; readonly position: number; readonly bytes: Buffer }[] =
    [];
  for (const [path, bytes] of after) {
    const content = Buffer.from(before.get(path) ?? justMade(bytes));
    image.set(path, content);
    const [start, end] = differing(content, bytes);
    if (start < end) writes.push({ content, position: start, bytes: bytes.subarray(start, end) });
  }
  const [only, ...others] = writes;
  assert.ok(only !== undefined);
  // A link is durable before the file that it names has got a frame.
  if (others.length > 0) return random.chance(0.5) ? image : after;
  tear(only.content, only, random);
  return image;
}

/** A file is made whole and durable before its first use. */
function justMade(bytes: Buffer): Buffer {
  const made = Buffer.alloc(bytes.length);
  bytes.copy(made, 0, 0, blockBytes);
  bytes.copy(made, bytes.length - blockBytes, bytes.length - blockBytes);
  return made;
}

/** The whole sectors from the first that differs to the last. */
function differing(left: Buffer, right: Buffer): readonly [number, number] {
  const differs = (at: number) => left.compare(right, at, at + sectorBytes, at, at + sectorBytes);
  let [start, end] = [0, left.length];
  while (start < end && differs(start) === 0) start += sectorBytes;
  while (start < end && differs(end - sectorBytes) === 0) end -= sectorBytes;
  return [start, end];
}

async function writeImage(folder: string, data: Buffer, journal: JournalCopy): Promise<void> {
  await writeFile(join(folder, dataFile), data);
  for (const [path, bytes] of journal) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
}

function batch(random: SimRandom) {
  const name = `p${random.int(3)}/row${random.int(40)}`;
  const put = { key: keyOf(name), value: random.bytes(random.int(3_000)) };
  const isGone = random.chance(0.3);
  return { checks: [], puts: isGone ? [] : [put], deletes: isGone ? [put.key] : [] };
}

it(
  `finds everything whatever was written of a transaction of the data file and of a frame (seed ${seed})`,
  costly(),
  async () => {
    const random = new SimRandom(seed);
    const { directory, remove } = await temporaryLocation();
    const [live, image] = [join(directory, 'live'), join(directory, 'image')];
    await mkdir(directory, { recursive: true });
    const held: Held = { before: () => Promise.resolve() };
    const store = await open(live, held);
    const path = join(live, dataFile);
    try {
      for (let round = 0; round < images; round += 1) {
        for (let frame = 0; frame < 5; frame += 1) {
          const commits = Array.from({ length: 4 }, () => store.commit(batch(random)));
          assert.ok((await Promise.all(commits)).every(({ ok }) => ok));
        }
        const expected = await stateOf(store, false);
        const journalBefore = await journalOf(live);
        const before = await readFile(path);
        const transaction = transactionOf(path);
        // Neither the last commit nor the pass over those before it has ended when power is lost.
        held.before = async () => {
          assert.ok((await store.commit(batch(random))).ok);
        };
        await store.takeSnapshot();
        held.before = () => Promise.resolve();
        const withLast = await stateOf(store, false);
        assert.equal(transactionOf(path), transaction + 1);
        const folder = join(image, `${round}`);
        await mkdir(folder, { recursive: true });
        await cp(join(live, 'format'), join(folder, 'format'));
        const data = tornData(before, await readFile(path), random);
        await writeImage(folder, data, tornJournal(journalBefore, await journalOf(live), random));
        const found = await open(folder);
        const state = await stateOf(found, false);
        assert.ok(
          [expected, withLast].some((each) => isDeepStrictEqual(each, state)),
          `image ${round} has neither what was acknowledged nor that and the last commit`,
        );
        await found.close();
      }
    } finally {
      await store.close();
      await remove();
    }
  },
);
