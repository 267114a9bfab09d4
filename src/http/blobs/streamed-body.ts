import { invariant } from '../../base/invariant.js';
import { invalidHeader, requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Body } from '../../services/blobs/types.js';
import {
  isStructured,
  structuredContentBytes,
  structuredForm,
  structuredHeader,
  structuredLengthHeader,
  StructuredReader,
} from '../../wire/blobs/structured-body.js';
import { Crc64 } from '../../wire/checksum/crc64.js';
import type { BlobRequest } from './request.js';

/** The longest body of an operation from a version on; the newest first (blob-service §3.5). */
export type BodyLimits = readonly { readonly since: string; readonly bytesMax: number }[];

/**
 * The bytes of a request: its body, or the content of a structured one. Throws
 * `MissingContentLengthHeader`, also for a chunked body, whose length is unknown until its end.
 */
export function contentBytesOf({ exchange, header }: BlobRequest): number {
  const { bodyBytesDeclared: bytes } = exchange;
  if (bytes === Infinity || header('content-length') === undefined) {
    throw new StorageError('MissingContentLengthHeader');
  }
  if (!isStructured(header)) return bytes;
  // A checksum of the framing would be taken for that of the content.
  for (const name of ['content-md5', 'x-ms-content-crc64']) {
    const sum = header(name);
    if (sum !== undefined) throw invalidHeader(name, sum);
  }
  return structuredContentBytes(header);
}

/**
 * As `contentBytesOf`, within the limit of the version. Throws `RequestBodyTooLarge` beyond it.
 */
export function checkBodyLength(request: BlobRequest, limits: BodyLimits): number {
  const bytes = contentBytesOf(request);
  checkBytes(request, limits, bytes);
  return bytes;
}

/** As `checkBodyLength`, for a body that must not be empty: throws `InvalidHeaderValue` for one. */
export function checkSomeBody(request: BlobRequest, limits: BodyLimits): number {
  const bytes = checkBodyLength(request, limits);
  if (bytes > 0) return bytes;
  const name = isStructured(request.header) ? structuredLengthHeader : 'Content-Length';
  throw invalidHeader(name, '0');
}

/** Throws `RequestBodyTooLarge` for more than a request of its version may bring. */
export function checkBytes({ version }: BlobRequest, limits: BodyLimits, bytes: number): void {
  const limit = limits.find(({ since }) => since <= version);
  if (limit !== undefined && bytes > limit.bytesMax) throw requestBodyTooLarge(limit.bytesMax);
}

/** Throws `InvalidHeaderValue` for a request that has a body. */
export function checkNoBody({ exchange, header }: BlobRequest): void {
  if (exchange.bodyBytesDeclared === 0) return;
  throw invalidHeader('Content-Length', header('content-length') ?? '');
}

/** Content that comes in pieces, and the sum of what has come. */
export interface SummedBody {
  readonly body: Body;
  readonly sum: Crc64;
}

/**
 * The content of an operation that consumes it in pieces. A structured body is refused at the
 * latest when it has ended.
 */
export function summedBodyOf({ exchange, header }: BlobRequest): SummedBody {
  const { bodyStream } = exchange;
  invariant(bodyStream !== undefined, 'the operation streams its body');
  // The sum that the request claims is taken already. Such a body is not structured.
  if (bodyStream.crc64 !== undefined) return { body: bodyStream, sum: bodyStream.crc64 };
  const sum = new Crc64();
  if (!isStructured(header)) return { body: summed(bodyStream, sum), sum };
  const reader = new StructuredReader(structuredContentBytes(header), sum);
  return { body: unframed(bodyStream, reader), sum };
}

async function* summed(body: Body, sum: Crc64): AsyncGenerator<Buffer> {
  for await (const piece of body) {
    sum.update(piece);
    yield piece;
  }
}

async function* unframed(body: Body, reader: StructuredReader): AsyncGenerator<Buffer> {
  for await (const piece of body) yield* reader.take(piece);
  reader.end();
}

/** The additional headers of the answer to a structured body. */
export function structuredHeaders({ header }: Pick<BlobRequest, 'header'>): string[] {
  return isStructured(header) ? [structuredHeader, structuredForm] : [];
}

/** The checksums of a body that was written: the CRC-64, and the MD5 that the request gave. */
export function checksumHeaders({ header }: Pick<BlobRequest, 'header'>, sum: Crc64): string[] {
  const md5 = header('content-md5');
  const headers = ['x-ms-content-crc64', sum.digest().toString('base64')];
  return md5 === undefined ? headers : ['Content-MD5', md5, ...headers];
}
