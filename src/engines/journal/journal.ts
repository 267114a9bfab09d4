import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import { codeOf, messageOf } from '../../base/thrown.js';
import { StoreFailedError, StoreWriteError } from '../../kv/errors.js';
import { chanceBytes, encodeFileHead, secretOf, type FileHead } from './file-head.js';
import { encodeLink } from './file-link.js';
import { blockBytes, encodeFrame, frameBytes, type Frame } from './frame.js';
import type { FrameChange } from './frame-change.js';
import type { JournalFile, JournalFiles } from './journal-files.js';
import type { Applied } from './recovery.js';

/** Of the first file of an opening; each further one is so many times as large, up to the usual. */
const firstFileBytes = 256 * 1024;
const growth = 4;
/** Of a file that need hold no frame: as small as one can be. */
export const smallFileBytes = 4 * blockBytes;
/** Files that are kept to be used again. What a burst has needed besides goes away. */
const freeFilesMax = 8;

export type ShowChanges = (changes: readonly FrameChange[], sequence: number) => void;

/** What a frame is made of; the journal numbers it. */
export type FrameContent = Omit<Frame, 'sequence'>;

export interface JournalOptions {
  readonly files: JournalFiles;
  readonly randomness: Randomness;
  /** Greater than that of every opening before. Its folder has been made. */
  readonly generation: number;
  /** Of the frame that was written last, by any opening; 0 before the first. */
  readonly lastSequence: number;
  /** Files altogether, at most. */
  readonly filesMax: number;
  /**
   * Of a file that is used again; the first ones are smaller, so that a store which is told little
   * opens soon. A frame that is larger has a file of its own.
   */
  readonly fileBytes: number;
  /** Called once, when what is not needed any more cannot be removed: it takes space, no more. */
  readonly onUnremoved?: ((error: Error) => void) | undefined;
}

