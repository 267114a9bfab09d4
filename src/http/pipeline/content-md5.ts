import { createHash } from 'node:crypto';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Operation } from '../exchange/service.js';

const md5Bytes = 16;
/** Base64 of 16 bytes. */
const md5Text = /^[A-Za-z0-9+/]{22}==$/;

/** The value of `Content-MD5`; undefined when absent. Throws `InvalidMd5`. */
export function claimedMd5(exchange: Pick<Exchange, 'header'>): Buffer | undefined {
  const text = exchange.header('content-md5');
  if (text === undefined) return undefined;
  const claimed = Buffer.from(text, 'base64');
  if (!md5Text.test(text) || claimed.length !== md5Bytes) throw new StorageError('InvalidMd5');
  return claimed;
}

/**
 * Checks `Content-MD5` against the body that has been received (queue-service §3.1). A body
 * that the operation does not read is not compared. Throws `InvalidMd5` and `Md5Mismatch`.
 */
export function verifyContentMd5(
  exchange: Pick<Exchange, 'header' | 'body' | 'bodyBytesDeclared'>,
  operation: Pick<Operation, 'bodyBytesMax'>,
): void {
  const claimed = claimedMd5(exchange);
  if (claimed === undefined) return;
  if (operation.bodyBytesMax === 0 && exchange.bodyBytesDeclared > 0) return;
  const actual = createHash('md5').update(exchange.body).digest();
  if (!actual.equals(claimed)) throw new StorageError('Md5Mismatch');
}
