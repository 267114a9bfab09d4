import { setTimeout as delay } from 'node:timers/promises';
import { systemRandomness } from '../base/randomness.js';
import { isTransient } from './service-error.js';

export interface RetryPolicy {
  readonly attemptsMax: number;
  readonly firstDelayMs: number;
  readonly delayMsMax: number;
}

/** For commands whose user waits for one answer. */
export const briefRetries: RetryPolicy = { attemptsMax: 4, firstDelayMs: 100, delayMsMax: 2000 };

/** For an import, which outlasts a restart of the server. About a minute altogether. */
export const patientRetries: RetryPolicy = {
  attemptsMax: 14,
  firstDelayMs: 200,
  delayMsMax: 8000,
};

/** A chance from 0 to just below a half. */
function jitter(): number {
  return (systemRandomness.bytes(1)[0] ?? 0) / 512;
}

/**
 * Repeats what fails for the moment only, with exponential and jittered delays. Throws the last
 * error, or the first that a repetition cannot mend. An aborted signal ends the waiting.
 */
export async function retrying<Result>(
  policy: RetryPolicy,
  run: () => Promise<Result>,
  options: { readonly signal?: AbortSignal; readonly onRetry?: (error: unknown) => void } = {},
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const isLast = attempt >= policy.attemptsMax || options.signal?.aborted === true;
      if (isLast || !isTransient(error)) throw error;
      options.onRetry?.(error);
      const ceiling = Math.min(policy.firstDelayMs * 2 ** (attempt - 1), policy.delayMsMax);
      const wait = ceiling * (0.5 + jitter());
      await delay(wait, undefined, options.signal && { signal: options.signal }).catch(() => {
        throw error;
      });
    }
  }
}
