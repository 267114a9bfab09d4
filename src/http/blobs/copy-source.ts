import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import {
  cannotVerifyCopySource,
  crc64Mismatch,
  md5Mismatch,
} from '../../model/errors/blob-errors.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';

import type { BlobProperties, Body } from '../../services/blobs/types.js';
import { sourceRange, type RequestedRange } from '../../wire/blobs/byte-ranges.js';
import { readCopySource } from '../../wire/blobs/copy-source.js';
import { Crc64 } from '../../wire/checksum/crc64.js';
import { claimedChecksum, type ClaimedChecksum } from '../../wire/checksum/checksum-headers.js';
import type { Exchange } from '../exchange/exchange.js';
import type { SourceClient } from '../sources/source-client.js';
import type { RoutedBlobRequest } from './blob-route.js';
import { openForeign, type ForeignAddress, type OpenedForeign } from './foreign-source.js';
import { authoriseSource, ownAddress, ownSourceAt, readOwn, shownUrl } from './own-source.js';
import type { OwnSource } from './own-source.js';
import type { BlobRequest } from './request.js';

/** A source that this server does not keep. */
export interface OtherSource extends ForeignAddress {
  readonly kind: 'other';
  /** The URL without a signature, as answers show it. */
  readonly url: string;
}

/** The source of a copy. */
export type Source = OwnSource | OtherSource;

/** Whether a request copies. */
export function hasCopySource({ header }: RoutedBlobRequest): boolean {
  return header('x-ms-copy-source') !== undefined;
}

const tagOptionHeader = 'x-ms-copy-source-tag-option';
const authorizationHeader = 'x-ms-copy-source-authorization';

/**
 * The source that a request names. One that the configuration does not allow is
 * `CannotVerifyCopySource` with 403. Throws as `readCopySource`; `InvalidHeaderValue` for a
 * credential of the source that is no bearer token, and for an unknown tag option;
 * `BothUserTagsAndSourceTagsCopyPresentException` for tags of both.
 */
export function sourceOf(request: BlobRequest): Source {
  const { header, exchange } = request;
  const source = readCopySource(header);
  const own = ownAddress(source, exchange);
  const tags = copiesTags(request);
  const headers = tokenOf(request);
  if (own !== undefined) return ownSourceAt(own, { source, copiesTags: tags, headers }, request);
  sourcesOf(request).check(source.url);
  return {
    kind: 'other',
    href: source.url,
    headers: { 'x-ms-version': request.version, ...Object.fromEntries(headers) },
    conditions: conditionsOf(request),
    url: shownUrl(source),
    copiesTags: tags,
  };
}

/** The client for other servers. Throws `CannotVerifyCopySource` where the server has none. */
function sourcesOf({ backend }: BlobRequest): SourceClient {
  if (backend.sources !== undefined) return backend.sources;
  const message =
    'The server copies from its own blobs alone. Its option copySources allows other sources.';
  throw cannotVerifyCopySource({ status: 403, message });
}

function copiesTags({ header }: BlobRequest): boolean {
  const text = header(tagOptionHeader);
  const option = text?.toLowerCase();
  if (text === undefined || option === 'replace') return false;
  if (option !== 'copy') throw invalidHeader(tagOptionHeader, text);
  if (header('x-ms-tags') === undefined) return true;
  throw new StorageError('BothUserTagsAndSourceTagsCopyPresentException');
}

/** The token that reads the source, if there is one, as the source gets it. */
function tokenOf({ header }: BlobRequest): ReadonlyMap<string, string> {
  const authorization = header(authorizationHeader);
  if (authorization === undefined) return new Map();
  if (/^bearer /i.test(authorization)) return new Map([['authorization', authorization]]);
  // The error does not show the value, which is a secret.
  throw invalidHeader(authorizationHeader, '');
}

/** The headers with conditions on a source, and their names in a request to its server. */
const conditionNames = [
  ['x-ms-source-if-match', 'if-match'],
  ['x-ms-source-if-none-match', 'if-none-match'],
  ['x-ms-source-if-modified-since', 'if-modified-since'],
  ['x-ms-source-if-unmodified-since', 'if-unmodified-since'],
  ['x-ms-source-if-tags', 'x-ms-if-tags'],
] as const;

/** The conditions on the source, for the server that keeps it. */
function conditionsOf({ header }: BlobRequest): Record<string, string> {
  const conditions: Record<string, string> = {};
  for (const [given, name] of conditionNames) {
    const value = header(given);
    if (value !== undefined) conditions[name] = value;
  }
  return conditions;
}

/** How a write from a URL reads its source. */
export interface SourceRead {
  readonly source: Source;
  readonly range: RequestedRange | undefined;
  readonly checksum: ClaimedChecksum | undefined;
}

