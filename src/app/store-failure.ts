import { CommitUnknownError, StoreBusyError } from '../kv/errors.js';
import { StorageError } from '../model/errors/storage-error.js';

/** A queue of commits that is full has moved on by then, if the disk takes any. */
const retryAfterSeconds = 1;

/**
 * What a client is told of a failure of the store; undefined: only that the server failed. A busy
 * store has done nothing. After an unknown outcome a client that tries again may meet what it has
 * written itself, as after any answer that is late.
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
