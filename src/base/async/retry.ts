import type { Randomness } from '../randomness.js';
import { backOff, type BackOff } from './back-off.js';
import { sleep } from './sleep.js';
import type { Timers } from './timers.js';

export interface RetryOptions {
  /** Total attempts, at least 1. */
  readonly attemptsMax: number;
  /** The delay between two attempts. */
  readonly backOffMs: BackOff;
  readonly timers: Timers;
  readonly randomness: Randomness;
  /** When aborted, no further attempt begins. */
  readonly signal?: AbortSignal | undefined;
  /** Whether another attempt may help. */
  readonly isRetryable: (error: unknown) => boolean;
  /** Called after each failure that is followed by another attempt. */
  readonly onRetry?: ((error: unknown) => void) | undefined;
}

/**
 * Runs attempts with growing delays until one succeeds. `attempt` gets its number, from 1. Throws
 * the last error: one that is not retryable, that of the last attempt, or the one before the signal
 * was aborted.
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
