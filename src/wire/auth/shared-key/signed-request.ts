import { secondarySuffix, type ServiceName } from '../../../model/services/services.js';

/** A request to the table service, whose form has no canonicalized headers. */
export interface TableSignedRequest {
  readonly form: 'table';
  /** As on the request line: a tunnelled MERGE is a `POST`. */
  readonly method: string;
  /** The path byte for byte as on the request line, before any decoding, without the query. */
  readonly rawPath: string;
  /** Value of the `comp` query option. */
  readonly comp: string | undefined;
  readonly contentMd5: string | undefined;
  readonly contentType: string | undefined;
  readonly xMsDate: string | undefined;
  readonly date?: string | undefined;
}

/** A request to blobs or queues, which sign the whole query string and all `x-ms-` headers. */
export interface BlobQueueSignedRequest {
  readonly form: 'blob-queue';
  readonly method: string;
  /** As for tables. */
  readonly rawPath: string;
  /** The query string as on the request line, before any decoding, without its `?`. */
  readonly rawQuery: string;
  /** `x-ms-version`, because some rules depend on it. */
  readonly version: string;
  /** Name, value, name, value, … of every header as sent. */
  readonly headers: readonly string[];
}

/** The signed parts of a request. Header values exactly as sent. */
export type SignedRequest = TableSignedRequest | BlobQueueSignedRequest;

/** The string-to-sign variant of a service. */
export type SigningForm = SignedRequest['form'];
export const signingForms: Readonly<Record<ServiceName, SigningForm>> = {
  table: 'table',
  queue: 'blob-queue',
  blob: 'blob-queue',
};

/** A candidate for the signed text, and the date in it. */
export interface StringToSign {
  readonly text: string;
  /** Empty when the request has none. */
  readonly date: string;
}

/**
 * The paths that a signature may cover: as sent, and, for a path-style secondary
 * (`/account-secondary/…`), also that of the primary (queue-service §4.1).
 */
export function signedPaths(account: string, rawPath: string): readonly [string, ...string[]] {
  const path = rawPath === '' ? '/' : rawPath;
  const secondary = `/${account}${secondarySuffix}`;
  if (!path.startsWith(secondary)) return [path];
  const rest = path.slice(secondary.length);
  return rest === '' || rest.startsWith('/') ? [path, `/${account}${rest}`] : [path];
}
