import type { IncomingMessage } from 'node:http';
import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { freeBody, GrowingBody, type OnGrowth } from './growing-body.js';

/** The client went away before its request had arrived: there is nobody to answer. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/**
 * The whole body, at most `bytesMax`. Rejects with `RequestBodyTooLarge` as soon as more has
 * arrived, or with what `onGrowth` throws; the rest is then left unread. However small the pieces
 * are in which a body comes, it takes no more than twice its bytes, and of a large one no more than
 * 64 KiB besides. Who has used it calls `freeBody`. The sender says that it has `bytesDeclared`.
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  onGrowth: OnGrowth = () => undefined,
  bytesDeclared = Infinity,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Its events have passed: the client left while it was found out who it is.
    if (request.destroyed && !request.complete) return reject(gone());
    const body = new GrowingBody(Math.min(bytesMax, bytesDeclared), onGrowth);
    const onData = (chunk: Buffer) => {
      try {
        if (body.length + chunk.length > bytesMax) throw requestBodyTooLarge(bytesMax);
        body.add(chunk);
      } catch (error) {
        request.off('data', onData);
        request.pause();
        freeBody(body.bytes);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    request.on('data', onData);
    request.once('end', () => resolve(body.bytes));
    request.once('close', () => {
      if (request.complete) return;
      freeBody(body.bytes);
      reject(gone());
    });
  });
}

/** What whoever waits for a body is told when its client has left. */
export function gone(): AbortedError {
  return new AbortedError('the client closed the connection');
}
