import { StorageError } from './storage-error.js';

/** The only error for an invalid credential. `detail` tells its owner what to check. */
export function authenticationFailed(detail: string): StorageError {
  return new StorageError('AuthenticationFailed', {
    details: [['AuthenticationErrorDetail', detail]],
  });
}

/** A string-to-sign can be as long as a request's header; the beginning shows the difference. */
const textShownMax = 4096;

/** The expected text is not secret: it is made from the request and contains no key. */
export function signatureMismatch(presented: string, expected: string): StorageError {
  const text = expected.slice(0, textShownMax);
  return authenticationFailed(
    `The signature '${presented}' is none over this string-to-sign: '${text}'.`,
  );
}
