import { StorageError } from '../../../model/errors/storage-error.js';
import type { BlobQueueSignedRequest } from './signed-request.js';
import { wordSortKey } from './word-sort.js';

/** From this version on an `x-ms-` header with an empty value is signed. */
const emptyHeaderVersion = '2016-05-31';
/** From this version on a length of zero is signed as an empty line. */
const emptyLengthVersion = '2015-02-21';

/** The standard headers that have a line of their own, in the documented order. */
export const documentedOrder = [
  'content-encoding',
  'content-language',
  'content-length',
  'content-md5',
  'content-type',
  'date',
  'if-modified-since',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'range',
] as const;

/** The order of the official JavaScript client, which swaps the first two. */
export const languageFirstOrder = [
  documentedOrder[1],
  documentedOrder[0],
  ...documentedOrder.slice(2),
] as const;

/** The headers of Shared Key Lite. */
export const liteOrder = ['content-md5', 'content-type', 'date'] as const;

type Header = readonly [name: string, value: string];

/** The headers of a request that take part in its signature (queue-service §4.1). */
export interface SignedHeaders {
  /** The values of the lines, by lower-case name. */
  readonly lines: ReadonlyMap<string, string>;
  /** The `x-ms-` headers, names in lower case, in ordinal order. */
  readonly xMs: readonly Header[];
  /** `x-ms-date`, or else `Date`; empty without either. */
  readonly date: string;
}

const lineNames: ReadonlySet<string> = new Set(documentedOrder);

/** @throws {StorageError} `InvalidHeaderValue` when one of the headers occurs twice */
export function readSignedHeaders({ headers, version }: BlobQueueSignedRequest): SignedHeaders {
  const lines = new Map<string, string>();
  const xMs: Header[] = [];
  let xMsDate: string | undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]?.toLowerCase() ?? '';
    const value = headers[index + 1] ?? '';
    if (name.startsWith('x-ms-')) {
      if (name === 'x-ms-date') xMsDate = value;
      xMs.push([name, unfolded(value)]);
    } else if (lineNames.has(name)) {
      if (lines.has(name)) throw occursTwice(name, value);
      lines.set(name, value);
    }
  }
  const date = xMsDate ?? lines.get('date') ?? '';
  if (xMsDate !== undefined) lines.delete('date');
  if (version >= emptyLengthVersion && lines.get('content-length') === '0') {
    lines.delete('content-length');
  }
  return { lines, xMs: signedXMs(xMs, version), date };
}

function signedXMs(headers: Header[], version: string): readonly Header[] {
  headers.sort(byName);
  for (let index = 1; index < headers.length; index++) {
    const [name, value] = headers[index] ?? ['', ''];
    if (name === headers[index - 1]?.[0]) throw occursTwice(name, value);
  }
  return version >= emptyHeaderVersion ? headers : headers.filter(([, value]) => value !== '');
}

function byName([left]: Header, [right]: Header): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** A header value without folding white space. */
function unfolded(value: string): string {
  const line = value.includes('\n') ? value.replace(/[ \t]*\r?\n[ \t]*/g, ' ') : value;
  return line.trim();
}

/** It is ambiguous which of the two values was signed. */
function occursTwice(name: string, value: string): StorageError {
  return new StorageError('InvalidHeaderValue', {
    message: `The header '${name}' occurs more than once in a request that is signed; send it once.`,
    details: [
      ['HeaderName', name],
      ['HeaderValue', value],
    ],
  });
}

export function headerLines({ lines }: SignedHeaders, order: readonly string[]): string {
  let text = '';
  for (const name of order) text += `${lines.get(name) ?? ''}\n`;
  return text;
}

export function canonicalizedHeaders({ xMs }: SignedHeaders): string {
  return linesOf(xMs);
}

/** The headers in the order of clients that use word sort. */
export function wordSortedHeaders({ xMs }: SignedHeaders): string {
  const keyed = xMs.map((header): readonly [string, Header] => [wordSortKey(header[0]), header]);
  keyed.sort(([left], [right]) => (left < right ? -1 : 1));
  return linesOf(keyed.map(([, header]) => header));
}

function linesOf(headers: readonly Header[]): string {
  let text = '';
  for (const [name, value] of headers) text += `${name}:${value}\n`;
  return text;
}
