import type { Timer, Timers } from '../../base/async/timers.js';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import { codeOf, messageOf } from '../../base/thrown.js';
import { StoreFailedError, StoreWriteError, unknownOutcome } from '../../kv/errors.js';
import { chanceBytes, encodeFileHead, secretOf } from './file-head.js';
import type { FileHead, GenerationId } from './file-head.js';
import { encodeLink } from './file-link.js';
import { blockBytes, encodeFrame, frameBytes, type FoundFrame, type Frame } from './frame.js';
import type { FrameChange } from './frame-change.js';
import type { JournalFile, JournalFiles } from './journal-files.js';
import type { JournalLimits } from './journal-limits.js';
import type { Applied } from './base-note.js';

/** The size of the first file of a generation. */
const firstFileBytes = 256 * 1024;
/**
 * Each further file is this many times as large, up to the usual size: a store with few writes
 * opens quickly.
 */
const growth = 4;
/** The smallest size of a file. */
export const smallFileBytes = 4 * blockBytes;
/** The files that are kept for reuse. Others, which a burst has needed, are removed. */
const freeFilesMax = 8;
/** How long a close may remove folders of earlier generations. */
const removalMs = 3_000;

export type ShowChanges = (changes: readonly FrameChange[], sequence: number) => void;

/** A frame without its number, which the journal assigns. */
export type FrameContent = Omit<Frame, 'sequence'>;

type Position = Omit<Applied, 'isSettled'>;

/** How much is in frames. */
export interface FrameSum {
  readonly changes: number;
  /** On disk, padding included. */
  readonly bytes: number;
}

/** A position in the journal, with the sum of the frames up to it. */
export interface JournalMark {
  readonly position: Position;
  /** The sum of all frames up to this one, including those that recovery found. */
  readonly sum: FrameSum;
}

export function sumOf(frames: readonly FoundFrame[]): FrameSum {
  const sum = { changes: 0, bytes: 0 };
  for (const { changes, bytes } of frames) {
    sum.changes += changes.length;
    sum.bytes += bytes;
  }
  return sum;
}

export interface JournalOptions extends Pick<
  JournalLimits,
  'changesMax' | 'fileBytes' | 'filesMax'
> {
  readonly files: JournalFiles;
  readonly randomness: Randomness;
  /** Greater than all before. Its folder exists. */
  readonly generation: number;
  /** What the note names. */
  readonly predecessor: GenerationId;
  /** The number of the last frame of any generation; 0 before the first. */
  readonly lastSequence: number;
  /** The sum of the frames of earlier generations that the base may lack. */
  readonly left: FrameSum;
  /** Called once, when files that are not needed cannot be removed. They only take space. */
  readonly onUnremoved?: ((error: Error) => void) | undefined;
  /** Called for each file that cannot be closed. All that was acknowledged is durable in it. */
  readonly onUnclosed?: ((error: Error) => void) | undefined;
}

/**
 * A sequence of frames in files. A file is reused when all of its frames have been applied. One
 * frame is written at a time.
 */
export class Journal {
  readonly #options: JournalOptions;
  readonly #head: Omit<FileHead, 'number' | 'format'>;
  readonly #secret: number;
  #lastSequence: number;
  /** The sum of the frames that recovery found, and of all since. */
  #sum: FrameSum;
  /** The part of it that the note covers. */
  #noted: FrameSum = { changes: 0, bytes: 0 };
  #active: JournalFile | undefined;
  /**
   * The file of the last frame; before the first frame, the first file. The active file is a later
   * one as long as no frame was written to it. Links lead from here to it, so all files in between
   * have to stay.
   */
  #holder: JournalFile | undefined;
  #at = blockBytes;
  /** The files before the active one, in the order of their frames. */
  #used: JournalFile[] = [];
  readonly #free: JournalFile[] = [];
  /** The files that are not needed any more and not kept. They may be used until their turn. */
  readonly #released: JournalFile[] = [];
  #removing: Promise<unknown> | undefined;
  #removingRetired: Promise<unknown> | undefined;
  #preparing: Promise<unknown> | undefined;
  #filesMade = 0;
  #growingBytes = firstFileBytes;
  #isWriting = false;
  #mayHaveRetired = true;
  #hasToldUnremoved = false;
  readonly #removal = new AbortController();

  constructor(options: JournalOptions) {
    const { generation, predecessor, lastSequence, randomness } = options;
    const chance = randomness.bytes(chanceBytes);
    this.#options = options;
    this.#head = { generation, predecessor, firstSequence: lastSequence + 1, chance };
    this.#secret = secretOf(this.#head);
    this.#lastSequence = lastSequence;
    this.#sum = options.left;
  }

  /** Creates the first file. */
  async open(): Promise<void> {
    this.#active = await this.#createUsual(smallFileBytes);
    this.#holder = this.#active;
  }

