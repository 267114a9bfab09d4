import { StorageError } from '../../model/errors/storage-error.js';

/**
 * A batch whose frame cannot be read, or breaks a rule about the frame. Nothing of it is executed.
 * The answer does not say why (table-service §9.6); `reason` is for the server's own log.
 */
export class MalformedBatchError extends StorageError {
  readonly reason: string;

  constructor(reason: string) {
    super('InvalidInput', { message: 'An error occurred while processing this request.' });
    this.reason = reason;
  }
}
