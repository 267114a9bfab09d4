import { StorageError } from '../../model/errors/storage-error.js';

/** The result of an attempt when something that it read has changed before its commit. */
export const overtaken = Symbol('overtaken');

/**
 * Repeats an attempt to read, plan and commit until its result is not `overtaken`, and returns that
 * result. Throws `ServerBusy` after `attemptsMax` attempts, and at once what an attempt throws.
 */
export async function untilCommitted<T>(
  attemptsMax: number,
  attempt: () => Promise<T | typeof overtaken>,
): Promise<T> {
  for (let count = 0; count < attemptsMax; count += 1) {
    const result = await attempt();
    if (result !== overtaken) return result;
  }
  throw new StorageError('ServerBusy');
}