  /** The number of the last frame that is durable and visible. */
  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** The content of the note for a base that has everything up to the last visible frame. */
  get position(): Position {
    invariant(this.#holder !== undefined, 'the journal is open');
    const { generation } = this.#options;
    const { number: file } = this.#holder;
    return { sequence: this.#lastSequence, generation, file, secret: this.#secret };
  }

  /** The last frame that is durable and visible, for `release`. */
  reached(): JournalMark {
    return { position: this.position, sum: this.#sum };
  }

  /** Half of what a start may have to read again is in frames that the note does not cover. */
  get isHalfFull(): boolean {
    const { changes, bytes } = this.#behindNote;
    return 2 * changes >= this.#options.changesMax || 2 * bytes >= this.#bytesMax;
  }

  /** Whether a frame with changes of this size could be written now. */
  hasRoomFor(changesBytes: number): boolean {
    const { changes, bytes: before } = this.#behindNote;
    const bytes = frameBytes(changesBytes);
    // A frame that is larger than all of the room has it alone.
    if (before > 0 && before + bytes > this.#bytesMax) return false;
    if (changes >= this.#options.changesMax) return false;
    return this.#fits(bytes) || this.#hasFileFor(bytes);
  }

  /** Whether a further file may be begun. Spare ones that are too small for the frame count. */
  #hasFileFor(frame: number): boolean {
    const { fileBytes, filesMax } = this.#options;
    const used = this.#used.length + 1;
    // A pass makes nothing free then, so nobody could wait for it.
    if (used === 1) return filesMax > 1;
    const needed = frame + besideFramesBytes;
    // A frame that is larger than a file has one beside those that are counted.
    if (needed > fileBytes) return used < filesMax;
    return used + this.#spare.filter(({ bytes }) => bytes < needed).length < filesMax;
  }

  /** The files without frames that are needed, in the order in which they are used. */
  get #spare(): readonly JournalFile[] {
    return [...this.#free, ...this.#released];
  }

  /** The sum of the frames that a start would have to read again. */
  get #behindNote(): FrameSum {
    const { changes, bytes } = this.#sum;
    return { changes: changes - this.#noted.changes, bytes: bytes - this.#noted.bytes };
  }

  get #bytesMax(): number {
    return this.#options.filesMax * this.#options.fileBytes;
  }

  /**
   * An error when the active file is not whole at its path any more, so a restart would not find
   * it, or when that cannot be told. Never throws.
   */
  detachment(): Error | undefined {
    return this.#active && this.#detachmentOf(this.#active);
  }

  #detachmentOf(file: JournalFile): Error | undefined {
    const what = file.detachment();
    if (what === undefined) return undefined;
    return new Error(
      `The journal file ${file.name} ${what}. Put it back as it was. If you cannot, stop the ` +
        'server in order, and do not kill it: what the journal had is in its memory, and it gives ' +
        'that to the data file.',
    );
  }

  /**
   * Writes a frame. As soon as it is durable, `show` is called with its changes, which have memory
   * of their own, and its number. Rejects with `StoreWriteError` when nothing of it remains; with
   * `CommitUnknownError` when it was left, because the file was not in place when its write had
   * failed; and with `StoreFailedError` when it could not be annulled.
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
      // In the same turn as `show`: a pass relies on the table having all frames up to this one.
      this.#lastSequence = sequence;
      this.#sum = {
        changes: this.#sum.changes + changes.length,
        bytes: this.#sum.bytes + bytes.length,
      };
      show(changes, sequence);
    } finally {
      this.#isWriting = false;
    }
  }

  /**
   * Called when the base has everything up to this position, and a note of it. Reuses the files
   * before the one that the position names, or begins to remove them, and earlier generations: the
   * position comes after all of their frames. There may be very many of these, so nothing waits for
   * a removal but the close. What cannot be removed now is tried again the next time.
   */
  release({ position, sum }: JournalMark): void {
    this.#noted = sum;
    // One that is being prepared will be free as well.
    const keptMax = this.#preparing === undefined ? freeFilesMax : freeFilesMax - 1;
    const at = this.#used.findIndex(({ number }) => number === position.file);
    for (const file of this.#used.splice(0, at < 0 ? this.#used.length : at)) {
      const isUsual = file.bytes === this.#options.fileBytes;
      if (isUsual && this.#free.length < keptMax) this.#free.push(file);
      else this.#released.push(file);
    }
    this.#removing ??= this.#removeReleased().finally(() => (this.#removing = undefined));
    // Apart, because that may take minutes, and files would pile up meanwhile.
    this.#removingRetired ??= this.#removeRetired().finally(
      () => (this.#removingRetired = undefined),
    );
  }

  async #removeReleased(): Promise<void> {
    for (;;) {
      const file = this.#released.shift();
      if (file === undefined) return;
      await this.#canRemove(() => file.remove());
    }
  }

  async #removeRetired(): Promise<void> {
    if (!this.#mayHaveRetired) return;
    const { signal } = this.#removal;
    this.#mayHaveRetired = !(await this.#canRemove(() =>
      this.#options.files.removeRetired(signal),
    ));
  }

