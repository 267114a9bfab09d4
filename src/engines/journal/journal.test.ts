import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import * as fc from 'fast-check';
import { byLength } from '../../../test/support/run-length.js';
import { systemRandomness } from '../../base/randomness.js';
import { StoreWriteError } from '../../kv/errors.js';
import { blockBytes, frameBytes } from './frame.js';
import { changeBytes } from './frame-change.js';
import type { JournalFile, JournalFiles } from './journal-files.js';
import type { JournalLimits } from './journal-limits.js';
import { Journal, type JournalMark } from './journal.js';

/** As docs/internals/journal.md has it. */
const freeFilesMax = 8;
const filesMax = 12;
/** Twice the first file, so that files of both sizes are there. */
const fileBytes = 512 * 1024;
const usualLimits = { filesMax, fileBytes, changesMax: 1_000_000 };

/** Work of the disk that ends when the test says so. */
class HeldWork {
  readonly #waiting: (() => void)[] = [];

  begin(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async end(): Promise<void> {
    for (const resolve of this.#waiting.splice(0)) resolve();
    await setImmediate();
  }
}

/** Files without content, which are counted. */
class CountedFiles implements JournalFiles {
  readonly name = 'counted';
  readonly creations = new HeldWork();
  readonly removals = new HeldWork();
  /** The sizes of those that are there, also of those that are being created. */
  readonly there = new Map<number, number>();
  isRemoving = 0;
  readonly #fileBytes: number;
  /** The number of writes that fail next. */
  failures = 0;
  /** The numbers of files that were closed, in order, and of those whose close fails. */
  readonly closed: number[] = [];
  readonly unclosable = new Set<number>();
  /** Folders of former openings are removed as long as the test lasts. */
  readonly #folders = new HeldWork();

  constructor(usualBytes: number) {
    this.#fileBytes = usualBytes;
  }

  /** Those of the usual size at most, but not those that are being removed. */
  get usual(): number {
    return (
      [...this.there.values()].filter((bytes) => bytes <= this.#fileBytes).length - this.isRemoving
    );
  }

  retire(): Promise<readonly number[]> {
    return Promise.resolve([]);
  }

  async *retired(): AsyncGenerator<never, void, void> {
    // There are none.
  }

  removeRetired(): Promise<void> {
    return this.#folders.begin();
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  removeBegun(): Promise<void> {
    return Promise.resolve();
  }

  removeAll(): Promise<void> {
    return Promise.resolve();
  }

  async create(number: number, _head: unknown, bytes: number): Promise<JournalFile> {
    this.there.set(number, bytes);
    await this.creations.begin();
    return {
      number,
      name: `${number}`,
      bytes,
      detachment: () => undefined,
      close: () => this.#close(number),
      write: () => this.#write(),
      remove: () => this.#remove(number, bytes),
    };
  }

  async #close(number: number): Promise<void> {
    await setImmediate();
    if (this.unclosable.has(number)) throw new Error('EIO: i/o error, close');
    this.closed.push(number);
  }

  #write(): Promise<void> {
    if (this.failures === 0) return Promise.resolve();
    this.failures -= 1;
    return Promise.reject(new Error('EIO: i/o error, write'));
  }

  async #remove(number: number, bytes: number): Promise<void> {
    if (bytes <= this.#fileBytes) this.isRemoving += 1;
    await this.removals.begin();
    if (bytes <= this.#fileBytes) this.isRemoving -= 1;
    this.there.delete(number);
  }
}

type Limits = Pick<JournalLimits, 'filesMax' | 'fileBytes' | 'changesMax'>;

function journalOver(files: JournalFiles, limits: Limits, told: string[]): Journal {
  return new Journal({
    onUnclosed: ({ message }) => told.push(message),
    files,
    randomness: systemRandomness,
    generation: 1,
    predecessor: { generation: 0, secret: 0 },
    lastSequence: 0,
    left: { changes: 0, bytes: 0 },
    ...limits,
  });
}

/** Resolves as the work does. What it waits for is created; what is prepared need not be. */
async function creating<Result>(files: CountedFiles, work: Promise<Result>): Promise<Result> {
  const progress = { isOver: false };
  const over = (): boolean => (progress.isOver = true);
  void work.then(over, over);
  for (let turn = 0; !progress.isOver; turn += 1) {
    assert.ok(turn < 1_000, 'a write ends');
    if (turn > 0) await files.creations.end();
    else await setImmediate();
  }
  return work;
}

const key = Buffer.from('key');

/** A change whose frame has `blocks` blocks. */
function changeOf(blocks: number) {
  const value = Buffer.alloc((blocks - 1) * blockBytes + 1);
  return { key, value, version: 1 };
}

async function write(journal: Journal, files: CountedFiles, blocks: number): Promise<void> {
  const content = { kind: 'changes', lastVersion: 1, changes: [changeOf(blocks)] } as const;
  await creating(
    files,
    journal.append(content, () => undefined),
  );
}

async function opened(limits: Limits = usualLimits) {
  const files = new CountedFiles(limits.fileBytes);
  const told: string[] = [];
  const journal = journalOver(files, limits, told);
  await creating(files, journal.open());
  return { files, journal, told };
}

/** Fills the first file beyond its middle, so that the second is prepared, of 1 MiB. */
async function prepareSecond(journal: Journal, files: CountedFiles): Promise<void> {
  for (const count of [40, 1]) await write(journal, files, count);
  await files.creations.end();
}

/** Blocks of a frame: of a few, of most of a file, and of more than one. */
const blocks = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 4, arbitrary: fc.integer({ min: 50, max: 120 }) },
  { weight: 1, arbitrary: fc.integer({ min: 126, max: 160 }) },
);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ blocks, frames: fc.integer({ min: 1, max: 16 }) }) },
  { weight: 3, arbitrary: fc.constantFrom('begin a pass', 'end a pass', 'create', 'remove') },
);

