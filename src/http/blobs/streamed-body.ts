import { invariant } from '../../base/invariant.js';
import { invalidHeader, requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Body } from '../../services/blobs/types.js';
import type { Crc64 } from '../../wire/checksum/crc64.js';
import type { BlobRequest } from './request.js';

/** The longest body of an operation from a version on; the newest first (blob-service §3.5). */
export type BodyLimits = readonly { readonly since: string; readonly bytesMax: number }[];

/**
 * Checks what a request says of the length of its body. Throws `MissingContentLengthHeader`, also
 * for a body in chunks, whose length nobody knows before its end, and `RequestBodyTooLarge`.
 */
export function checkBodyLength({ exchange, version }: BlobRequest, limits: BodyLimits): void {
  const { bodyBytesDeclared: bytes } = exchange;
  if (bytes === Infinity || exchange.header('content-length') === undefined) {
    throw new StorageError('MissingContentLengthHeader');
  }
  const limit = limits.find(({ since }) => since <= version);
  if (limit !== undefined && bytes > limit.bytesMax) throw requestBodyTooLarge(limit.bytesMax);
}

/** The same of a body that must have some bytes. Throws `InvalidHeaderValue` for an empty one. */
export function checkSomeBody(request: BlobRequest, limits: BodyLimits): void {
  checkBodyLength(request, limits);
  if (request.exchange.bodyBytesDeclared === 0) throw invalidHeader('Content-Length', '0');
}

/** Throws `InvalidHeaderValue` for a request that has a body. */
export function checkNoBody({ exchange, header }: BlobRequest): void {
  if (exchange.bodyBytesDeclared === 0) return;
  throw invalidHeader('Content-Length', header('content-length') ?? '');
}

/** The body of an operation that consumes it in pieces. `sum` gets every byte of it. */
export function summedBodyOf({ exchange }: BlobRequest, sum: Crc64): Body {
  invariant(exchange.bodyStream !== undefined, 'the operation streams its body');
  return summed(exchange.bodyStream, sum);
}

async function* summed(body: Body, sum: Crc64): AsyncGenerator<Buffer> {
  for await (const piece of body) {
    sum.update(piece);
    yield piece;
  }
}

/** The checksums of a body that was written: the CRC-64, and the MD5 that the request gave. */
export function checksumHeaders({ header }: Pick<BlobRequest, 'header'>, sum: Crc64): string[] {
  const md5 = header('content-md5');
  const headers = ['x-ms-content-crc64', sum.digest().toString('base64')];
  return md5 === undefined ? headers : ['Content-MD5', md5, ...headers];
}
