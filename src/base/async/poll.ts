import type { BackOff } from './back-off.js';
import { sleep } from './sleep.js';
import type { Timers } from './timers.js';

export interface PollOptions<T> {
  /** The delays between two questions: the first one doubles until it is the last one. */
  readonly delayMs: BackOff;
  readonly timers: Timers;
  /** Whether no further question is needed. */
  readonly isFinal: (answer: T) => boolean;
}

/**
 * Asks until an answer is final, and resolves with that answer. Asks at once at first. Rejects with
 * the first error of `ask`.
 */
export async function poll<T>(ask: () => Promise<T>, options: PollOptions<T>): Promise<T> {
  const { timers, isFinal } = options;
  const { first, last } = options.delayMs;
  for (let delayMs = first; ; delayMs = Math.min(last, delayMs * 2)) {
    const answer = await ask();
    if (isFinal(answer)) return answer;
    await sleep(timers, delayMs);
  }
}