/** Files that wait for their removal are used before others are made. */
const removalStandsStill = [
  { blocks: 63, frames: 10 },
  'begin a pass',
  { blocks: 50, frames: 1 },
  'end a pass',
  { blocks: 50, frames: 15 },
  { blocks: 16, frames: 16 },
];

/** A journal in use, and what the note lacks of it. */
class Life {
  readonly #journal: Journal;
  readonly #files: CountedFiles;
  /** The sizes of the frames that the note lacks. */
  #frames: number[] = [];
  #mark: JournalMark;
  /** How many of these frames are before the mark. */
  #marked = 0;

  constructor(journal: Journal, files: CountedFiles) {
    this.#journal = journal;
    this.#files = files;
    this.#mark = journal.reached();
  }

  /** False when there is no room: a commit would wait. */
  async write(count: number): Promise<boolean> {
    const changesBytes = changeBytes(changeOf(count));
    if (!this.#journal.hasRoomFor(changesBytes)) return false;
    await write(this.#journal, this.#files, count);
    this.#frames.push(frameBytes(changesBytes));
    this.#assertBounds();
    return true;
  }

  beginPass(): void {
    this.#mark = this.#journal.reached();
    this.#marked = this.#frames.length;
  }

  endPass(): void {
    this.#journal.release(this.#mark);
    this.#frames = this.#frames.slice(this.#marked);
    this.#marked = 0;
  }

  pass(): void {
    this.beginPass();
    this.endPass();
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 3 * filesMax; turn += 1) {
      await Promise.all([this.#files.creations.end(), this.#files.removals.end()]);
    }
  }

  #assertBounds(): void {
    const { usual } = this.#files;
    assert.ok(usual <= filesMax, `${usual} files`);
    const bytes = this.#frames.reduce((sum, frame) => sum + frame, 0);
    assert.ok(bytes <= filesMax * fileBytes, `${bytes} bytes`);
  }
}

describe('the files of a journal', () => {
  it('stay within their bounds, whatever is written, and a whole pass makes room', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 24, size: 'max' }), async (steps) => {
        const { files, journal } = await opened();
        const life = new Life(journal, files);
        for (const each of steps) {
          if (each === 'begin a pass') life.beginPass();
          else if (each === 'end a pass') life.endPass();
          else if (each === 'create') await files.creations.end();
          else if (each === 'remove') await files.removals.end();
          else for (let left = each.frames; left > 0; left -= 1) await life.write(each.blocks);
        }
        for (const count of [1, 100, 160, 1]) {
          life.pass();
          assert.ok(await life.write(count), `room for ${count} blocks`);
        }
        // What was written last is in the file in use, so all others are free.
        life.pass();
        await life.settle();
        const { size } = files.there;
        assert.ok(size <= 1 + freeFilesMax, `${size - 1} files are kept`);
      }),
      { numRuns: byLength({ short: 12, long: 500 }), examples: [[removalStandsStill]] },
    );
  });

  it('are kept to be used again up to their bound, one that is being prepared included', async () => {
    const { files, journal } = await opened();
    const life = new Life(journal, files);
    // None of them fits into the first file, which is smaller.
    for (let used = 0; used < freeFilesMax + 2; used += 1) assert.ok(await life.write(120));
    // Behind the middle of the file, so the next one is prepared.
    assert.ok(await life.write(1));
    const before = files.there.size;
    life.pass();
    await life.settle();
    assert.deepEqual([before, files.there.size], [freeFilesMax + 4, 1 + freeFilesMax]);
  });

  it('stay within their bound when one that was prepared is too small for what comes', async () => {
    const { files, journal } = await opened({ ...usualLimits, fileBytes: 2 << 20, filesMax: 4 });
    await prepareSecond(journal, files);
    while (journal.hasRoomFor(changeBytes(changeOf(400)))) await write(journal, files, 400);
    // Of 256 KiB, and of 1 MiB.
    assert.deepEqual([...files.there.values()], [1 << 18, 1 << 20, 2 << 20, 2 << 20]);
    assert.ok(journal.hasRoomFor(changeBytes(changeOf(100))));
  });

  it('are one more at least when there is none that a pass could free', async () => {
    const { files, journal } = await opened({ ...usualLimits, fileBytes: 2 << 20, filesMax: 2 });
    await prepareSecond(journal, files);
    assert.ok(journal.hasRoomFor(changeBytes(changeOf(400))));
  });

  it('do not pile up when a large frame is tried again while the disk takes no link', async () => {
    const { files, journal } = await opened();
    for (let attempt = 0; attempt < 5; attempt += 1) {
      files.failures = 1;
      await assert.rejects(write(journal, files, 160), StoreWriteError);
    }
    await write(journal, files, 160);
    assert.equal(files.there.size, 2);
  });

  it('are all closed, and each that cannot be is told', async () => {
    const { files, journal, told } = await opened();
    for (const count of [60, 120, 120]) await write(journal, files, count);
    await files.creations.end();
    assert.equal(files.there.size, 3);
    files.unclosable.add(1).add(3);
    await journal.close();
    assert.deepEqual(files.closed, [2]);
    assert.deepEqual(
      told,
      [1, 3].map(
        (number) => `The journal file ${number} could not be closed: EIO: i/o error, close`,
      ),
    );
  });

  it('are closed while the disk does not give the next one, which is closed when it comes', async () => {
    const { files, journal } = await opened();
    for (const count of [40, 1]) await write(journal, files, count);
    const closed = journal.close();
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    assert.deepEqual(files.closed, [1]);
    await files.creations.end();
    await closed;
    assert.deepEqual(files.closed, [1, 2]);
  });
});
