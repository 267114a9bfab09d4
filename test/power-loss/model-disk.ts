import type { JournalFile, JournalFiles } from '../../src/engines/journal/journal-files.js';
import type { SimRandom } from '../support/sim-random.js';
import type { Schedule } from './schedule.js';
import { tear, type DiskWrite } from './sectors.js';

interface DoubtfulWrite extends DiskWrite {
  hasFailed?: true;
}

interface DiskFile {
  readonly number: number;
  /** What is certainly on the disk. */
  content: Buffer;
  /**
   * Writes in progress and failed writes: each may be on the disk completely, partly or not at all.
   */
  doubtful: DoubtfulWrite[];
  /** A name that is being made or removed may or may not be on the disk. */
  nameIs: 'there' | 'being made' | 'being removed' | 'removed';
}

interface Folder {
  readonly generation: number;
  readonly files: DiskFile[];
  isRetired: boolean;
  /** True when a loss of power does not change its name. */
  isCertain: boolean;
  /** Processes do not see it, but a loss of power may restore it. */
  isRemoved: boolean;
}

/** Probabilities of faults while the process lives. */
export interface DiskFaults {
  readonly writeFails: number;
  readonly annulFails: number;
  readonly createFails: number;
  /** A transaction of the data file. */
  readonly baseRefuses: number;
}

export const noFaults: DiskFaults = {
  writeFails: 0,
  annulFails: 0,
  createFails: 0,
  baseRefuses: 0,
};

/** What the disk is not waited for, for tests of the simulation itself. */
export interface Drops {
  /** Writes of frames resolve when they have begun. */
  readonly sync: boolean;
  /** Files of earlier openings are read without being synced first. */
  readonly readSync: boolean;
  /** Transactions of the data file resolve before the root that names their pages is durable. */
  readonly baseSync: boolean;
  /** The root of a transaction is written before its pages are durable. */
  readonly baseOrder: boolean;
  /** Folders are removed before it is durable that earlier ones are gone. */
  readonly removalOrder: boolean;
}

export const noDrops: Drops = {
  sync: false,
  readSync: false,
  baseSync: false,
  baseOrder: false,
  removalOrder: false,
};

export interface Process {
  readonly schedule: Schedule;
  readonly random: SimRandom;
  readonly faults: DiskFaults;
  readonly drops: Drops;
}

/**
 * A disk with the files of a journal, which decides what remains after a loss of power. It outlives
 * the processes that use it.
 */
export class ModelDisk {
  #folders: Folder[] = [];

  /** The folders that a process sees. */
  get folders(): readonly Folder[] {
    return this.#folders.filter(({ isRemoved }) => !isRemoved);
  }

  /** Whether it has been asked for what it does not have yet. */
  get isWriting(): boolean {
    return this.folders.some(({ files }) => files.some(({ doubtful }) => doubtful.length > 0));
  }

  filesFor(process: Process): JournalFiles {
    return new ModelFiles(this, process);
  }

  add(folder: Folder): void {
    const { generation } = folder;
    // The name is made durable, and with it that the folder before is gone.
    this.#folders = this.#folders.filter(
      (each) => !each.isRemoved || each.generation !== generation,
    );
    if (this.#folders.some((each) => each.generation === generation)) {
      throw new Error(`EEXIST: generation ${generation}`);
    }
    this.#folders.push(folder);
  }

  /** Makes removals durable: a loss of power brings none of these folders back. */
  forgetRemoved(): void {
    this.#folders = this.folders.slice();
  }

  /** Decides everything that was uncertain. */
  losePower(random: SimRandom): void {
    this.#folders = this.#folders.filter(({ isCertain, isRetired, isRemoved }) => {
      return isRemoved ? random.chance(0.3) : isCertain || isRetired || random.chance(0.5);
    });
    for (const folder of this.#folders) {
      folder.isRemoved = false;
      if (folder.isRetired && !folder.isCertain) folder.isRetired = random.chance(0.5);
      folder.isCertain = true;
      const left = folder.files.filter((file) => isLeft(file, random));
      folder.files.splice(0, folder.files.length, ...left.map((file) => settled(file, random)));
    }
  }
}

function isLeft({ nameIs }: DiskFile, random: SimRandom): boolean {
  return nameIs === 'there' || (nameIs === 'removed' ? random.chance(0.3) : random.chance(0.5));
}

function settled(file: DiskFile, random: SimRandom): DiskFile {
  const { number, nameIs } = file;
  // A copy, because the files that a process had open must not be those that the next one sees.
  let content = Buffer.from(file.content);
  for (const write of file.doubtful) tear(content, write, random);
  if (nameIs === 'being made' && random.chance(0.5)) {
    content = content.subarray(0, random.int(content.length + 1));
  }
  return { number, content, doubtful: [], nameIs: 'there' };
}

class ModelFiles implements JournalFiles {
  readonly name = 'journal';
  readonly #disk: ModelDisk;
  readonly #process: Process;
  #folder: Folder | undefined;

  constructor(disk: ModelDisk, process: Process) {
    this.#disk = disk;
    this.#process = process;
  }

  async retire(): Promise<readonly number[]> {
    const { folders } = this.#disk;
    for (const folder of folders) {
      if (folder.isRetired) continue;
      await this.#process.schedule.step();
      folder.isRetired = true;
      folder.isCertain = false;
    }
    return folders.map(({ generation }) => generation);
  }

