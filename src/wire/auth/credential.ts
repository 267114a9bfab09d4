import { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceName } from '../../model/services/services.js';
import type { Sas } from './sas/fields.js';
import { readSas } from './sas/read-sas.js';
import type { SharedKeyCredential, SharedKeyScheme } from './shared-key/shared-key-credential.js';

/** An unparsed OAuth access token (table-service §8.5, queue-service §4.6). */
export interface BearerCredential {
  readonly kind: 'bearer';
  readonly token: string;
}

/**
 * The credential of a request. Every way to authenticate, for every service, is a member, is
 * recognised by `readCredential` and verified by a module of this folder.
 */
export type Credential = { readonly kind: 'none' } | SharedKeyCredential | BearerCredential | Sas;

const none: Credential = { kind: 'none' };

/**
 * The credential of a request; the header decides when there is a signature in the query as well.
 *
 * @param rawQuery the query string as sent, without its question mark
 * @throws {StorageError} `InvalidAuthenticationInfo` for a header that is none of the known forms;
 *   `AuthenticationFailed` for a shared access signature whose fields are not complete and well
 *   formed; `InvalidInput` for one that cannot be decoded
 */
export function readCredential(
  authorization: string | undefined,
  rawQuery: string,
  service: ServiceName,
): Credential {
  if (authorization !== undefined && authorization !== '') {
    const token = bearerToken.exec(authorization)?.[1];
    return token === undefined ? parseAuthorization(authorization) : { kind: 'bearer', token };
  }
  return rawQuery === '' ? none : (readSas(rawQuery, service) ?? none);
}

/** Whether a credential is a shared access signature, of whatever kind. */
export function isSas(credential: Credential): credential is Sas {
  const { kind } = credential;
  return kind !== 'none' && kind !== 'shared-key' && kind !== 'bearer';
}

/** The scheme in any case. */
const bearerToken = /^bearer +([^ ]+) *$/i;

/** `SharedKey account:signature` or `SharedKeyLite account:signature` (table-service §8.1). */
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
