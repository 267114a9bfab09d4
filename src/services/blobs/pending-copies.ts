import { endsWithin } from '../../base/async/deadline.js';
import { Gate } from '../../base/async/gate.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import type { ForeignSource } from './foreign-blob.js';
import {
  CopyEndedError,
  endedDescription,
  failCopy,
  finishCopy,
  noteProgress,
  type PendingCopy,
  type RunUnderReadLock,
} from './foreign-copies.js';
import { copiesAtOnceMax, pendingCopiesMax } from './limits.js';

/** How often a copy under way stores its progress, in milliseconds. */
const progressMs = 5_000;
/** A waiting copy shows that it goes on once in this many intervals. */
const waitingTicks = 4;

/**
 * The copies of foreign blobs that this process has begun: some are under way, others wait. Each
 * ends in one of the statuses of the protocol. The sweep ends those of a process that has died
 * (`failCopyWhenDue`).
 */
export class PendingCopies {
  readonly #context: BlobContext;
  readonly #timers: Timers;
  readonly #underReadLock: RunUnderReadLock;
  readonly #gate = new Gate(copiesAtOnceMax);
  readonly #copies = new Map<string, { readonly stop: AbortController; ended: Promise<void> }>();
  #isClosed = false;

  constructor(
    context: BlobContext,
    { timers, underReadLock }: { timers: Timers; underReadLock: RunUnderReadLock },
  ) {
    this.#context = context;
    this.#timers = timers;
    this.#underReadLock = underReadLock;
  }

  /** Throws `ServerBusy` when too many copies are pending. */
  checkRoom(): void {
    if (this.#isClosed || this.#copies.size >= pendingCopiesMax) {
      throw new StorageError('ServerBusy');
    }
  }

  /** Carries out a pending copy, now or when others have ended. */
  begin(copy: PendingCopy, source: ForeignSource): void {
    const stop = new AbortController();
    const entry = { stop, ended: Promise.resolve() };
    this.#copies.set(copy.id, entry);
    entry.ended = this.#run(copy, source, stop).finally(() => this.#copies.delete(copy.id));
    if (this.#isClosed) stop.abort();
  }

  /** Called when a copy was aborted. */
  stop(id: string): void {
    this.#copies.get(id)?.stop.abort();
  }

  /**
   * Ends all copies: they have failed. Waits for that for at most `limitMs`, because a disk or
   * a store that does not answer may hold them up. Resolves with the number of those that have not
   * ended; the sweep ends them.
   */
  async close(limitMs: number): Promise<number> {
    this.#isClosed = true;
    const copies = [...this.#copies.values()];
    for (const { stop } of copies) stop.abort();
    const ended = Promise.all(copies.map((copy) => copy.ended));
    await endsWithin(ended, { limitMs, timers: this.#timers });
    return this.#copies.size;
  }

  async #run(copy: PendingCopy, source: ForeignSource, stop: AbortController): Promise<void> {
    const progress = new Progress(this.#timers, async (bytes) => {
      await this.#underReadLock(() => noteProgress(this.#context, copy, bytes));
    });
    progress.start(() => stop.abort());
    try {
      await this.#gate.run(() => this.#take(copy, source, stop, progress));
    } catch (error) {
      await this.#fail(copy, error);
    } finally {
      await progress.end();
    }
  }

  async #take(
    copy: PendingCopy,
    source: ForeignSource,
    { signal }: AbortController,
    progress: Progress,
  ): Promise<void> {
    if (signal.aborted) throw new CopyEndedError();
    const onBytes = (bytes: number): void => progress.add(bytes);
    await finishCopy(this.#context, copy, source, {
      signal,
      onBytes,
      underReadLock: (work) =>
        this.#underReadLock(() => {
          // The copy was aborted, and its bytes may have been freed.
          if (signal.aborted) throw new CopyEndedError();
          return work();
        }),
    });
  }

  async #fail(copy: PendingCopy, error: unknown): Promise<void> {
    const description = this.#isClosed ? endedDescription : descriptionOf(error);
    try {
      await this.#underReadLock(() => failCopy(this.#context, copy, description));
    } catch {
      // Either the copy was aborted, or the sweep will find it.
    }
  }
}

/** `<status> <code> "<text>"` (blob-service §17.1). */
function descriptionOf(error: unknown): string {
  const failure = error instanceof StorageError ? error : new StorageError('InternalError');
  const told = new Map(failure.details);
  const code = told.get('CopySourceErrorCode') ?? failure.code;
  const text = told.get('CopySourceErrorMessage') ?? failure.message;
  return `${failure.status} ${code} "${text.replaceAll('"', "'")}"`;
}

/** Stores the progress of a copy regularly. */
class Progress {
  readonly #timers: Timers;
  readonly #show: (bytes: number) => Promise<void>;
  #bytes = 0;
  #shown = 0;
  #ticks = 0;
  #timer: Timer | undefined;
  #showing = Promise.resolve();
  #hasEnded = false;

  constructor(timers: Timers, show: (bytes: number) => Promise<void>) {
    this.#timers = timers;
    this.#show = show;
  }

  /** `onGone`: the copy has ended without this process. */
  start(onGone: () => void): void {
    if (this.#hasEnded) return;
    this.#timer = this.#timers.start(progressMs, this.#tick, onGone);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Resolves when nothing is being shown any more. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.#timer?.close();
    await this.#showing;
  }

  readonly #tick = (onGone: () => void): void => {
    this.#ticks += 1;
    const isDue = this.#bytes !== this.#shown || this.#ticks % waitingTicks === 0;
    this.#showing = (isDue ? this.#showNow(onGone) : Promise.resolve()).then(() =>
      this.start(onGone),
    );
  };

  async #showNow(onGone: () => void): Promise<void> {
    const bytes = this.#bytes;
    try {
      await this.#show(bytes);
      this.#shown = bytes;
    } catch (error) {
      // Other failures of the store are temporary, or the sweep ends the copy.
      if (error instanceof CopyEndedError) onGone();
    }
  }
}
