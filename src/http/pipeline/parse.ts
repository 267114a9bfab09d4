import { StorageError } from '../../wire/errors/storage-error.js';
import { readBody } from './body.js';
import type { Exchange } from './exchange.js';

/** Whether a body is on its way; without one there is nothing to wait for. */
export function expectsBody(exchange: Exchange): boolean {
  return exchange.bodyBytesDeclared > 0;
}

/**
 * Fifth stage, first half: brings the body in. Runs after the caller is known and allowed, so that
 * nobody else's bytes are buffered. A length that is too large is refused before a byte is read.
 */
export async function receiveBody(exchange: Exchange, bytesMax: number): Promise<void> {
  const declared = exchange.bodyBytesDeclared;
  if (declared !== Infinity && declared > bytesMax) throw new StorageError('RequestBodyTooLarge');
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    exchange.response.writeContinue();
  }
  exchange.body = await readBody(exchange.request, bytesMax);
  exchange.bytesReceived = exchange.body.length;
}

/** POST and PUT say how long their body is, even when it is empty (spec table-service §3.2). */
export function requireLength(exchange: Exchange): void {
  if (exchange.method !== 'POST' && exchange.method !== 'PUT') return;
  const headers = exchange.request.headers;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    throw new StorageError('MissingContentLengthHeader');
  }
}
