import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import type { Crc64 } from '../../wire/checksum/crc64.js';
import type { BodyStream } from '../exchange/body-stream.js';
import type { Exchange } from '../exchange/exchange.js';
import { AbortedError, gone } from './body.js';
import type { BodyChecksum } from './content-checksum.js';
import { GrowingBody } from './growing-body.js';
import type { HeldMemory } from './held-memory.js';
import type { HttpLimits } from './limits.js';

/** A piece is passed on when it has this many bytes, or when the body has ended. */
const pieceBytesMin = 32 * 1024;
/** The capacity of a piece: one read of the connection, 64 KiB, may exceed the minimum. */
const bodyPieceBytesMax = 128 * 1024;

export interface StreamedBodyOptions {
  readonly clock: Clock;
  readonly limits: HttpLimits;
  readonly memory: HeldMemory;
  /** A longer body is refused. */
  readonly bytesMax: number;
  /** The checksum that the body must have. */
  readonly checksum: BodyChecksum | undefined;
  /**
   * Called when all bytes have arrived, before the operation learns of the end. Rejects with a
   * refusal.
   */
  readonly atEnd: () => Promise<void>;
}

/**
 * A body that is consumed in pieces. The connection is read only while a piece is awaited, and only
 * the current piece is held. A client has `requestTimeoutMs` for each piece; each piece restarts
 * the time limit of the operation, which is stopped while a piece is awaited.
 */
export class StreamedBody implements BodyStream {
  readonly bytes: number | undefined;
  lateAtMs = Infinity;
  isUnwatched = false;

  readonly #exchange: Exchange;
  readonly #options: StreamedBodyOptions;
  #piece: GrowingBody;
  #settle: { resolve(piece: Buffer | undefined): void; reject(error: Error): void } | undefined;
  /** The time limit of the operation between two pieces. */
  #workMs = Infinity;
  #isBegun = false;
  #hasEnded = false;
  #isStopped = false;
  /** The failure that ended the body early. */
  #failure: Error | undefined;

  constructor(exchange: Exchange, options: StreamedBodyOptions) {
    const { bodyBytesDeclared: bytes } = exchange;
    this.#exchange = exchange;
    this.#options = options;
    this.bytes = bytes === Infinity ? undefined : bytes;
    this.#piece = this.#newPiece();
  }

  get crc64(): Crc64 | undefined {
    return this.#options.checksum?.crc64;
  }

  get waitsForClient(): boolean {
    return this.#settle !== undefined;
  }

  unwatch(): void {
    this.isUnwatched = true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    invariant(!this.#isBegun, 'a body is iterated once');
    this.#isBegun = true;
    try {
      this.#begin();
      for (;;) {
        const piece = await this.#next();
        if (piece === undefined) break;
        this.#options.checksum?.update(piece);
        yield piece;
        this.#giveBack();
      }
      await this.#checkWhole();
    } finally {
      this.stop();
    }
  }

  stop(): void {
    this.#isStopped = true;
    const { request } = this.#exchange;
    request.off('data', this.#onData);
    request.off('end', this.#onEnd);
    request.off('close', this.#onClose);
    request.pause();
    this.#giveBack();
    this.#wake();
  }

  #begin(): void {
    const { request, response } = this.#exchange;
    const failure = this.#failureNow();
    if (failure !== undefined) throw failure;
    // Its events have passed: the client left before the body was opened.
    if (request.destroyed && !request.readableEnded) throw gone();
    this.#workMs = this.#exchange.deadlineMs - this.#options.clock.monotonicMs();
    request.on('data', this.#onData);
    request.on('end', this.#onEnd);
    request.on('close', this.#onClose);
    if (this.#exchange.awaitsContinue && this.bytes !== 0) {
      this.#exchange.awaitsContinue = false;
      response.writeContinue();
    }
  }

  /** The next piece; undefined at the end. */
  async #next(): Promise<Buffer | undefined> {
    const { clock, limits } = this.#options;
    this.lateAtMs = clock.monotonicMs() + limits.requestTimeoutMs;
    try {
      return await new Promise((resolve, reject) => {
        this.#settle = { resolve, reject };
        this.#wake();
        if (this.waitsForClient) this.#exchange.request.resume();
      });
    } finally {
      this.lateAtMs = Infinity;
      this.#exchange.deadlineMs = clock.monotonicMs() + this.#workMs;
    }
  }

  /** Passes the buffered bytes to the waiting consumer, when they suffice. */
  #wake(): void {
    const settle = this.#settle;
    const piece = this.#piece;
    if (settle === undefined) return;
    const failure = this.#failureNow();
    if (failure !== undefined) settle.reject(failure);
    else if (piece.length >= pieceBytesMin || (this.#hasEnded && piece.length > 0)) {
      settle.resolve(piece.bytes);
    } else if (this.#hasEnded) settle.resolve(undefined);
    else return;
    this.#settle = undefined;
    this.#exchange.request.pause();
  }

  /** Why no further piece comes. */
  #failureNow(): Error | undefined {
    // Most bodies are stopped after their end, when no reader needs the error, which is costly to
    // make.
    if (this.#isStopped) this.#failure ??= new AbortedError('the request has been answered');
    return this.#failure;
  }

  readonly #onData = (chunk: Buffer): void => {
    const exchange = this.#exchange;
    const { bytesMax } = this.#options;
    exchange.bytesReceived += chunk.length;
    try {
      if (exchange.bytesReceived > bytesMax) throw requestBodyTooLarge(bytesMax);
      this.#piece.add(chunk);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    }
    this.#wake();
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    this.#wake();
  };

  readonly #onClose = (): void => {
    if (!this.#hasEnded) this.#failure ??= gone();
    this.#wake();
  };

  #newPiece(): GrowingBody {
    const { memory, limits } = this.#options;
    return new GrowingBody(bodyPieceBytesMax, (bytes) => {
      memory.ensureFree(this.#exchange, bytes, limits.heldBytesMax);
      memory.take(this.#exchange, bytes);
    });
  }

  /** Releases the current piece. */
  #giveBack(): void {
    this.#options.memory.giveBack(this.#exchange, this.#piece.capacity);
    this.#piece = this.#newPiece();
  }

  async #checkWhole(): Promise<void> {
    const { checksum, atEnd } = this.#options;
    checksum?.check();
    await atEnd();
  }
}
