import type { BackOff } from '../../base/async/back-off.js';
import { poll } from '../../base/async/poll.js';
import { retry } from '../../base/async/retry.js';
import { holdingTimers } from '../../base/async/timers.js';
import { invariant } from '../../base/invariant.js';
import { systemRandomness } from '../../base/randomness.js';
import { AwayFailure } from '../terminal/failure.js';
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

interface FinalAnswerOptions {
  readonly delayMs?: BackOff;
  /** Told each new reason why the server has no answer now; then it is asked again. */
  readonly onAway?: (reason: string) => void;
}

/**
 * Asks a server again and again until its answer is final. Throws what `ask` throws, but without
 * end asks a server again that cannot tell, where `onAway` is given.
 */
export async function finalAnswer<Answer extends object | number>(
  ask: () => Promise<Answer>,
  isFinal: (answer: Answer) => boolean,
  { delayMs = answerDelayMs, onAway }: FinalAnswerOptions = {},
): Promise<Answer> {
  let told: string | undefined;
  const asked = async (): Promise<Answer | undefined> => {
    try {
      return await ask();
    } catch (error) {
      if (onAway === undefined || !(error instanceof AwayFailure)) throw error;
      if (error.message !== told) onAway(error.message);
      told = error.message;
      return undefined;
    }
  };
  const answer = await poll(asked, {
    delayMs,
    timers: holdingTimers,
    isFinal: (each) => each !== undefined && isFinal(each),
  });
  invariant(answer !== undefined, 'no answer is not final');
  return answer;
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
