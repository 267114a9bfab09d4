import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import { messageOf } from '../../base/thrown.js';
import { StoreFailedError, StoreWriteError } from '../../kv/errors.js';
import { chanceBytes, encodeFileHead, secretOf, type FileHead } from './file-head.js';
import { blockBytes, encodeFrame, frameBytes, type Frame } from './frame.js';
import type { Change } from './frame.js';
import type { JournalFile, JournalFiles } from './journal-files.js';

/** Files that are kept to be used again. What a burst has needed besides goes away. */
const freeFilesMax = 8;

export type ShowChanges = (changes: readonly Change[], sequence: number) => void;

/** What a frame is made of; the journal numbers it. */
export type FrameContent = Omit<Frame, 'sequence'>;

interface UsedFile {
  readonly file: JournalFile;
  /** Of the last frame in it. */
  readonly lastSequence: number;
}

export interface JournalOptions {
  readonly files: JournalFiles;
  readonly randomness: Randomness;
  /** Greater than that of every opening before. Its folder has been made. */
  readonly generation: number;
  /** Of the frame that was written last, by any opening; 0 before the first. */
  readonly lastSequence: number;
  /** Files altogether, at most. */
  readonly filesMax: number;
  /** Of each file, so that each can be used again. A frame that is larger has a file of its own. */
  readonly fileBytes: number;
}

/**
 * Frames one behind the other, in files that are used again when all that they hold has been
 * applied. One frame is written at a time.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #head: Bytes;
  readonly #secret: number;
  #lastSequence: number;
  #active: JournalFile | undefined;
  #at = blockBytes;
  #used: UsedFile[] = [];
  #free: JournalFile[] = [];
  #preparing: Promise<unknown> | undefined;
  #filesMade = 0;
  #isWriting = false;
  #mayHaveRetired = true;

  constructor(options: JournalOptions) {
    const { generation, lastSequence, randomness } = options;
    const chance = randomness.bytes(chanceBytes);
    const head: FileHead = { generation, firstSequence: lastSequence + 1, chance };
    this.#options = options;
    this.#head = encodeFileHead(head);
    this.#secret = secretOf(head);
    this.#lastSequence = lastSequence;
  }

  /** Makes the first file, by which the journal is known to be there. */
  async open(): Promise<void> {
    this.#active = await this.#create(this.#options.fileBytes);
  }

  /** Of the last frame that is durable and was shown. */
  get lastSequence(): number {
    return this.#lastSequence;
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
      // At once: what a pass takes out of the table has to be all that has been numbered.
      this.#lastSequence = sequence;
      show(changes, sequence);
    } finally {
      this.#isWriting = false;
    }
  }

  /**
   * The base has all frames up to this one, which is at least the last that was recovered. Their
   * files are used again, or removed.
   */
  async release(sequence: number): Promise<void> {
    const released = this.#used.filter(({ lastSequence }) => lastSequence <= sequence);
    this.#used = this.#used.filter(({ lastSequence }) => lastSequence > sequence);
    for (const { file } of released) {
      const isUsual = file.bytes === this.#options.fileBytes;
      if (isUsual && this.#free.length < freeFilesMax) this.#free.push(file);
      else await file.remove();
    }
    // A sequence that is released comes after all frames that former openings have left.
    if (this.#mayHaveRetired) await this.#options.files.removeRetired();
    this.#mayHaveRetired = false;
  }

  async close(): Promise<void> {
    await this.#preparing;
    const files = [...this.#used.map(({ file }) => file), ...this.#free];
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
      if (this.#active !== undefined) {
        this.#used.push({ file: this.#active, lastSequence: this.#lastSequence });
      }
      this.#active = file;
      this.#at = blockBytes;
    }
    if (this.#at === blockBytes) this.#prepareNext();
    return this.#active;
  }

  async #nextFile(frame: number): Promise<JournalFile> {
    const { fileBytes } = this.#options;
    if (frame > fileBytes - headsBytes) return this.#create(frame + headsBytes);
    await this.#preparing;
    return this.#free.pop() ?? this.#create(fileBytes);
  }

  /** So that no commit waits for a file. One that cannot be made is told when it is needed. */
  #prepareNext(): void {
    if (this.#free.length > 0 || this.#preparing !== undefined) return;
    if (this.#used.length + 2 > this.#options.filesMax) return;
    this.#preparing = this.#create(this.#options.fileBytes)
      .then((file) => this.#free.push(file))
      .catch(() => undefined)
      .finally(() => (this.#preparing = undefined));
  }

  async #create(bytes: number): Promise<JournalFile> {
    try {
      this.#filesMade += 1;
      return await this.#options.files.create(this.#filesMade, this.#head, bytes);
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
      const text = `The commit could not be written to the journal: ${messageOf(error)}`;
      throw new StoreWriteError(text, { cause: error });
    }
  }

  /** Sees to it that a frame which was not written rightly is none after a restart either. */
  async #annul(file: JournalFile, cause: unknown): Promise<void> {
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

/** The first and the last block of a file. */
const headsBytes = 2 * blockBytes;

function lastFrameEnd(file: JournalFile): number {
  return file.bytes - blockBytes;
}
