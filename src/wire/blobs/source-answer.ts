import {
  contentTypeDefault,
  type BlobKind,
  type ContentHeaders,
} from '../../model/blobs/properties.js';
import { countHeader, sequenceNumberMax, type HeaderLookup } from './header-values.js';

/**
 * The properties of a blob in the answer of a source (blob-service §11.1), besides its metadata.
 */
export interface SourceProperties {
  /** A source that is no blob is copied as a block blob. */
  readonly kind: BlobKind;
  readonly headers: ContentHeaders;
  /** Set for page blobs. */
  readonly sequenceNumber: bigint | undefined;
  /** Set for append blobs. */
  readonly append: { readonly count: number; readonly isSealed: boolean } | undefined;
  /** Whether a blob service has answered, which knows its blocks and pages. */
  readonly isBlob: boolean;
}

const kinds: ReadonlyMap<string, BlobKind> = new Map([
  ['blockblob', 'block'],
  ['appendblob', 'append'],
  ['pageblob', 'page'],
]);

const headerNames = [
  ['contentType', 'content-type'],
  ['contentEncoding', 'content-encoding'],
  ['contentLanguage', 'content-language'],
  ['cacheControl', 'cache-control'],
  ['contentDisposition', 'content-disposition'],
] as const;

const md5Bytes = 16;

export function readSourceProperties(answerHeader: HeaderLookup): SourceProperties {
  const found = kinds.get(answerHeader('x-ms-blob-type')?.toLowerCase() ?? '');
  const kind = found ?? 'block';
  const isSealed = answerHeader('x-ms-blob-sealed')?.toLowerCase() === 'true';
  return {
    kind,
    headers: contentHeadersOf(answerHeader),
    sequenceNumber: kind === 'page' ? sequenceNumberOf(answerHeader) : undefined,
    append: kind === 'append' ? { count: blockCountOf(answerHeader), isSealed } : undefined,
    isBlob: found !== undefined,
  };
}

function contentHeadersOf(answerHeader: HeaderLookup): ContentHeaders {
  const headers: { -readonly [Name in keyof ContentHeaders]: ContentHeaders[Name] } = {
    contentType: contentTypeDefault,
  };
  for (const [member, name] of headerNames) {
    const value = answerHeader(name);
    if (value !== undefined && value !== '') headers[member] = value;
  }
  // The hash of a part of a blob is in a header of its own.
  const md5 = Buffer.from(
    answerHeader('x-ms-blob-content-md5') ?? answerHeader('content-md5') ?? '',
    'base64',
  );
  if (md5.length === md5Bytes) headers.contentMd5 = md5;
  return headers;
}

function blockCountOf(answerHeader: HeaderLookup): number {
  const text = answerHeader('x-ms-blob-committed-block-count') ?? '';
  return /^[0-9]{1,9}$/.test(text) ? Number(text) : 1;
}

function sequenceNumberOf(answerHeader: HeaderLookup): bigint {
  const text = answerHeader('x-ms-blob-sequence-number') ?? '';
  const number = /^[0-9]{1,19}$/.test(text) ? BigInt(text) : 0n;
  return number <= sequenceNumberMax ? number : 0n;
}

/** Which bytes an answer has, the last one included, and of how many. */
export interface AnsweredRange {
  readonly first: number;
  readonly last: number;
  readonly totalBytes: number;
}

const contentRangeForm = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i;

/**
 * The bytes in an answer with status 200 or 206; undefined when it does not tell. Without bytes
 * `last` is -1.
 */
export function answeredRange(
  status: number,
  answerHeader: HeaderLookup,
): AnsweredRange | undefined {
  const length = lengthOf(answerHeader);
  if (length === undefined) return undefined;
  if (status === 200) return { first: 0, last: length - 1, totalBytes: length };
  const found = contentRangeForm.exec(answerHeader('content-range') ?? '');
  if (found === null) return undefined;
  const [first = 0, last = 0, totalBytes = 0] = found.slice(1).map(Number);
  const isSound = first <= last && last < totalBytes && last - first + 1 === length;
  return isSound ? { first, last, totalBytes } : undefined;
}

function lengthOf(answerHeader: HeaderLookup): number | undefined {
  try {
    return countHeader(answerHeader, 'content-length');
  } catch {
    return undefined;
  }
}
