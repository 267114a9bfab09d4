import { constants, statSync, type Stats } from 'node:fs';
import { mkdir, open, readdir, rename, rm, rmdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from '../../base/bytes.js';
import { foreignKind } from '../../base/foreign-kind.js';
import { privateDirectoryMode, privateFileMode } from '../../base/private-files.js';
import { syncDirectory } from '../../base/sync-directory.js';
import { codeOf, messageOf } from '../../base/thrown.js';
import { StoreDamagedError } from '../../kv/errors.js';
import type { JournalFile, JournalFiles } from './journal-files.js';

/** The folder of a journal in a data directory. */
export const journalFolder = 'journal';

const generationForm = /^([1-9]\d{0,14})(?:\.old)?$/;
/** The greatest number accepted: its successors must still have names of this form. */
const generationMax = 1e12;
/** A generation has a few dozen files; what is read at a start has a bound. */
const folderFilesMax = 1_000;
/** Far more than the largest frame takes. */
const fileBytesMax = 2 ** 30;
const zerosBytes = 1 << 20;
/** Each earlier opening removes the folder once at most. */
const attemptsMax = 16;

export interface DiskFilesOptions {
  /** The data directory. */
  readonly directory: string;
  /** False: the operating system decides when written bytes reach the disk. */
  readonly sync: boolean;
}

/** The folder of a generation, retired or not. */
interface GenerationFolder {
  readonly number: number;
  readonly name: string;
}

/** A close that was given up removes folders of which the base has everything. */
async function renamedUnlessRemoved(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

/** The files of a journal in the folder `journal` of a data directory. */
export class DiskFiles implements JournalFiles {
  readonly #directory: string;
  readonly #folder: string;
  readonly #sync: boolean;
  #number = 0;
  #generation = '';

  constructor({ directory, sync }: DiskFilesOptions) {
    this.#directory = directory;
    this.#folder = join(directory, journalFolder);
    this.#sync = sync;
  }

  get name(): string {
    return this.#folder;
  }

  async retire(): Promise<readonly number[]> {
    const generations = await this.#generations();
    for (const { number, name } of generations) {
      if (name !== `${number}`) continue;
      await renamedUnlessRemoved(join(this.#folder, name), join(this.#folder, `${name}.old`));
    }
    return generations.map(({ number }) => number);
  }

  /** True when a journal has left files. */
  async isPresent(): Promise<boolean> {
    return (await this.#generations()).length > 0;
  }

  async *retired(): AsyncGenerator<{ name: string; content: Buffer }, void, void> {
    // From the last: a process that was replaced may still remove former ones, the first of them
    // first. So nothing is missed behind what was read.
    const generations = await this.#generations();
    for (const { name: generation } of generations.toSorted(
      (one, other) => other.number - one.number,
    )) {
      const folder = join(this.#folder, generation);
      const names = await namesIn(folder);
      if (names.length > folderFilesMax) {
        throw notOfJournal(folder, `has ${names.length} files: a journal has a few dozen there`);
      }
      for (const name of names) {
        const path = join(folder, name);
        await assertKind(path, 'file');
        const content = await this.#readDurable(path);
        if (content !== undefined) yield { name: path, content };
      }
    }
  }

  async removeRetired(signal?: AbortSignal): Promise<void> {
    await this.#removeBefore(this.#number, signal);
  }

  async begin(generation: number): Promise<void> {
    this.#number = generation;
    this.#generation = join(this.#folder, `${generation}`);
    await this.#makeGeneration();
    await Promise.all([syncDirectory(this.#folder), syncDirectory(this.#directory)]);
  }

  /** A close that was given up may still remove the empty folder of the journal in between. */
  async #makeGeneration(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await mkdir(this.#folder, { mode: privateDirectoryMode, recursive: true });
        return await mkdir(this.#generation, { mode: privateDirectoryMode });
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || attempt === attemptsMax) throw error;
      }
    }
  }

  async create(number: number, head: Bytes, bytes: number): Promise<JournalFile> {
    const path = join(this.#generation, `${number}`.padStart(6, '0'));
    const file = await open(path, 'wx', privateFileMode);
    try {
      await writeWithZeros(file, head, bytes);
      await syncDirectory(this.#generation);
      return await DiskFile.open(path, { number, bytes, sync: this.#sync });
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }

  removeBegun(): Promise<void> {
    return rm(this.#generation, { recursive: true, force: true });
  }

  async removeAll(signal?: AbortSignal): Promise<void> {
    await this.#removeBefore(this.#number + 1, signal);
    // The next opening may have begun in the folder.
    if (signal?.aborted === true) return;
    try {
      await rmdir(this.#folder);
    } catch (error) {
      // A folder was left in it, or a later generation is; or it was removed or moved.
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '')) throw error;
    }
    await syncDirectory(this.#directory);
  }

  /** Nothing when the file is gone: a process that was replaced may still remove former folders. */
  async #readDurable(path: string): Promise<Buffer | undefined> {
    const file = await open(path).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      if (size > fileBytesMax) {
        throw notOfJournal(path, `has ${size} bytes: no file of a journal is so large`);
      }
      if (this.#sync) await file.sync();
      return await file.readFile();
    } finally {
      await file.close();
    }
  }

  async #removeBefore(generation: number, signal: AbortSignal | undefined): Promise<void> {
    const found = await this.#found();
    for (const { number, name } of found.toSorted((left, right) => left.number - right.number)) {
      if (signal?.aborted === true) return;
      if (number >= generation) continue;
      const path = join(this.#folder, name);
      const hasFiles = (await namesIn(path)).length > 0;
      await rm(path, { recursive: true, force: true });
      // A later one says which frames of this one count, and that it belongs to the data. So a loss
      // of power must not bring this one back when the later one is gone.
      if (hasFiles) await syncDirectory(this.#folder);
    }
  }

  /**
   * The folders of all generations. Throws `StoreDamagedError` when one is no folder, when two have
   * the same number, or when a number is too great to be real.
   */
  async #generations(): Promise<readonly GenerationFolder[]> {
    await assertKind(this.#folder, 'directory');
    const found = await this.#found();
    const names = new Map<number, string>();
    for (const { number, name } of found) {
      await assertKind(join(this.#folder, name), 'directory');
      if (number > generationMax) {
        const path = join(this.#folder, name);
        throw notOfJournal(path, 'has a number that no server has reached by starting');
      }
      const other = names.get(number);
      if (other !== undefined) {
        throw new StoreDamagedError(
          `${this.#folder} has both ${other} and ${name}, which stand for the same opening. ` +
            'No data were changed. Move away the one that does not belong to these data, or ' +
            'restore a backup of the whole data directory.',
        );
      }
      names.set(number, name);
    }
    return found;
  }

  async #found(): Promise<readonly GenerationFolder[]> {
    const names = await namesIn(this.#folder);
    return names.flatMap((name) => {
      const number = generationForm.exec(name)?.[1];
      return number === undefined ? [] : [{ number: Number(number), name }];
    });
  }
}

/**
 * Refuses what is not of the expected kind: a link leads elsewhere, and opening a pipe would wait
 * for its writer for ever.
 */
async function assertKind(path: string, expected: 'file' | 'directory'): Promise<void> {
  const foreign = await foreignKind(path, expected);
  if (foreign === undefined) return;
  throw new StoreDamagedError(
    `${path} ${foreign}, as the journal has it. No data were changed. Put it back, or restore a ` +
      'backup of the whole data directory.',
  );
}

function notOfJournal(path: string, why: string): StoreDamagedError {
  return new StoreDamagedError(
    `${path} ${why}. No data were changed. Move away what does not belong to the journal, or ` +
      'restore a backup of the whole data directory.',
  );
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Writes a whole new file, and closes it. */
async function writeWithZeros(file: FileHandle, head: Bytes, bytes: number): Promise<void> {
  try {
    await writeAll(file, head, 0);
    const zeros = Buffer.alloc(Math.min(zerosBytes, bytes));
    for (let at = head.length; at < bytes; at += zeros.length) {
      await writeAll(file, zeros.subarray(0, Math.min(zeros.length, bytes - at)), at);
    }
    await writeAll(file, head, bytes - head.length);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Repeats writes until all bytes are written: one call may write less than it was given. */
async function writeAll(file: FileHandle, bytes: Bytes, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** Makes each write durable. Undefined on systems without it, where a sync follows each write. */
const syncFlag: number | undefined = constants.O_DSYNC;

interface DiskFileOptions {
  readonly number: number;
  readonly bytes: number;
  readonly sync: boolean;
}

class DiskFile implements JournalFile {
  readonly number: number;
  readonly name: string;
  readonly bytes: number;
  readonly #file: FileHandle;
  readonly #inode: number;
  readonly #device: number;
  readonly #syncs: boolean;

  private constructor(
    path: string,
    file: FileHandle,
    { ino, dev }: Stats,
    { number, bytes, sync }: DiskFileOptions,
  ) {
    this.name = path;
    this.number = number;
    this.bytes = bytes;
    this.#file = file;
    this.#syncs = sync && syncFlag === undefined;
    this.#inode = ino;
    this.#device = dev;
  }

  static async open(path: string, options: DiskFileOptions): Promise<DiskFile> {
    const flag = options.sync ? (syncFlag ?? 0) : 0;
    const file = await open(path, constants.O_RDWR | flag);
    try {
      return new DiskFile(path, file, await file.stat(), options);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async write(bytes: Bytes, position: number): Promise<void> {
    await writeAll(this.#file, bytes, position);
    if (this.#syncs) await this.#file.datasync();
  }

  detachment(): string | undefined {
    try {
      const found = statSync(this.name, { throwIfNoEntry: false });
      const isSame = found?.ino === this.#inode && found.dev === this.#device;
      if (!isSame) return 'was moved, replaced or removed while it was in use';
      return found.size < this.bytes ? 'was cut while it was in use' : undefined;
    } catch (error) {
      return `cannot be looked at (${codeOf(error) ?? messageOf(error)})`;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async remove(): Promise<void> {
    await this.#file.close();
    await rm(this.name, { force: true });
  }
}
