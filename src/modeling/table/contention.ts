import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { retry } from '../../base/async/retry.js';
import {
  ConditionFailedError,
  ContentionError,
  EntityExistsError,
  EntityNotFoundError,
  TransactionFailedError,
} from './errors.js';

/** How a change goes on when other writers are faster. */
export interface ContentionOptions {
  /** How often it is tried. 50 when absent. */
  readonly attemptsMax?: number;
  /** The machine's chance when absent: for the waits between attempts. */
  readonly randomness?: Randomness;
  /** The machine's timers when absent. */
  readonly timers?: Timers;
}

const attemptsDefault = 50;
const backOffMs = { first: 4, last: 250 };

/**
 * Runs an attempt, and repeats it from its first read when `isOvertaken` says that another writer
 * was faster. Other errors of the attempt are thrown at once; `ContentionError` after the last
 * attempt.
 */
export async function retryConflicts<T>(
  what: string,
  options: ContentionOptions,
  attempt: () => Promise<T>,
  isOvertaken: (error: unknown) => boolean = isConflict,
): Promise<T> {
  const { attemptsMax = attemptsDefault } = options;
  const { randomness = systemRandomness, timers = holdingTimers } = options;
  try {
    const conflict = { attemptsMax, backOffMs, timers, randomness, isRetryable: isOvertaken };
    return await retry(conflict, attempt);
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    const text = `${what}: other writers were faster at all of ${attemptsMax} attempts`;
    throw new ContentionError(text, { cause: error });
  }
}

/** Whether a row was not as it had been read: there, gone or changed. */
export function isConflict(error: unknown): boolean {
  const reason = error instanceof TransactionFailedError ? error.reason : error;
  return (
    reason instanceof ConditionFailedError ||
    reason instanceof EntityExistsError ||
    reason instanceof EntityNotFoundError
  );
}

/**
 * Whether a transaction met a conflict in a row behind its first `count` writes: the first are the
 * caller's, whose conflicts are for the caller, the others are kept by the library.
 */
export function isConflictBehind(count: number): (error: unknown) => boolean {
  return (error) =>
    error instanceof TransactionFailedError && (error.index ?? 0) >= count && isConflict(error);
}
