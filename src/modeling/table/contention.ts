import { requireCounts } from '../definition/count.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { retry } from '../../base/async/retry.js';
import { backOffs } from './back-offs.js';
import {
  ConditionFailedError,
  ContentionError,
  EntityExistsError,
  EntityNotFoundError,
  isAmbiguous,
  TransactionFailedError,
} from './errors.js';
import { ModelError } from '../rows/model-error.js';
import { reasonOf } from './failure-of-one.js';

/** Retries of a change that conflicts with other writers. */
export interface ContentionOptions {
  /** Attempts; 50 when absent. */
  readonly attemptsMax?: number;
  /** For the waits between attempts; the system's when absent. */
  readonly randomness?: Randomness;
  /** The system's when absent. */
  readonly timers?: Timers;
}

/**
 * Attempts of an update, and of a write of an entity with indexes, unless the caller says
 * otherwise. Sixteen concurrent writers of one entity succeed within fewer.
 */
export const updateAttemptsMax = 64;

const attemptsDefault = 50;

/**
 * Runs an attempt, and repeats it from its first read while `isOvertaken` says that another writer
 * changed the rows first. Other errors are thrown at once. Throws `ContentionError` after the last
 * attempt, which names the row whose condition did not hold.
 */
export async function retryConflicts<T>(
  what: string,
  options: ContentionOptions,
  attempt: () => Promise<T>,
  isOvertaken: (error: unknown) => boolean = isConflict,
): Promise<T> {
  const { attemptsMax = attemptsDefault } = options;
  requireCounts({ attemptsMax });
  const { randomness = systemRandomness, timers = holdingTimers } = options;
  try {
    const conflict = {
      attemptsMax,
      backOffMs: backOffs.contention,
      timers,
      randomness,
      isRetryable: isOvertaken,
    };
    return await retry(conflict, attempt);
  } catch (error) {
    if (!isOvertaken(error)) throw error;
    const conflict = error instanceof OvertakenError ? error.cause : error;
    const last = conflict instanceof Error ? `; at last: ${conflict.message}` : '';
    const text = `${what}: other writers were faster at all of ${attemptsMax} attempts${last}`;
    throw new ContentionError(text, { cause: error });
  }
}

/** A conflict at a row that was read, or written, by the library itself: it begins again. */
export class OvertakenError extends ModelError {
  override readonly name = 'OvertakenError';

  constructor(cause: unknown) {
    super('another writer was faster', { cause });
  }
}

export function isOvertaken(error: unknown): boolean {
  return error instanceof OvertakenError;
}

/** Whether a write failed because a row has appeared, changed or gone since it was read. */
export function isConflict(error: unknown): boolean {
  const reason = reasonOf(error);
  return (
    reason instanceof ConditionFailedError ||
    reason instanceof EntityExistsError ||
    reason instanceof EntityNotFoundError
  );
}

/** Whether a write met a conflict, or may have been applied without an answer. */
export function isConflictOrLost(error: unknown): boolean {
  return isConflict(error) || isAmbiguous(error);
}

/**
 * The error for a caller who gave the first `count` writes of a transaction: why one of them
 * failed. A conflict at another row, or at one that the service does not name, stays the failure of
 * the transaction, because it tells nothing about the caller's rows.
 */
export function failureOfFirst(count: number, error: unknown): unknown {
  if (!(error instanceof TransactionFailedError)) return error;
  const isOwn = error.index !== undefined && error.index < count;
  return isOwn || !isConflict(error) ? error.reason : error;
}

/**
 * Whether a transaction met a conflict after its first `count` writes. Those are the caller's, who
 * handles their conflicts; the others are rows of the library.
 */
export function isConflictBehind(count: number): (error: unknown) => boolean {
  return (error) =>
    error instanceof TransactionFailedError && (error.index ?? 0) >= count && isConflict(error);
}
