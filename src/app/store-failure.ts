import {
  ContentClosedError,
  ContentSessionLostError,
  ContentUnreachableError,
  ContentWriteError,
} from '../content/errors.js';
import {
  CommitUnknownError,
  GuardError,
  StoreBusyError,
  StoreClosedError,
  StoreFailedError,
  StoreFullError,
  StoreUnavailableError,
  StoreWriteError,
  TransactionConflictError,
} from '../kv/errors.js';
import { lowSpaceError } from '../http/low-space/low-space-guard.js';
import { StorageError } from '../model/errors/storage-error.js';
import { MovedError } from './moves/moved-error.js';

/** Does not say where the data are: the log does, and clients need not know databases. */
const movedText =
  'The data of this server are in another location by now. Connect to the servers that have them.';

/** When a full commit queue has probably moved on. */
const retryAfterSeconds = 1;

/**
 * The answer to a failure of the store or of the content beside it; undefined: a defect. A store
 * that is busy, away, or could not write has done nothing; neither has a transaction that met a
 * conflict at each attempt. Content is closed when the server ends, or has begun another session
 * because the others took it for dead; until it begins that one, its session is lost. After an
 * unknown outcome, a retry may find its own first write, as after any lost answer. A store that
 * has failed, or is closed, does nothing any more. The answer has no cause where nothing failed.
 */
export function storeFailure(error: unknown): StorageError | undefined {
  if (
    error instanceof StoreBusyError ||
    error instanceof StoreUnavailableError ||
    error instanceof GuardError ||
    error instanceof TransactionConflictError ||
    error instanceof ContentClosedError ||
    error instanceof ContentSessionLostError
  ) {
    return new StorageError('ServerBusy', { retryAfterSeconds, cause: error });
  }
  if (error instanceof MovedError) {
    return new StorageError('ServerBusy', { message: movedText, retryAfterSeconds, cause: error });
  }
  if (error instanceof CommitUnknownError) {
    return new StorageError('OperationTimedOut', { cause: error });
  }
  if (error instanceof StoreFullError) return lowSpaceError();
  if (
    error instanceof StoreFailedError ||
    error instanceof StoreClosedError ||
    error instanceof StoreWriteError ||
    error instanceof ContentWriteError ||
    error instanceof ContentUnreachableError
  ) {
    return new StorageError('InternalError', { cause: error });
  }
  return undefined;
}
