import type { Worker } from 'node:worker_threads';

/**
 * Resolves when a thread has ended, also one that has thrown. `events.once` would reject with what
 * it has thrown, and whoever waits for the end alone would leave that unhandled.
 */
export function endOf(thread: Worker): Promise<void> {
  return new Promise((resolve) => thread.once('exit', () => resolve()));
}
