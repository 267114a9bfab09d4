import { StorageError } from './storage-error.js';

/** The one error for a credential that proves nothing. `detail` tells its owner what to look at. */
export function authenticationFailed(detail: string): StorageError {
  return new StorageError('AuthenticationFailed', {
    details: [['AuthenticationErrorDetail', detail]],
  });
}

/** A string-to-sign is as long as a request's header; its beginning shows where it differs. */
const textShownMax = 4096;

/** What was expected is no secret: it is made of the request and of no key. */
export function signatureMismatch(presented: string, expected: string): StorageError {
  const text = expected.slice(0, textShownMax);
  return authenticationFailed(
    `The signature '${presented}' is none over this string-to-sign: '${text}'.`,
  );
}
