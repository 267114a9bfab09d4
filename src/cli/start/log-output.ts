import type { Timer, Timers } from '../../base/async/timers.js';
import type { LogTarget } from './log-target.js';

/** Buffered bytes for a slow target. Further lines are dropped. */
export const waitingBytesMax = 1024 * 1024;
/** The retry delays of a full pipe, and of a failed target such as a full disk. */
const busyRetryMs = 50;
const failureRetryMs = 1_000;

const nothing = Buffer.alloc(0);

export interface LogOutputOptions {
  readonly target: LogTarget;
  readonly timers: Timers;
  /** Writes a line with the number of dropped lines. */
  readonly dropped: (lines: number) => void;
}

/**
 * Writes lines to a target that may be slow, full or gone, without blocking or failing: up to
 * `waitingBytesMax` bytes are buffered, and further lines are dropped and counted. Lines keep their
 * order and stay whole.
 */
export class LogOutput {
  readonly #target: LogTarget;
  readonly #timers: Timers;
  readonly #dropped: (lines: number) => void;
  readonly #lines: string[] = [];
  /** The bytes of the lines and of the chunk. */
  #waitingBytes = 0;
  /** The chunk in progress, possibly written in part. */
  #chunk: Buffer = nothing;
  #droppedLines = 0;
  #isWriting = false;
  #retry: Timer | undefined;
  #isReopening = false;
  readonly #flushed: (() => void)[] = [];

  constructor({ target, timers, dropped }: LogOutputOptions) {
    this.#target = target;
    this.#timers = timers;
    this.#dropped = dropped;
  }

  /** Takes a line with its end. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > waitingBytesMax) {
      this.#droppedLines += 1;
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += bytes;
    if (!this.#isWriting && this.#retry === undefined) this.#writeNext();
  }

  /** Resolves when the buffer is empty, or when the target has failed. Waits for a full pipe. */
  flush(): Promise<void> {
    const flushed = new Promise<void>((resolve) => this.#flushed.push(resolve));
    if (!this.#isWriting) this.#writeNext();
    return flushed;
  }

  /** Reopens the target between two lines. The target reports a failure. */
  reopen(): void {
    this.#isReopening = true;
    if (!this.#isWriting) this.#writeNext();
  }

  #writeNext(): void {
    this.#retry?.close();
    this.#retry = undefined;
    if (this.#isReopening) this.#reopenTarget();
    if (this.#chunk.length === 0) this.#chunk = this.#takeChunk();
    if (this.#chunk.length === 0) return this.#tellFlushed();
    this.#isWriting = true;
    this.#target.write(this.#chunk, (error, written) => {
      this.#isWriting = false;
      if (error === undefined) this.#wrote(written);
      else this.#failed(error.code);
    });
  }

  #wrote(bytes: number): void {
    this.#waitingBytes -= bytes;
    this.#chunk = this.#chunk.subarray(bytes);
    if (this.#droppedLines > 0) this.#tellDropped();
    if (!this.#isWriting) this.#writeNext();
  }

  #failed(code: string | undefined): void {
    const isBusy = code === 'EAGAIN' || code === 'EBUSY' || code === 'EINTR';
    const delayMs = isBusy ? busyRetryMs : failureRetryMs;
    this.#retry = this.#timers.start(delayMs, () => this.#writeNext(), undefined);
    if (!isBusy) this.#tellFlushed();
  }

  /** Appends the line about dropped lines, unless the buffer is still full. */
  #tellDropped(): void {
    const lines = this.#droppedLines;
    this.#droppedLines = 0;
    this.#isWriting = true;
    this.#dropped(lines);
    this.#isWriting = false;
    if (this.#droppedLines > 0) this.#droppedLines = lines;
  }

  /** The next chunk of whole lines; a line longer than a write goes alone. */
  #takeChunk(): Buffer {
    let count = 0;
    let bytes = 0;
    for (const line of this.#lines) {
      bytes += Buffer.byteLength(line);
      if (count > 0 && bytes > this.#target.writeBytesMax) break;
      count += 1;
    }
    return Buffer.from(this.#lines.splice(0, count).join(''));
  }

  /** Discards the rest of a partial line: it would have no beginning in the new file. */
  #reopenTarget(): void {
    this.#isReopening = false;
    // Set first, because the target may log a failure.
    this.#isWriting = true;
    const isOpened = this.#target.reopen();
    this.#isWriting = false;
    if (!isOpened || this.#chunk.length === 0) return;
    this.#waitingBytes -= this.#chunk.length;
    this.#chunk = nothing;
    this.#droppedLines += 1;
  }

  #tellFlushed(): void {
    for (const resolve of this.#flushed.splice(0)) resolve();
  }
}
