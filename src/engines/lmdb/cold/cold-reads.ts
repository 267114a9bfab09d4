import { Worker } from 'node:worker_threads';
import type { Bytes } from '../../../base/bytes.js';
import { within } from '../../../base/async/deadline.js';
import { deferred, type Deferred } from '../../../base/async/deferred.js';
import type { Timers } from '../../../base/async/timers.js';
import type { Clock } from '../../../base/clock.js';
import type { KeyRange, RangeOptions } from '../../../kv/store.js';
import type { FetchReply, FetchThreadData } from './fetch-thread.js';
import { leavesAtOnceMax, type NeededEntries } from './page-seeker.js';
import { RecentKeys } from './recent-keys.js';

/** How long reads are still checked after the last page that came from the disk. */
export const warmAfterMs = 1_000;
/** The time between two looks at the page faults of this process. */
const lookMs = 20;
/** Reads in one message to the thread. Each of them waits for all. */
const batchMax = 64;
/** Pages of one message: a slow disk takes ten seconds for them. A single read may have more. */
const batchLeavesMax = 1_024;

/** The interface of the thread that reads pages; tests replace it. */
export interface Fetcher {
  /** Reads the pages of a batch. Each batch gets one reply, in order. */
  fetch(all: readonly NeededEntries[]): void;
  close(): void;
}

export interface FetcherEvents {
  readonly onReply: (reply: FetchReply) => void;
  /** There will be no more replies. */
  readonly onFailed: (error: unknown) => void;
}

export interface ColdReadsOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  /** A batch that takes longer than this is stuck. */
  readonly stuckAfterMs: number;
  /** The disk does not answer. Called before the reads that wait continue, so it can fail them. */
  readonly onStuck: () => void;
  /** The number of pages of mapped memory that the process has waited for since it began. */
  readonly faults: () => number;
  readonly startFetcher: (events: FetcherEvents) => Fetcher;
  /** Whether much of the data file is not in the cache of the system. */
  readonly isCold: boolean;
  /** Pages could not be read ahead, once or for good. Reads continue without. Called once. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * Lets a separate thread wait for the disk. The engine maps its file, so reading a page that is not
 * in the cache of the system blocks the main thread, and all requests with it. While that may
 * happen, each read first waits here until the thread has brought its pages into the cache.
 *
 * This begins when the process has waited for a page, and ends when no page was missing for a
 * while.
 */
export class ColdReads {
  readonly #options: ColdReadsOptions;
  readonly #recent: RecentKeys;
  #fetcher: Fetcher | undefined;
  #isOff = false;
  #hasTold = false;
  /** The time until which reads must wait here first. */
  #coldUntilMs: number;
  #nextLookMs = 0;
  #faults: number;
  #waiting: Waiting[] = [];
  /** The reads that the thread works on. */
  #batch: readonly Waiting[] = [];
  /** Ends the time limit of that batch. */
  #answered: Deferred<void> | undefined;

  constructor(options: ColdReadsOptions) {
    this.#options = options;
    this.#recent = new RecentKeys(options.clock);
    this.#faults = options.faults();
    this.#coldUntilMs = options.isCold ? options.clock.monotonicMs() + warmAfterMs : 0;
  }

  /** Whether reads must wait here first. Costs next to nothing. */
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

  /**
   * Brings the pages of these keys into the cache of the system, as far as possible. Not again a
   * moment later: a merge reads the entry, and then its commit checks the version.
   */
  async keys(keys: readonly Bytes[]): Promise<void> {
    const others = this.#recent.othersOf(keys);
    await this.inOrder(others);
    this.#recent.add(others);
  }

  /** As `keys`, but behind all calls before, and always anew. */
  inOrder(keys: readonly Bytes[]): Promise<void> {
    return this.#fetch(
      keys.map((key) => ({ start: key, end: behind(key), isReverse: false, leavesMax: 1 })),
    );
  }

  /** As `keys`, for the entries of a range, or the first of them. */
  range({ start, end }: KeyRange, { limit, reverse }: RangeOptions): Promise<void> {
    const leavesMax = Math.min(limit + 1, leavesAtOnceMax);
    return this.#fetch([{ start, end, isReverse: reverse === true, leavesMax }]);
  }

  /** Ends the thread. Reads that wait continue. */
  close(): void {
    this.#isOff = true;
    this.#answered?.resolve();
    this.#fetcher?.close();
    this.#fetcher = undefined;
    for (const { resolve } of [...this.#batch, ...this.#waiting]) resolve();
    this.#batch = [];
    this.#waiting = [];
  }

  #fetch(wanted: readonly NeededEntries[]): Promise<void> {
    if (this.#isOff || wanted.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ wanted, resolve });
      if (this.#batch.length === 0) this.#next();
    });
  }

  #next(): void {
    this.#batch = this.#waiting.splice(0, batchLength(this.#waiting));
    if (this.#batch.length === 0) return;
    try {
      this.#fetcher ??= this.#options.startFetcher({
        onReply: (reply) => this.#replied(reply),
        onFailed: (error) => this.#fail(error),
      });
      this.#fetcher.fetch(this.#batch.flatMap(({ wanted }) => wanted));
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#limitBatch();
  }

  #limitBatch(): void {
    const { timers, stuckAfterMs: limitMs, onStuck } = this.#options;
    this.#answered = deferred();
    const late = () => new Error('the pages of a batch were not read in time');
    within(this.#answered.promise, { limitMs, timers, late }).catch(() => {
      onStuck();
      this.close();
    });
  }

  #replied({ wasCold, failure }: FetchReply): void {
    if (this.#isOff) return;
    this.#answered?.resolve();
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
  readonly wanted: readonly NeededEntries[];
  readonly resolve: () => void;
}

/** How many of the waiting reads go to the thread together: at least one, if there is any. */
function batchLength(waiting: readonly Waiting[]): number {
  let leaves = 0;
  for (const [index, { wanted }] of waiting.entries()) {
    for (const { leavesMax } of wanted) leaves += leavesMax;
    if (index >= batchMax || (index > 0 && leaves > batchLeavesMax)) return index;
  }
  return waiting.length;
}

/** The least key after this one. */
function behind(key: Bytes): Bytes {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

/** Starts the thread. It keeps the process alive only while a batch waits for it. */
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
  // Without an error when something in it has ended it.
  thread.on('exit', (code) => onFailed(new Error(`the thread has ended with code ${code}`)));
  return {
    fetch: (all) => {
      thread.ref();
      thread.postMessage(all, []);
    },
    close: () => void thread.terminate(),
  };
}
