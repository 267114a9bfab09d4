import { StorageError } from '../errors/storage-error.js';

/** The one error for a credential that proves nothing. `detail` tells its owner what to look at. */
export function authenticationFailed(detail: string): StorageError {
  return new StorageError('AuthenticationFailed', {
    details: [['AuthenticationErrorDetail', detail]],
  });
}
