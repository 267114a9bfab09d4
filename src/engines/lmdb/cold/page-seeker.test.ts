import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SimRandom } from '../../../../test/support/sim-random.js';
import { byLength } from '../../../../test/support/run-length.js';
import { temporaryLocation } from '../../../../test/support/engine-lmdb.js';
import { systemClock } from '../../../base/clock.js';
import type { Bytes } from '../../../base/bytes.js';
import { pageBytes, PageFile, type Page } from '../check/page.js';
import { dataFile } from '../directory/file-kinds.js';
import { openLmdbStore } from '../store.js';
import { PageSeeker, type NeededEntries } from './page-seeker.js';

const rows = 2_000;
const keyOf = (index: number) => Buffer.from(`key ${String(index).padStart(6, '0')}`);
const markOf = (index: number) => `<mark of ${index}>`;
const isLong = (index: number) => index % 500 === 0;

/** A file that records the pages that were read. */
class RecordingFile extends PageFile {
  readonly contents: Buffer[] = [];

  override readBytes(at: number, into: Bytes): boolean {
    const isRead = super.readBytes(at, into);
    this.contents.push(Buffer.from(into));
    return isRead;
  }

  override read(pageNumber: number, into: Page): boolean {
    return this.readBytes(pageNumber * pageBytes, into.bytes);
  }
}

describe('reading the pages that a read needs', () => {
  let path = '';
  let remove = async (): Promise<void> => undefined;

  before(async () => {
    const location = await temporaryLocation();
    remove = location.remove;
    path = join(location.directory, dataFile);
    const store = await openLmdbStore({
      directory: location.directory,
      clock: systemClock,
      durability: 'relaxed',
    });
    // In two halves, so that neighbours are on pages far from each other.
    for (const half of [0, 1]) {
      const puts = [];
      for (let index = half; index < rows; index += 2) {
        const value = Buffer.alloc(isLong(index) ? 150_000 : 900, '.');
        value.write(markOf(index), value.length - 20);
        puts.push({ key: keyOf(index), value });
      }
      await store.commit({ checks: [], puts, deletes: [] });
    }
    await store.close();
  });
  after(() => remove());

  /** The rows on the pages that were read. */
  function found(wanted: Omit<NeededEntries, 'isReverse'> & Partial<NeededEntries>): number[] {
    using file = new RecordingFile(path);
    new PageSeeker(file).read([{ isReverse: false, ...wanted }]);
    const text = Buffer.concat(file.contents).toString('latin1');
    const marks = text.matchAll(/<mark of (\d+)>/g);
    return Array.from(new Set(Array.from(marks, ([, digits]) => Number(digits)))).toSorted(
      (left, right) => left - right,
    );
  }

  it('finds the page of a key, and no more', () => {
    for (const index of [0, 1, 777, 1_000, rows - 1]) {
      const all = found({ start: keyOf(index), end: keyOf(index + 1), leavesMax: 25 });
      assert.ok(all.includes(index), `${index}`);
      assert.ok(all.length < 40, `${all.length} rows`);
    }
  });

  it('finds all of a range, with values that have pages of their own', () => {
    const all = found({ start: keyOf(990), end: keyOf(1_010), leavesMax: 100 });
    for (let index = 990; index < 1_010; index += 1) assert.ok(all.includes(index), `${index}`);
    assert.ok(all.length < 60, `${all.length} rows`);
  });

  it('reads so many pages at most, from the side where the read begins', () => {
    const range = { start: keyOf(101), end: keyOf(1_900), leavesMax: 4 };
    const [first, last] = [found(range), found({ ...range, isReverse: true })];
    assert.ok(first.includes(101) && !first.includes(400));
    assert.ok(last.includes(1_899) && !last.includes(1_600));
  });

  it('ends, whatever the file holds', () => {
    const random = new SimRandom(11);
    const content = readFileSync(path);
    const damaged = `${path}.damaged`;
    for (let round = 0; round < byLength({ short: 8, long: 200 }); round += 1) {
      const copy = Buffer.from(content);
      for (let page = 2 * pageBytes; page < copy.length; page += pageBytes) {
        // Numbers of other pages among them, and only in headers and in the offsets behind them.
        const number = random.int(copy.length / pageBytes);
        if (random.chance(0.5)) copy.writeUInt32LE(number, page + 4 * random.between(6, 16));
        if (random.chance(0.1)) copy[page + random.int(64)] = random.int(256);
      }
      writeFileSync(damaged, copy);
      using file = new RecordingFile(damaged);
      try {
        new PageSeeker(file).read([{ start: keyOf(0), isReverse: false, leavesMax: 128 }]);
      } catch (error) {
        assert.ok(error instanceof Error);
      }
      assert.ok(file.contents.length < 1_000, `${file.contents.length} reads`);
    }
  });
});
