import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { readBody } from './body.js';
import type { OnGrowth } from './growing-body.js';
import type { Exchange } from '../exchange/exchange.js';

/**
 * POST and PUT must declare the length of their body, even when it is empty or unused
 * (table-service §3.2, queue-service §3.1). Throws `MissingContentLengthHeader`.
 */
export function checkLengthDeclared(exchange: Exchange): void {
  const { bodyBytesDeclared, method } = exchange;
  if (bodyBytesDeclared > 0 || (method !== 'POST' && method !== 'PUT')) return;
  if (exchange.header('content-length') !== undefined) return;
  throw new StorageError('MissingContentLengthHeader');
}

/**
 * Sixth stage, first half: receives the body. Runs after authorisation, so that bytes of strangers
 * are not buffered.
 */
export async function receiveBody(
  exchange: Exchange,
  bytesMax: number,
  onGrowth: OnGrowth,
): Promise<void> {
  checkDeclaredBytes(exchange, bytesMax);
  const { request, bodyBytesDeclared } = exchange;
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false;
    exchange.response.writeContinue();
  }
  exchange.body = await readBody(request, bytesMax, onGrowth, bodyBytesDeclared);
  exchange.bytesReceived = exchange.body.length;
}

/** Refuses a declared length that is too large before reading. */
export function checkDeclaredBytes({ bodyBytesDeclared }: Exchange, bytesMax: number): void {
  if (bodyBytesDeclared !== Infinity && bodyBytesDeclared > bytesMax) {
    throw requestBodyTooLarge(bytesMax);
  }
}
