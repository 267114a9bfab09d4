import { Worker } from 'node:worker_threads';
import { endOf } from '../../../base/async/thread-end.js';
import type { FillThreadData } from './fill-thread.js';

/**
 * Fills the cache while the store is in use, in a thread of its own: the main thread is busy, and
 * between two pieces the disk would wait for it.
 */
export class CacheFilling {
  /** Undefined when the system has no means for another thread. */
  readonly #thread: Worker | undefined;
  readonly #ended: Promise<void>;

  /** `onFailed`: the file cannot be read, or no thread can be started. */
  constructor(
    workerData: FillThreadData,
    onFailed: (error: unknown) => void,
    startThread: typeof startFillThread = startFillThread,
  ) {
    try {
      this.#thread = startThread(workerData);
    } catch (error) {
      this.#ended = Promise.resolve();
      onFailed(error);
      return;
    }
    this.#thread.unref();
    this.#thread.on('error', onFailed);
    this.#ended = endOf(this.#thread);
  }

  /** Stops the thread. */
  async close(): Promise<void> {
    this.#thread?.ref();
    await this.#thread?.terminate();
    await this.#ended;
  }
}

function startFillThread(workerData: FillThreadData): Worker {
  return new Worker(new URL('fill-thread.js', import.meta.url), { workerData });
}
