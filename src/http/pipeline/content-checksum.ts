import { createHash } from 'node:crypto';
import { crc64Mismatch, md5Mismatch } from '../../model/errors/blob-errors.js';
import { claimedChecksum, type ClaimedChecksum } from '../../wire/checksum/checksum-headers.js';
import { Crc64 } from '../../wire/checksum/crc64.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Operation } from '../exchange/service.js';

/** The checksum of a body that comes in pieces, against the one that its request claims. */
export class BodyChecksum {
  readonly #claimed: ClaimedChecksum;
  readonly #sum: { update(bytes: Buffer): unknown; digest(): Buffer };
  /** Undefined when another sum is claimed. */
  readonly crc64: Crc64 | undefined;

  constructor(claimed: ClaimedChecksum) {
    this.#claimed = claimed;
    this.crc64 = claimed.kind === 'md5' ? undefined : new Crc64();
    this.#sum = this.crc64 ?? createHash('md5');
  }

  update(piece: Buffer): void {
    this.#sum.update(piece);
  }

  /** Throws `Md5Mismatch` or `Crc64Mismatch`. To be called once, at the end. */
  check(): void {
    const { kind, bytes } = this.#claimed;
    const actual = this.#sum.digest();
    if (actual.equals(bytes)) return;
    const mismatch = kind === 'md5' ? md5Mismatch : crc64Mismatch;
    throw mismatch(bytes.toString('base64'), actual.toString('base64'));
  }
}

/**
 * The checksum in `Content-MD5` or `x-ms-content-crc64`; undefined when both are absent. Throws
 * `InvalidMd5`, `InvalidHeaderValue`, `BothCrc64AndMd5HeaderPresent`.
 */
export function claimedBy(exchange: Pick<Exchange, 'header'>): BodyChecksum | undefined {
  const claimed = claimedChecksum(
    exchange.header('content-md5'),
    exchange.header('x-ms-content-crc64'),
  );
  return claimed === undefined ? undefined : new BodyChecksum(claimed);
}

/**
 * Checks the claimed checksum against the body that has been received (queue-service §3.1,
 * blob-service §3.1). A body that the operation does not read is not compared. Throws as
 * `claimedBy` and `BodyChecksum` do.
 */
export function verifyChecksum(
  exchange: Pick<Exchange, 'header' | 'body' | 'bodyBytesDeclared'>,
  operation: Pick<Operation, 'bodyBytesMax'>,
): void {
  const checksum = claimedBy(exchange);
  if (checksum === undefined) return;
  if (operation.bodyBytesMax === 0 && exchange.bodyBytesDeclared > 0) return;
  checksum.update(exchange.body);
  checksum.check();
}
