import { StorageError } from '../../model/errors/storage-error.js';

/**
 * A malformed batch. Nothing of it is executed. The answer does not say why (table-service §9.6);
 * `reason` is for the server's log.
 */
export class MalformedBatchError extends StorageError {
  readonly reason: string;

  constructor(reason: string) {
    super('InvalidInput', { message: 'An error occurred while processing this request.' });
    this.reason = reason;
  }
}
