import { CommitUnknownError, StoreBusyError } from '../kv/errors.js';
import { StorageError } from '../model/errors/storage-error.js';

/** When a full commit queue has probably moved on. */
const retryAfterSeconds = 1;

/**
 * The answer to a failure of the store; undefined: an internal error. A busy store has done
 * nothing. After an unknown outcome, a retry may find its own first write, as after any lost
 * answer.
 */
export function storeFailure(error: unknown): StorageError | undefined {
  if (error instanceof StoreBusyError) {
    return new StorageError('ServerBusy', { retryAfterSeconds, cause: error });
  }
  if (error instanceof CommitUnknownError) {
    return new StorageError('OperationTimedOut', { cause: error });
  }
  return undefined;
}
