import { StorageError } from '../errors/storage-error.js';
import { authenticationFailed } from './authentication-failed.js';

/** The two HMAC schemes; Lite signs only date and resource. */
export type SharedKeyScheme = 'SharedKey' | 'SharedKeyLite';

export interface SharedKeyCredential {
  readonly kind: 'shared-key';
  readonly scheme: SharedKeyScheme;
  /** The account the client claims to be; not necessarily the one it addresses. */
  readonly account: string;
  /** Base64, as sent. */
  readonly signature: string;
}

/**
 * What a request offers to prove who sent it. Every way to authenticate, for every service, is a
 * member, is recognised by `readCredential` and verified by a module of this folder.
 */
export type Credential = { readonly kind: 'none' } | SharedKeyCredential;

const none: Credential = { kind: 'none' };

/**
 * The credential of a request; the header decides when there is a signature in the query as well.
 *
 * @param rawQuery the query string as sent, without its question mark
 * @throws {StorageError} `AuthenticationFailed` for the schemes that this server knows and does not
 *   accept (bearer tokens, shared access signatures); `InvalidAuthenticationInfo` for a header that
 *   is none of the known forms
 */
export function readCredential(authorization: string | undefined, rawQuery: string): Credential {
  if (authorization !== undefined && authorization !== '') {
    if (/^bearer(?: |$)/i.test(authorization)) throw notAccepted('Bearer tokens');
    return parseAuthorization(authorization);
  }
  if (hasSignatureOption(rawQuery)) throw notAccepted('Shared access signatures');
  return none;
}

function notAccepted(what: string): StorageError {
  return authenticationFailed(`${what} are not accepted here; sign with a key of the account.`);
}

/** `SharedKey account:signature` or `SharedKeyLite account:signature` (spec table-service §8.1). */
export function parseAuthorization(header: string): SharedKeyCredential {
  const space = header.indexOf(' ');
  const colon = header.indexOf(':', space + 1);
  const scheme = schemeOf(header.slice(0, Math.max(0, space)));
  const account = header.slice(space + 1, colon).trim();
  const signature = header.slice(colon + 1).trim();
  if (scheme === undefined || colon < 0 || account === '' || signature === '') {
    throw new StorageError('InvalidAuthenticationInfo');
  }
  return { kind: 'shared-key', scheme, account, signature };
}

function schemeOf(text: string): SharedKeyScheme | undefined {
  if (text === 'SharedKeyLite' || text === 'SharedKey') return text;
  switch (text.toLowerCase()) {
    case 'sharedkeylite':
      return 'SharedKeyLite';
    case 'sharedkey':
      return 'SharedKey';
    default:
      return undefined;
  }
}

function hasSignatureOption(rawQuery: string): boolean {
  return rawQuery.startsWith('sig=') || rawQuery.includes('&sig=');
}
