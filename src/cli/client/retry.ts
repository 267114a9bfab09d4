import type { BackOff } from '../../base/async/back-off.js';
import { poll } from '../../base/async/poll.js';
import { retry } from '../../base/async/retry.js';
import { holdingTimers } from '../../base/async/timers.js';
import { systemRandomness } from '../../base/randomness.js';
import { isTransient } from './service-error.js';

export interface RetryPolicy {
  readonly attemptsMax: number;
  readonly backOffMs: BackOff;
}

/** For commands with a waiting user. */
export const briefRetries: RetryPolicy = { attemptsMax: 4, backOffMs: { first: 100, last: 2000 } };

/** For imports: longer than a restart of the server; about a minute in total. */
export const patientRetries: RetryPolicy = {
  attemptsMax: 14,
  backOffMs: { first: 200, last: 8000 },
};

/** The delays between two questions to a server whose work the user waits for. */
const answerDelayMs: BackOff = { first: 20, last: 250 };

/** Asks a server again and again until its answer is final. Throws what `ask` throws. */
export function finalAnswer<Answer>(
  ask: () => Promise<Answer>,
  isFinal: (answer: Answer) => boolean,
  delayMs: BackOff = answerDelayMs,
): Promise<Answer> {
  return poll(ask, { delayMs, timers: holdingTimers, isFinal });
}

/** Retries transient failures. Throws what `retry` throws. */
export function retrying<Result>(
  policy: RetryPolicy,
  run: () => Promise<Result>,
  options: { readonly signal?: AbortSignal; readonly onRetry?: (error: unknown) => void } = {},
): Promise<Result> {
  const machine = { timers: holdingTimers, randomness: systemRandomness };
  return retry({ ...policy, ...machine, ...options, isRetryable: isTransient }, run);
}
