import type { Timers } from './timers.js';

/** Resolves when the time has passed or the signal was aborted, whichever comes first. */
export function sleep(timers: Timers, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const wake = (): void => {
      timer.close();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const timer = timers.start(delayMs, wake, undefined);
    signal?.addEventListener('abort', wake, { once: true });
  });
}
