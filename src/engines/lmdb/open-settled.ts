import { constants } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { collectGarbage } from '../../base/collect-garbage.js';
import { systemRandomness } from '../../base/randomness.js';
import { retry } from '../../base/async/retry.js';
import { holdingTimers } from '../../base/async/timers.js';
import { DataDirectoryError } from './directory/data-directory-error.js';
import { openEnvironment, type Environment, type EnvironmentOptions } from './environment.js';

const backOffMs = { first: 5, last: 250 };
/** About five seconds; a process that closes the files takes microseconds. */
const attemptsMax = 30;
/** Finalisers of native objects run some turns after the collection. */
const finaliserTurns = 3;

/**
 * Opens the environment beside processes that open or close it at the same moment. LMDB destroys
 * its mutexes when the last process closes the environment. A process that opens it in that moment
 * waits for the closing one, and then finds the mutexes destroyed: its first transaction fails with
 * EINVAL. The mutexes are only made again when all processes that found them so have let go of the
 * files, which each does here before it tries again.
 */
export function openSettledEnvironment(
  directory: string,
  options: EnvironmentOptions,
): Promise<Environment> {
  const again = { attemptsMax, backOffMs, timers: holdingTimers, randomness: systemRandomness };
  return retry({ ...again, isRetryable: hasNoMutexes }, async (count) => {
    if (count > 1) await closeUnreachable();
    try {
      return openEnvironment(directory, options);
    } catch (error) {
      if (count < attemptsMax || !hasNoMutexes(error)) throw error;
      throw new DataDirectoryError(
        'in-use',
        `The locks of the data directory ${directory} cannot be used, and other processes keep ` +
          'them open. End these processes, then start again.',
        { cause: error },
      );
    }
  });
}

function hasNoMutexes(error: unknown): boolean {
  if (!(error instanceof DataDirectoryError) || !(error.cause instanceof Error)) return false;
  return 'code' in error.cause && error.cause.code === constants.errno.EINVAL;
}

/**
 * Closes environments whose opening failed: the package leaves that to the collection of garbage.
 */
async function closeUnreachable(): Promise<void> {
  for (let turn = 0; turn < finaliserTurns; turn += 1) {
    collectGarbage();
    await setImmediate();
  }
}
