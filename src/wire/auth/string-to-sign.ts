import type { SharedKeyScheme } from './credential.js';

/** The parts of a request that a shared key signs. Header values exactly as sent. */
export interface SignedRequest {
  /** As on the request line: a tunnelled MERGE is a `POST`. */
  readonly method: string;
  /** The path byte for byte as on the request line, before any decoding, without the query. */
  readonly rawPath: string;
  /** Value of the `comp` query option. */
  readonly comp: string | undefined;
  readonly contentMd5: string | undefined;
  readonly contentType: string | undefined;
}

/**
 * `/` + account + path + `?comp=…`, no other option (spec table-service §8.1). In path style the
 * path begins with the account, so that it appears twice.
 */
export function canonicalizedResource(
  account: string,
  rawPath: string,
  comp: string | undefined,
): string {
  const path = rawPath === '' ? '/' : rawPath;
  return comp === undefined ? `/${account}${path}` : `/${account}${path}?comp=${comp}`;
}

/** The table form, which has no canonicalized headers, unlike those of blobs and queues. */
export function stringToSign(
  scheme: SharedKeyScheme,
  request: SignedRequest,
  date: string,
  resource: string,
): string {
  if (scheme === 'SharedKeyLite') return `${date}\n${resource}`;
  const { method, contentMd5 = '', contentType = '' } = request;
  return `${method}\n${contentMd5}\n${contentType}\n${date}\n${resource}`;
}
