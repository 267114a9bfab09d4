import type { IncomingMessage } from 'node:http';
import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { GrowingBody, type OnGrowth } from './growing-body.js';

/** The client left before its request had arrived; no answer is possible. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/**
 * Reads the whole body, at most `bytesMax`. Rejects with `RequestBodyTooLarge` as soon as more has
 * arrived, or with the error of `onGrowth`; the rest is left unread. However small the chunks are,
 * memory is at most twice the bytes, and for a large body at most 64 KiB more than its bytes. The
 * caller frees the body with `freeBody`. `bytesDeclared` is the Content-Length.
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  onGrowth: OnGrowth = () => undefined,
  bytesDeclared = Infinity,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Its events have passed: the client left during authentication.
    if (request.destroyed && !request.complete) return reject(gone());
    const body = new GrowingBody(Math.min(bytesMax, bytesDeclared), onGrowth);
    const onData = (chunk: Buffer) => {
      try {
        if (body.length + chunk.length > bytesMax) throw requestBodyTooLarge(bytesMax);
        body.add(chunk);
      } catch (error) {
        request.off('data', onData);
        request.pause();
        body.free();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    request.on('data', onData);
    request.once('end', () => resolve(body.bytes));
    request.once('close', () => {
      if (request.complete) return;
      body.free();
      reject(gone());
    });
  });
}

/** The error for waiting readers of a body when its client has left. */
export function gone(): AbortedError {
  return new AbortedError('the client closed the connection');
}
