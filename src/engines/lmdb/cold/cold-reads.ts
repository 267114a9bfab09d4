import { Worker } from 'node:worker_threads';
import type { Bytes } from '../../../base/bytes.js';
import type { Clock } from '../../../base/clock.js';
import type { KeyRange, RangeOptions } from '../../../kv/store.js';
import type { FetchReply, FetchThreadData } from './fetch-thread.js';
import { leavesAtOnceMax, type Wanted } from './page-seeker.js';

/** How long reads are looked after when nothing had to come from the disk any more. */
export const warmAfterMs = 1_000;
/** Between two looks at the faults of this process. */
const lookMs = 20;
/** Reads that the thread is told of at once: each of them waits for all. */
const batchMax = 64;

/** What the thread is to this one, so that tests can be it. */
export interface Fetcher {
  /** Calls back once for each batch, in order. */
  fetch(all: readonly Wanted[]): void;
  close(): void;
}

export interface FetcherEvents {
  readonly onReply: (reply: FetchReply) => void;
  /** There will be no more replies. */
  readonly onFailed: (error: unknown) => void;
}

export interface ColdReadsOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Pages that the process has waited for in mapped memory, since it began. */
  readonly faults: () => number;
  readonly startFetcher: (events: FetcherEvents) => Fetcher;
  /** Whether much of the data file is not in the cache of the system. */
  readonly isCold: boolean;
  /** Reads go on without help, for this time or for good. Called once. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Lets a thread of its own wait for the disk. The engine maps its file, so a read of a page that is
 * not in the cache of the system stops the thread that reads, and with it everybody. While that may
 * happen, each read asks here first: the pages are brought into the cache, and then it goes on.
 *
 * Begins when the process has waited for a page, and ends when nothing was missing for a while.
 */
export class ColdReads {
  readonly #options: ColdReadsOptions;
  #fetcher: Fetcher | undefined;
  #isOff = false;
  #hasTold = false;
  /** Until then reads ask. */
  #coldUntilMs: number;
  #nextLookMs = 0;
  #faults: number;
  #waiting: Waiting[] = [];
  /** What the thread is at. */
  #batch: readonly Waiting[] = [];

  constructor(options: ColdReadsOptions) {
    this.#options = options;
    this.#faults = options.faults();
    this.#coldUntilMs = options.isCold ? options.clock.monotonicMs() + warmAfterMs : 0;
  }

  /** Whether a read is to ask. Costs next to nothing. */
  get areCold(): boolean {
    if (this.#isOff) return false;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#coldUntilMs) return true;
    if (nowMs < this.#nextLookMs) return false;
    this.#nextLookMs = nowMs + lookMs;
    const faults = this.#options.faults();
    const hasWaited = faults > this.#faults;
    this.#faults = faults;
    if (hasWaited) this.#coldUntilMs = nowMs + warmAfterMs;
    return hasWaited;
  }

  /** Resolves when the pages are in the cache of the system, as far as they could be had. */
  keys(keys: readonly Bytes[]): Promise<void> {
    return this.#fetch(
      keys.map((key) => ({ start: key, end: behind(key), isReverse: false, leavesMax: 1 })),
    );
  }

  /** The same for what is about to be read of a range, or for its beginning. */
  range({ start, end }: KeyRange, { limit, reverse }: RangeOptions): Promise<void> {
    const leavesMax = Math.min(limit + 1, leavesAtOnceMax);
    return this.#fetch([{ start, end, isReverse: reverse === true, leavesMax }]);
  }

  /** Whoever waits goes on. */
  close(): void {
    this.#isOff = true;
    this.#fetcher?.close();
    this.#fetcher = undefined;
    for (const { resolve } of [...this.#batch, ...this.#waiting]) resolve();
    this.#batch = [];
    this.#waiting = [];
  }

  #fetch(wanted: readonly Wanted[]): Promise<void> {
    if (this.#isOff || wanted.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ wanted, resolve });
      if (this.#batch.length === 0) this.#next();
    });
  }

  #next(): void {
    this.#batch = this.#waiting.splice(0, batchMax);
    if (this.#batch.length === 0) return;
    this.#fetcher ??= this.#options.startFetcher({
      onReply: (reply) => this.#replied(reply),
      onFailed: (error) => this.#fail(error),
    });
    this.#fetcher.fetch(this.#batch.flatMap(({ wanted }) => wanted));
  }

  #replied({ wasCold, failure }: FetchReply): void {
    if (this.#isOff) return;
    if (failure !== undefined) this.#tell(new Error(failure));
    const { clock, faults } = this.#options;
    if (wasCold) this.#coldUntilMs = clock.monotonicMs() + warmAfterMs;
    this.#faults = faults();
    for (const { resolve } of this.#batch) resolve();
    this.#next();
  }

  #fail(error: unknown): void {
    if (this.#isOff) return;
    this.close();
    this.#tell(error);
  }

  #tell(error: unknown): void {
    if (!this.#hasTold) this.#options.onFailed(error);
    this.#hasTold = true;
  }
}

interface Waiting {
  readonly wanted: readonly Wanted[];
  readonly resolve: () => void;
}

/** The next key there can be. */
function behind(key: Bytes): Bytes {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

/** Starts the thread, which keeps the process alive only while somebody waits for it. */
export function startFetchThread(
  workerData: FetchThreadData,
  { onReply, onFailed }: FetcherEvents,
): Fetcher {
  const thread = new Worker(new URL('fetch-thread.js', import.meta.url), { workerData });
  thread.unref();
  thread.on('message', (reply: FetchReply) => {
    thread.unref();
    onReply(reply);
  });
  thread.on('error', onFailed);
  return {
    fetch: (all) => {
      thread.ref();
      thread.postMessage(all, []);
    },
    close: () => void thread.terminate(),
  };
}
