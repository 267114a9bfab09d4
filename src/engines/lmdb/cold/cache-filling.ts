import { Worker } from 'node:worker_threads';
import type { FillThreadData } from './fill-thread.js';

/**
 * Fills the cache while the store is in use, in a thread of its own: the main thread is busy, and
 * between two pieces the disk would wait for it.
 */
export class CacheFilling {
  readonly #thread: Worker;
  readonly #ended: Promise<void>;

  /** `onFailed`: the file cannot be read. */
  constructor(workerData: FillThreadData, onFailed: (error: unknown) => void) {
    this.#thread = new Worker(new URL('fill-thread.js', import.meta.url), { workerData });
    this.#thread.unref();
    this.#thread.on('error', onFailed);
    this.#ended = new Promise((resolve) => this.#thread.on('exit', () => resolve()));
  }

  /** Stops the thread. */
  async close(): Promise<void> {
    this.#thread.ref();
    await this.#thread.terminate();
    await this.#ended;
  }
}
