import type { IncomingMessage } from 'node:http';
import { requestBodyTooLarge } from '../../model/errors/query-errors.js';

/** The client went away before its request had arrived: there is nobody to answer. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/** Called before more memory is taken for a body; what it throws refuses the body. */
export type OnGrowth = (bytes: number) => void;

/**
 * The whole body, at most `bytesMax`. Rejects with `RequestBodyTooLarge` as soon as more has
 * arrived, or with what `onGrowth` throws; the rest is then left unread. However small the pieces
 * are in which a body comes, it takes no more than twice its bytes.
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
  onGrowth: OnGrowth = () => undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Its events have passed: the client left while it was found out who it is.
    if (request.destroyed && !request.complete) return reject(gone());
    const body = new GrowingBody(bytesMax, onGrowth);
    const onData = (chunk: Buffer) => {
      try {
        body.add(chunk);
      } catch (error) {
        request.off('data', onData);
        request.pause();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    request.on('data', onData);
    request.once('end', () => resolve(body.bytes));
    request.once('close', () => {
      if (!request.complete) reject(gone());
    });
  });
}

function gone(): AbortedError {
  return new AbortedError('the client closed the connection');
}

/** Many small pieces cost as often as the body doubles. */
const capacityMin = 16 * 1024;

/** A body while it arrives. One that comes in one piece is not copied. */
class GrowingBody {
  readonly #bytesMax: number;
  readonly #onGrowth: OnGrowth;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(bytesMax: number, onGrowth: OnGrowth) {
    this.#bytesMax = bytesMax;
    this.#onGrowth = onGrowth;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytesMax) throw requestBodyTooLarge(this.#bytesMax);
    if (this.#length === 0) this.#begin(chunk);
    else {
      if (length > this.#buffer.length) this.#grow(length);
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
  }

  #begin(chunk: Buffer): void {
    this.#onGrowth(chunk.length);
    this.#buffer = chunk;
  }

  #grow(needed: number): void {
    const capacity = Math.min(Math.max(2 * needed, capacityMin), this.#bytesMax);
    this.#onGrowth(capacity - this.#buffer.length);
    const buffer = Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(buffer, 0, 0, this.#length);
    this.#buffer = buffer;
  }
}