  /**
   * After `removalMs` no further folder is removed: there may be very many, and a process has to
   * end in time. Those left hold nothing that the base lacks; the next opening removes them.
   */
  limitRemoval(timers: Timers): Timer {
    return timers.start(removalMs, () => this.endRemoval(), undefined);
  }

  /** No further folder is removed. */
  endRemoval(): void {
    this.#removal.abort();
  }

  /** After a close: removes the folders of this and all earlier generations, within the limit. */
  removeAll(): Promise<void> {
    return this.#options.files.removeAll(this.#removal.signal);
  }

  /**
   * Closes and removes all of it, when the base has everything. A failure is only reported. Past
   * the limit nothing is removed: another opening may have begun.
   */
  async giveUp(): Promise<void> {
    await this.close();
    if (!this.#removal.signal.aborted) await this.#canRemove(() => this.removeAll());
  }

  /** A failure is reported and has no other effect, because recovery ignores what is left. */
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

  /**
   * Closes every file, those at once with which nothing is under way: a disk that does not answer
   * may hold the others for ever. Never rejects: what cannot be closed is reported.
   */
  async close(): Promise<void> {
    const files = [...this.#used, ...this.#free.splice(0)];
    if (this.#active !== undefined) files.push(this.#active);
    this.#active = undefined;
    this.#used = [];
    await Promise.all([
      this.#closeEach(files),
      this.#closePrepared(),
      this.#closeReleased(),
      this.#removingRetired,
    ]);
  }

  async #closePrepared(): Promise<void> {
    await this.#preparing;
    await this.#closeEach(this.#free.splice(0));
  }

  async #closeReleased(): Promise<void> {
    await this.#removing;
    await this.#closeEach(this.#released.splice(0));
  }

  async #closeEach(files: readonly JournalFile[]): Promise<void> {
    const closing = files.map(async (file) => {
      try {
        await file.close();
      } catch (error) {
        const text = `The journal file ${file.name} could not be closed: ${messageOf(error)}`;
        this.#options.onUnclosed?.(new Error(text, { cause: error }));
      }
    });
    await Promise.all(closing);
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

  /** Writes the link to the next file, before that gets its first frame. */
  async #leave(file: JournalFile, next: JournalFile): Promise<void> {
    const link = { file: next.number, sequence: this.#lastSequence + 1 };
    try {
      await file.write(encodeLink(link, this.#secret), this.#at);
    } catch (error) {
      // Not removed: what was written of the link may name it.
      this.#free.push(next);
      throw notWritten(error);
    }
    this.#used.push(file);
  }

  async #nextFile(frame: number): Promise<JournalFile> {
    const needed = frame + besideFramesBytes;
    await this.#preparing;
    const file = taken(this.#free, needed) ?? taken(this.#released, needed);
    if (file !== undefined) return file;
    if (needed > this.#options.fileBytes) return this.#create(needed);
    // A small file leaves the disk some room, which the next start needs.
    return this.#createUsual(Math.max(needed, this.#firstBytes));
  }

  /**
   * Creates the next file ahead, so that no commit waits for it. A failure shows when it is needed.
   */
  #prepareNext(): void {
    if (this.#spare.length > 0 || this.#preparing !== undefined) return;
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
   * Creates a file of the usual size; on a disk that is too full, one of the needed size. So a
   * store on a full disk can still be opened and read, and be written while there is any space.
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
      const detachment = this.#detachmentOf(file);
      if (detachment !== undefined) throw unknownOutcome(detachment);
      await this.#annul(file, error);
      throw notWritten(error);
    }
  }

  /**
   * Overwrites the beginning of a frame whose write has failed, so that a restart does not find it.
   * Not for a file that was moved: another process may have read the frame already.
   */
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

/** Takes out the first file that is large enough. */
function taken(files: JournalFile[], needed: number): JournalFile | undefined {
  const at = files.findIndex(({ bytes }) => bytes >= needed);
  return at < 0 ? undefined : files.splice(at, 1)[0];
}

/** Whether the disk, or the quota of the user, is full. */
function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');
}

/** The two heads of a file and the block for its link. */
const besideFramesBytes = 3 * blockBytes;

function lastFrameEnd(file: JournalFile): number {
  return file.bytes - 2 * blockBytes;
}

function notWritten(cause: unknown): StoreWriteError {
  const text = `The commit could not be written to the journal: ${messageOf(cause)}`;
  return new StoreWriteError(text, { cause });
}
