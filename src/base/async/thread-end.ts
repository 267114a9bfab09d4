import type { Worker } from 'node:worker_threads';

/**
 * Resolves when a thread has ended, also one that has thrown. `events.once` would reject with the
 * thrown value, which a caller that only waits for the end would leave unhandled.
 */
export function endOf(thread: Worker): Promise<void> {
  return new Promise((resolve) => thread.once('exit', () => resolve()));
}
