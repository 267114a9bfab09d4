import type { Randomness } from '../randomness.js';
import { backOff, type BackOff } from './back-off.js';
import { sleep } from './sleep.js';
import type { Timers } from './timers.js';

export interface RetryOptions {
  /** Attempts altogether, at least 1. */
  readonly attemptsMax: number;
  /** Between two attempts. */
  readonly backOffMs: BackOff;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /** Aborted: no further attempt begins. */
  readonly signal?: AbortSignal | undefined;
  /** Whether another attempt may help. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Told of each failure that is followed by another attempt. */
  readonly onRetry?: ((error: unknown) => void) | undefined;
}

/**
 * Runs an attempt until one succeeds, with growing waits between them. `attempt` is given its
 * number, from 1. Throws the last error: one that no other attempt would mend, that of the last
 * attempt, or the one before the signal was aborted.
 */
export async function retry<T>(
  options: RetryOptions,
  attempt: (count: number) => Promise<T>,
): Promise<T> {
  const { attemptsMax, backOffMs, timers, randomness, signal } = options;
  const isAborted = (): boolean => signal?.aborted === true;
  for (let count = 1; ; count += 1) {
    try {
      return await attempt(count);
    } catch (error) {
      const isLast = count >= attemptsMax || isAborted();
      if (isLast || !options.isRetryable(error)) throw error;
      options.onRetry?.(error);
      await sleep(timers, backOff(backOffMs, count, randomness), signal);
      if (isAborted()) throw error;
    }
  }
}
