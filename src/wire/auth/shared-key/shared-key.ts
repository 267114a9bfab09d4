import { parseHttpDate } from '../../http/http-date.js';
import type { KeyObject } from 'node:crypto';
import { invariant, unreachable } from '../../../base/invariant.js';
import type { StorageError } from '../../../model/errors/storage-error.js';
import {
  authenticationFailed,
  signatureMismatch,
} from '../../../model/errors/authentication-failed.js';
import type { SharedKeyCredential, SharedKeyScheme } from './shared-key-credential.js';
import { signature, signatureMatches } from './hmac-signature.js';
import type { SignedRequest, StringToSign } from './signed-request.js';
import { blobQueueStringsToSign } from './string-to-sign-blob-queue.js';
import { tableStringsToSign } from './string-to-sign-table.js';

/** The account whose keys may have signed. */
export interface KeyHolder {
  readonly name: string;
  /** HMAC secrets; any of them is valid. */
  readonly keys: readonly KeyObject[];
}

export interface SharedKeyPolicy {
  /** Microseconds since 1970 to compare dates with; undefined: dates are not compared. */
  readonly skewCheckedAtMicros: number | undefined;
  /**
   * True when a request needs no date; an absent one is signed as an empty text. Default: false.
   */
  readonly isDateOptional?: boolean;
}

/**
 * Checks that `account`, which the request addresses, signed it in the form of its service
 * (table-service §8.1, queue-service §4.1 and §4.2).
 *
 * @throws {StorageError} `AuthenticationFailed`, whatever is wrong with the signature or the date;
 *   `InvalidHeaderValue` when a header that is signed occurs twice
 */
export function verifySharedKey(
  credential: SharedKeyCredential,
  account: KeyHolder,
  request: SignedRequest,
  policy: SharedKeyPolicy,
): void {
  if (credential.account !== account.name) {
    throw authenticationFailed(
      `The credential is for '${credential.account}', the request is for '${account.name}'.`,
    );
  }
  let expected: string | undefined;
  for (const { date, text } of stringsToSign(credential.scheme, account.name, request)) {
    if (!isTimely(date, policy)) continue;
    if (signatureMatches(account.keys, text, credential.signature)) return;
    expected ??= text;
  }
  throw expected === undefined ? untimely() : signatureMismatch(credential.signature, expected);
}

function stringsToSign(
  scheme: SharedKeyScheme,
  account: string,
  request: SignedRequest,
): Generator<StringToSign> {
  switch (request.form) {
    case 'table':
      return tableStringsToSign(scheme, account, request);
    case 'blob-queue':
      return blobQueueStringsToSign(scheme, account, request);
    default:
      return unreachable(request);
  }
}

function isTimely(
  date: string,
  { skewCheckedAtMicros: now, isDateOptional = false }: SharedKeyPolicy,
): boolean {
  if (date === '') return isDateOptional;
  return now === undefined || isDateWithinSkew(date, now);
}

function untimely(): StorageError {
  return authenticationFailed(
    'The request has no x-ms-date or Date, or it is more than 15 minutes off this clock.',
  );
}

/**
 * The value of an `Authorization` header for a request of our own clients. The request must have a
 * date.
 */
export function signRequest(
  scheme: SharedKeyScheme,
  account: { readonly name: string; readonly key: KeyObject },
  request: SignedRequest,
): string {
  const [first] = stringsToSign(scheme, account.name, request);
  invariant(first !== undefined, 'a request that is signed has a date');
  return `${scheme} ${account.name}:${signature(account.key, first.text)}`;
}

/** How far a request's date may lie from the server's clock (table-service §8.1). */
export const clockSkewMsMax = 15 * 60 * 1000;

/** True when a date is well formed and within the allowed skew, in either direction. */
export function isDateWithinSkew(date: string, nowMicros: number): boolean {
  const time = parseHttpDate(date);
  return time !== undefined && Math.abs(nowMicros / 1000 - time) <= clockSkewMsMax;
}