/**
 * Frames one behind the other, in files that are used again when all that they hold has been
 * applied. One frame is written at a time.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #head: Omit<FileHead, 'number'>;
  readonly #secret: number;
  #lastSequence: number;
  #active: JournalFile | undefined;
  /**
   * The file of the last frame, or the first one. The active one is behind it while no frame could
   * be written there: the links between name the next frame, so all these files have to stay.
   */
  #holder: JournalFile | undefined;
  #at = blockBytes;
  /** Those before the active one, in the order of their frames. */
  #used: JournalFile[] = [];
  #free: JournalFile[] = [];
  #preparing: Promise<unknown> | undefined;
  #filesMade = 0;
  #growingBytes = firstFileBytes;
  #isWriting = false;
  #mayHaveRetired = true;
  #hasToldUnremoved = false;

  constructor(options: JournalOptions) {
    const { generation, lastSequence, randomness } = options;
    const chance = randomness.bytes(chanceBytes);
    this.#options = options;
    this.#head = { generation, firstSequence: lastSequence + 1, chance };
    this.#secret = secretOf(this.#head);
    this.#lastSequence = lastSequence;
  }

  /** Makes the first file, by which the journal is known to be there. */
  async open(): Promise<void> {
    this.#active = await this.#createUsual(smallFileBytes);
    this.#holder = this.#active;
  }

  /** Of the last frame that is durable and was shown. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** What the base has to know when it has all that was shown by now. */
  get position(): Omit<Applied, 'isSettled'> {
    invariant(this.#holder !== undefined, 'the journal is open');
    const { generation } = this.#options;
    return { sequence: this.#lastSequence, generation, file: this.#holder.number };
  }

  /** Whether a frame with changes of so many bytes has a place by now. */
  hasRoomFor(changesBytes: number): boolean {
    const bytes = frameBytes(changesBytes);
    return this.#fits(bytes) || this.#used.length + 1 < this.#options.filesMax;
  }

  /** Why what was written last may not be found again. */
  detachment(): Error | undefined {
    if (this.#active === undefined || this.#active.isInPlace()) return undefined;
    return new Error(
      `The journal file ${this.#active.name} was moved, replaced or removed while it was in use.`,
    );
  }

  /**
   * Writes a frame. As soon as it is durable, `show` gets its changes, whose keys and values are in
   * memory of their own, with its number. Rejects with `StoreWriteError` when nothing of it remains,
   * and with `StoreFailedError` when that is not known.
   */
  async append(content: FrameContent, show: ShowChanges): Promise<void> {
    invariant(!this.#isWriting, 'one frame is written at a time');
    this.#isWriting = true;
    try {
      const sequence = this.#lastSequence + 1;
      const { bytes, changes } = encodeFrame({ ...content, sequence }, this.#secret);
      const file = await this.#fileFor(bytes.length);
      await this.#write(file, bytes);
      this.#at += bytes.length;
      this.#holder = file;
      // At once: what a pass takes out of the table has to be all that has been numbered.
      this.#lastSequence = sequence;
      show(changes, sequence);
    } finally {
      this.#isWriting = false;
    }
  }

  /**
   * The base knows that it has all up to this position, and so all that was recovered. The files
   * before the one that it names are used again, or removed. Folders of former openings that cannot
   * be removed are tried again the next time.
   */
  async release({ file: kept }: Pick<Applied, 'file'>): Promise<void> {
    const at = this.#used.findIndex(({ number }) => number === kept);
    for (const file of this.#used.splice(0, at < 0 ? this.#used.length : at)) {
      const isUsual = file.bytes === this.#options.fileBytes;
      if (isUsual && this.#free.length < freeFilesMax) this.#free.push(file);
      else await this.#canRemove(() => file.remove());
    }
    // The position comes after all frames that former openings have left.
    if (!this.#mayHaveRetired) return;
    this.#mayHaveRetired = !(await this.#canRemove(() => this.#options.files.removeRetired()));
  }

  /** What stays is passed over by recovery, so nothing has to wait until it is gone. */
  async #canRemove(remove: () => Promise<void>): Promise<boolean> {
    try {
      await remove();
      return true;
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      if (!this.#hasToldUnremoved) this.#options.onUnremoved?.(cause);
      this.#hasToldUnremoved = true;
      return false;
    }
  }

  async close(): Promise<void> {
    await this.#preparing;
    const files = [...this.#used, ...this.#free];
    if (this.#active !== undefined) files.push(this.#active);
    this.#active = undefined;
    this.#used = [];
    this.#free = [];
    for (const file of files) await file.close();
  }

  #fits(bytes: number): boolean {
    return this.#active !== undefined && this.#at + bytes <= lastFrameEnd(this.#active);
  }

  async #fileFor(bytes: number): Promise<JournalFile> {
    if (this.#active === undefined || !this.#fits(bytes)) {
      const file = await this.#nextFile(bytes);
      if (this.#active !== undefined) await this.#leave(this.#active, file);
      this.#active = file;
      this.#at = blockBytes;
    }
    if (2 * this.#at > this.#active.bytes) this.#prepareNext();
    return this.#active;
  }

  /** A file has its link before the next one has a frame. */
  async #leave(file: JournalFile, next: JournalFile): Promise<void> {
    const link = { file: next.number, sequence: this.#lastSequence + 1 };
    try {
      await file.write(encodeLink(link, this.#secret), this.#at);
    } catch (error) {
      this.#free.push(next);
      throw notWritten(error);
    }
    this.#used.push(file);
  }

  async #nextFile(frame: number): Promise<JournalFile> {
    const needed = frame + besideFramesBytes;
    if (needed > this.#options.fileBytes) return this.#create(needed);
    await this.#preparing;
    const at = this.#free.findIndex(({ bytes }) => bytes >= needed);
    const [file] = at < 0 ? [] : this.#free.splice(at, 1);
    // Leaves the disk some room for a start.
    return file ?? this.#createUsual(Math.max(needed, this.#firstBytes));
  }

  /** So that no commit waits for a file. One that cannot be made is told when it is needed. */
  #prepareNext(): void {
    if (this.#free.length > 0 || this.#preparing !== undefined) return;
    if (this.#used.length + 2 > this.#options.filesMax) return;
    this.#preparing = this.#createUsual(this.#firstBytes)
      .then((file) => this.#free.push(file))
      .catch(() => undefined)
      .finally(() => (this.#preparing = undefined));
  }

  get #firstBytes(): number {
    return Math.min(firstFileBytes, this.#options.fileBytes);
  }

  /**
   * Of the usual size, or on a disk that is too full of the size that is needed: what is stored can
   * be read then, and written as long as there is any space.
   */
  async #createUsual(neededBytes: number): Promise<JournalFile> {
    const { fileBytes } = this.#options;
    const usualBytes = Math.min(fileBytes, this.#growingBytes);
    try {
      const file = await this.#create(Math.max(neededBytes, usualBytes));
      this.#growingBytes = Math.min(fileBytes, growth * usualBytes);
      return file;
    } catch (error) {
      const isTooLarge = error instanceof StoreWriteError && isFull(error.cause);
      if (!isTooLarge || neededBytes >= usualBytes) throw error;
      return this.#create(neededBytes);
    }
  }

  async #create(bytes: number): Promise<JournalFile> {
    try {
      this.#filesMade += 1;
      const head = encodeFileHead({ ...this.#head, number: this.#filesMade });
      return await this.#options.files.create(this.#filesMade, head, bytes);
    } catch (error) {
      const text = `The commit could not be written: the journal got no file: ${messageOf(error)}`;
      throw new StoreWriteError(text, { cause: error });
    }
  }

  async #write(file: JournalFile, bytes: Bytes): Promise<void> {
    try {
      await file.write(bytes, this.#at);
    } catch (error) {
      await this.#annul(file, error);
      throw notWritten(error);
    }
  }

  /**
   * Sees to it that a frame which was not written rightly is none after a restart either. In a file
   * that was moved it may have been read by now, and counts then.
   */
  async #annul(file: JournalFile, cause: unknown): Promise<void> {
    if (!file.isInPlace()) return;
    try {
      await file.write(Buffer.alloc(blockBytes), this.#at);
    } catch (error) {
      throw new StoreFailedError(
        `The journal file ${file.name} takes no writes: ${messageOf(cause)}; ${messageOf(error)}`,
        { cause },
      );
    }
  }
}

/** Of a disk, or of what a user may have of it. */
function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');
}

/** The first and the last block of a file, and the room for its link. */
const besideFramesBytes = 3 * blockBytes;

function lastFrameEnd(file: JournalFile): number {
  return file.bytes - 2 * blockBytes;
}

function notWritten(cause: unknown): StoreWriteError {
  const text = `The commit could not be written to the journal: ${messageOf(cause)}`;
  return new StoreWriteError(text, { cause });
}