/** Throws as `sourceOf`, `sourceRange` and `claimedChecksum`. */
export function sourceReadOf(request: BlobRequest): SourceRead {
  const { header } = request;
  return {
    source: sourceOf(request),
    range: sourceRange(header),
    checksum: claimedChecksum(
      header('x-ms-source-content-md5'),
      header('x-ms-source-content-crc64'),
    ),
  };
}

/** The bytes of the source as the body of a write. */
export interface SourceBody {
  readonly body: Body;
  readonly bytes: number;
  readonly properties: Pick<BlobProperties, 'headers' | 'metadata' | 'tags'>;
  /** The checksum of all bytes; complete when the body has ended. */
  readonly sum: Crc64;
}

/** Opens the source for `use`. Throws `SourceConditionNotMet` when a condition fails. */
export async function withSource<T>(
  request: BlobRequest,
  { source, range, checksum }: SourceRead,
  use: (body: SourceBody) => Promise<T>,
): Promise<T> {
  const opened = await openSource(request, source, range);
  try {
    const sum = new Crc64();
    return await use({ ...opened, body: checked(opened.body, checksum, sum), sum });
  } finally {
    opened.close();
  }
}

interface OpenedSource extends Omit<SourceBody, 'sum'> {
  close(): void;
}

async function openSource(
  request: BlobRequest,
  source: Source,
  range: RequestedRange | undefined,
): Promise<OpenedSource> {
  if (source.kind === 'own') {
    await authoriseSource(request, source);
    const reading = await readOwn(request, source, range);
    const { properties, start, end } = reading;
    const body = ownBodyOf(request, reading);
    return { body, properties, bytes: end - start, close: () => reading.close() };
  }
  const opened = await openOther(request, source, range);
  const { start, end } = opened.bounds;
  return {
    body: otherBodyOf(request, opened),
    properties: opened.blob,
    bytes: end - start,
    close: () => opened.close(),
  };
}

/**
 * Requests a source from another server, and stops when the client leaves. Throws as `openForeign`.
 */
export function openOther(
  request: BlobRequest,
  source: OtherSource,
  range?: RequestedRange,
): Promise<OpenedForeign> {
  const sources = sourcesOf(request);
  const { exchange } = request;
  const signal = departureOf(exchange);
  return exchange.awaiting(openForeign(sources, source, { range, signal }), sources.clock);
}

/**
 * Aborted when the client ends its half of the connection, or the answer ends. A client that has
 * gone must not occupy one of the few reads of sources, and it looks like one that has only ended
 * its half.
 */
function departureOf({ request: { socket }, response }: Exchange): AbortSignal {
  const departure = new AbortController();
  const leave = (): void => {
    socket.off('end', leave);
    departure.abort();
  };
  if (response.destroyed || socket.readableEnded) leave();
  socket.once('end', leave);
  response.once('close', leave);
  return departure.signal;
}

/** The bytes of a source that this server keeps. The time limit is one of each piece. */
export async function* ownBodyOf(
  {
    exchange,
    backend,
  }: {
    readonly exchange: Exchange;
    readonly backend: { readonly clock: Pick<Clock, 'monotonicMs'> };
  },
  { body }: { readonly body: Body },
): AsyncGenerator<Buffer, void, void> {
  const endStep = exchange.limitSteps(backend.clock);
  for await (const piece of body) {
    endStep();
    yield piece;
  }
  endStep();
}

/** The bytes that a source sends. The wait for them does not count for the time limit. */
export async function* otherBodyOf(
  request: BlobRequest,
  { body }: Pick<OpenedForeign, 'body'>,
): AsyncGenerator<Buffer, void, void> {
  const sources = sourcesOf(request);
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await request.exchange.awaiting(pieces.next(), sources.clock);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await pieces.return?.();
  }
}

/** Passes the bytes on. Throws `Md5Mismatch` or `Crc64Mismatch` at the end. */
export async function* checked(
  body: Body,
  claimed: ClaimedChecksum | undefined,
  sum: Crc64,
): AsyncGenerator<Buffer, void, void> {
  const md5 = claimed?.kind === 'md5' ? createHash('md5') : undefined;
  for await (const piece of body) {
    sum.update(piece);
    md5?.update(piece);
    yield piece;
  }
  if (claimed === undefined) return;
  const actual = md5 === undefined ? sum.digest() : md5.digest();
  if (actual.equals(claimed.bytes)) return;
  const mismatch = claimed.kind === 'md5' ? md5Mismatch : crc64Mismatch;
  throw mismatch(claimed.bytes.toString('base64'), actual.toString('base64'));
}
