import type { IncomingMessage } from 'node:http';
import { requestBodyTooLarge } from '../../wire/errors/query-errors.js';

/** The client went away before its request had arrived: there is nobody to answer. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/**
 * The whole body, at most `bytesMax`. Rejects with `RequestBodyTooLarge` as soon as more has
 * arrived; the rest is then left unread. Never holds more than the limit and one chunk.
 */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Its events have passed: the client left while it was found out who it is.
    if (request.destroyed && !request.complete) return reject(gone());
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= bytesMax) return;
      request.off('data', onData);
      request.pause();
      reject(requestBodyTooLarge(bytesMax));
    };
    request.on('data', onData);
    request.once('end', () => resolve(joined(chunks, length)));
    request.once('close', () => {
      if (!request.complete) reject(gone());
    });
  });
}

function gone(): AbortedError {
  return new AbortedError('the client closed the connection');
}

function joined(chunks: readonly Buffer[], length: number): Buffer {
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, length);
}
