import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { StorageError } from '../errors/storage-error.js';
import type { SharedKeyCredential, SharedKeyScheme } from './credential.js';
import { isDateWithinSkew } from './request-date.js';
import { canonicalizedResource, stringToSign, type SignedRequest } from './string-to-sign.js';

export { parseAuthorization } from './credential.js';
export { canonicalizedResource, stringToSign, type SignedRequest } from './string-to-sign.js';

/** Whose keys may have signed. */
export interface KeyHolder {
  readonly name: string;
  /** HMAC secrets; any of them is valid. */
  readonly keys: readonly KeyObject[];
}

/** A request as the front door sees it: the signed parts and both dates. */
export interface DatedRequest extends SignedRequest {
  readonly xMsDate: string | undefined;
  readonly date: string | undefined;
}

export interface SharedKeyPolicy {
  /** Microseconds since 1970 to compare dates with; undefined when they are not checked. */
  readonly skewCheckedAtMicros: number | undefined;
}

/** Base64 of HMAC-SHA256. */
export function signature(key: KeyObject, text: string): string {
  return createHmac('sha256', key).update(text, 'utf8').digest('base64');
}

/** Whether one of the keys signed `text`. Takes the same time however much of it is right. */
export function signatureMatches(
  keys: readonly KeyObject[],
  text: string,
  presented: string,
): boolean {
  let matches = false;
  for (const key of keys) matches = equalText(signature(key, text), presented) || matches;
  return matches;
}

/** Compares the text, not the decoded bytes: two base64 texts can decode alike. */
function equalText(expected: string, presented: string): boolean {
  if (presented.length !== signatureBytes || expected.length !== signatureBytes) return false;
  expectedBytes.write(expected, 'latin1');
  // A character that is not ASCII leaves bytes that no base64 has, so it cannot match.
  if (presentedBytes.write(presented, 'utf8') !== signatureBytes) return false;
  return timingSafeEqual(expectedBytes, presentedBytes);
}

/** Base64 of 32 bytes. */
const signatureBytes = 44;
const expectedBytes = Buffer.alloc(signatureBytes);
const presentedBytes = Buffer.alloc(signatureBytes);

/**
 * Checks that `account`, which the request addresses, signed it (spec table-service §8.1). The date
 * is `x-ms-date`, or else `Date`; when both are present, either may be the signed one. A path-style
 * secondary may be signed with or without its `-secondary`.
 *
 * @throws {StorageError} `AuthenticationFailed`, whatever is wrong
 */
export function verifySharedKey(
  credential: SharedKeyCredential,
  account: KeyHolder,
  request: DatedRequest,
  policy: SharedKeyPolicy,
): void {
  if (credential.account !== account.name) throw new StorageError('AuthenticationFailed');
  const { xMsDate, date } = request;
  if (xMsDate !== undefined && accepts(credential, account, request, xMsDate, policy)) return;
  if (date !== undefined && date !== xMsDate) {
    if (accepts(credential, account, request, date, policy)) return;
  }
  throw new StorageError('AuthenticationFailed');
}

function accepts(
  credential: SharedKeyCredential,
  account: KeyHolder,
  request: DatedRequest,
  date: string,
  policy: SharedKeyPolicy,
): boolean {
  const now = policy.skewCheckedAtMicros;
  if (date === '' || (now !== undefined && !isDateWithinSkew(date, now))) return false;
  if (isSignedPath(credential, account, request, date, request.rawPath)) return true;
  const primary = primaryPath(account.name, request.rawPath);
  return primary !== undefined && isSignedPath(credential, account, request, date, primary);
}

function isSignedPath(
  { scheme, signature }: SharedKeyCredential,
  account: KeyHolder,
  request: SignedRequest,
  date: string,
  rawPath: string,
): boolean {
  const resource = canonicalizedResource(account.name, rawPath, request.comp);
  const text = stringToSign(scheme, request, date, resource);
  return signatureMatches(account.keys, text, signature);
}

/** `/account-secondary/…` as `/account/…`; undefined for every other path. */
function primaryPath(account: string, rawPath: string): string | undefined {
  const secondary = `/${account}-secondary`;
  if (!rawPath.startsWith(secondary)) return undefined;
  const rest = rawPath.slice(secondary.length);
  return rest === '' || rest.startsWith('/') ? `/${account}${rest}` : undefined;
}

/** The value of an `Authorization` header for a request of our own clients. */
export function signRequest(
  scheme: SharedKeyScheme,
  account: { readonly name: string; readonly key: KeyObject },
  request: SignedRequest & { readonly xMsDate: string },
): string {
  const resource = canonicalizedResource(account.name, request.rawPath, request.comp);
  const text = stringToSign(scheme, request, request.xMsDate, resource);
  return `${scheme} ${account.name}:${signature(account.key, text)}`;
}