  async *retired(): AsyncGenerator<{ name: string; content: Buffer }, void, void> {
    for (const { generation, files, isRetired } of this.#disk.folders) {
      if (!isRetired) continue;
      for (const file of files) {
        if (file.nameIs === 'removed') continue;
        await this.#process.schedule.step();
        yield { name: `${generation}.old/${file.number}`, content: this.#read(file) };
      }
    }
  }

  /**
   * The system may return unsynced writes of an earlier process; only a sync makes them durable.
   */
  #read(file: DiskFile): Buffer {
    const content = Buffer.from(file.content);
    for (const write of file.doubtful) {
      if (write.hasFailed === true) tear(content, write, this.#process.random);
      else content.set(write.bytes, write.position);
    }
    if (!this.#process.drops.readSync) {
      file.content = Buffer.from(content);
      file.doubtful = [];
    }
    return content;
  }

  async removeRetired(): Promise<void> {
    await this.#removeBefore(this.#folder?.generation ?? 0);
  }

  async begin(generation: number): Promise<void> {
    const { schedule } = this.#process;
    await schedule.step();
    const folder: Folder = {
      generation,
      files: [],
      isRetired: false,
      isCertain: false,
      isRemoved: false,
    };
    this.#disk.add(folder);
    this.#folder = folder;
    await schedule.step();
    for (const each of this.#disk.folders) each.isCertain = true;
  }

  async create(number: number, head: Uint8Array, bytes: number): Promise<JournalFile> {
    const { schedule, random, faults } = this.#process;
    const folder = this.#folder;
    if (folder === undefined || folder.isRetired || !this.#disk.folders.includes(folder)) {
      throw new Error('ENOENT: no such folder');
    }
    const content = Buffer.alloc(bytes);
    const doubtful = [head, head].map((part, index) => ({
      position: index === 0 ? 0 : bytes - head.length,
      bytes: part,
    }));
    const file: DiskFile = { number, content, doubtful, nameIs: 'being made' };
    folder.files.push(file);
    await schedule.step();
    if (random.chance(faults.createFails)) {
      file.nameIs = 'removed';
      throw new Error('ENOSPC: no space left on device');
    }
    await schedule.step();
    for (const write of file.doubtful) content.set(write.bytes, write.position);
    file.doubtful = [];
    file.nameIs = 'there';
    return new OpenFile(file, folder, this.#process);
  }

  async removeBegun(): Promise<void> {
    const folder = this.#folder;
    if (folder === undefined || folder.isRetired) return;
    await this.#remove(folder);
  }

  async removeAll(): Promise<void> {
    await this.#removeBefore((this.#folder?.generation ?? 0) + 1);
    await this.#process.schedule.step();
    this.#disk.forgetRemoved();
  }

  async #removeBefore(end: number): Promise<void> {
    const { schedule, drops } = this.#process;
    const earlier = this.#disk.folders.filter(({ generation }) => generation < end);
    for (const folder of earlier.toSorted((left, right) => left.generation - right.generation)) {
      await this.#remove(folder);
      if (drops.removalOrder) continue;
      await schedule.step();
      this.#disk.forgetRemoved();
    }
  }

  async #remove(folder: Folder): Promise<void> {
    const { schedule, random } = this.#process;
    for (const file of folder.files) {
      if (random.chance(0.5)) await schedule.step();
      file.nameIs = 'being removed';
    }
    await schedule.step();
    folder.isRemoved = true;
  }
}

class OpenFile implements JournalFile {
  readonly #file: DiskFile;
  readonly #folder: Folder;
  readonly #process: Process;
  #hasFailed = false;

  constructor(file: DiskFile, folder: Folder, process: Process) {
    this.#file = file;
    this.#folder = folder;
    this.#process = process;
  }

  get name(): string {
    return `${this.#folder.generation}/${this.#file.number}`;
  }

  get number(): number {
    return this.#file.number;
  }

  get bytes(): number {
    return this.#file.content.length;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    const { schedule, random, faults, drops } = this.#process;
    const write: DoubtfulWrite = { position, bytes: Buffer.from(bytes) };
    const file = this.#file;
    file.doubtful.push(write);
    await schedule.step();
    const fails = random.chance(this.#hasFailed ? faults.annulFails : faults.writeFails);
    this.#hasFailed = fails;
    if (fails) {
      write.hasFailed = true;
      throw new Error('EIO: i/o error');
    }
    if (drops.sync) return;
    if (random.chance(0.5)) await schedule.step();
    file.content.set(write.bytes, position);
    file.doubtful = file.doubtful
      .filter((each) => each !== write)
      .flatMap((each) => rest(each, write));
  }

  detachment(): string | undefined {
    const isThere = !this.#folder.isRetired && this.#file.nameIs === 'there';
    return isThere ? undefined : 'was moved or removed';
  }

  async close(): Promise<void> {
    await this.#process.schedule.step();
  }

  async remove(): Promise<void> {
    await this.#process.schedule.step();
    this.#file.nameIs = 'removed';
  }
}

/** The parts of an uncertain write that a certain write does not cover. */
function rest(doubtful: DoubtfulWrite, certain: DiskWrite): readonly DoubtfulWrite[] {
  const end = doubtful.position + doubtful.bytes.length;
  const certainEnd = certain.position + certain.bytes.length;
  if (certainEnd <= doubtful.position || certain.position >= end) return [doubtful];
  const left: DoubtfulWrite[] = [];
  const failed = doubtful.hasFailed === true ? { hasFailed: true as const } : {};
  if (doubtful.position < certain.position) {
    const bytes = doubtful.bytes.subarray(0, certain.position - doubtful.position);
    left.push({ ...failed, position: doubtful.position, bytes });
  }
  if (end > certainEnd) {
    const bytes = doubtful.bytes.subarray(certainEnd - doubtful.position);
    left.push({ ...failed, position: certainEnd, bytes });
  }
  return left;
}
