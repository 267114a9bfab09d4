import type { Clock } from '../../base/clock.js';
import { nextTurn } from '../../base/async/turns.js';
import { invariant } from '../../base/invariant.js';
import type { Exchange } from '../exchange/exchange.js';
import { replyPieceBytesMax, type AnswerStream } from '../exchange/reply-stream.js';
import type { StreamedReply } from '../exchange/service.js';
import { AbortedError, gone } from './body.js';
import type { HeldMemory } from './held-memory.js';
import { beginAnswer, endAnswer, hasUnreadBody, type SendContext } from './send.js';

export interface StreamedAnswerContext extends SendContext {
  readonly clock: Clock;
  readonly memory: HeldMemory;
  /** When memory is short, the request may be refused and repeated. */
  readonly isReadOnly: boolean;
}

/** The bytes that an answer may send before it yields. */
const turnBytesMax = 256 * 1024;
/** The fixed cost of a piece, in bytes. */
const pieceBytes = 256;

/**
 * An answer that is sent in pieces, instead of render. A piece is requested when the one before was
 * handed to the system: from then on its memory may have other bytes. The producer has the time
 * limit of the operation for each piece, and the client has `responseTimeoutMs` to read each.
 */
export class StreamedAnswer implements AnswerStream {
  isUnderWay = false;
  waitsForSource = false;

  readonly #exchange: Exchange;
  readonly #reply: StreamedReply;
  readonly #context: StreamedAnswerContext;
  /**
   * Where a fault cuts the answer: after the header and this many bytes of the body the connection
   * closes.
   */
  readonly #cutAtBytes: number | undefined;
  #interrupt: ((error: Error) => void) | undefined;
  #isLost = false;
  #sinceTurn = 0;

  constructor(exchange: Exchange, reply: StreamedReply, context: StreamedAnswerContext) {
    this.#exchange = exchange;
    this.#reply = reply;
    this.#context = context;
    this.#cutAtBytes = cutOf(exchange, reply);
  }

  /**
   * Resolves when everything was written, or the client has left. Rejects with the failure; the
   * connection must be broken then if the header was already sent (`isUnderWay`).
   */
  async send(): Promise<void> {
    const { response } = this.#exchange;
    const { stream } = this.#reply;
    const pieces = stream.pieces[Symbol.asyncIterator]();
    response.once('close', this.#onClose);
    try {
      // The client has left, or was answered that the time is over.
      if (response.destroyed || this.#exchange.replied) return;
      await this.#sendAll(pieces);
    } catch (error) {
      if (!this.#isLost) throw error;
    } finally {
      response.off('close', this.#onClose);
      stream.close();
      // Not awaited: a pending piece may never arrive.
      pieces.return?.().catch(() => undefined);
    }
  }

  fail(error: Error): void {
    this.#interrupt?.(error);
  }

  readonly #onClose = (): void => {
    this.#isLost = true;
    this.isUnderWay = false;
    // Immediately, because the producer may be waiting.
    this.fail(gone());
  };

  async #sendAll(pieces: AsyncIterator<Buffer>): Promise<void> {
    const exchange = this.#exchange;
    const isHead = exchange.method === 'HEAD';
    if (!isHead) this.#reserve();
    let piece = isHead ? undefined : await this.#next(pieces);
    if (exchange.replied) throw new AbortedError('the request has been answered');
    const closing = this.#context.closing || hasUnreadBody(exchange);
    this.isUnderWay = true;
    exchange.answeredMs = this.#context.clock.monotonicMs();
    beginAnswer(exchange, this.#reply, closing && this.#cutAtBytes === undefined);
    while (piece !== undefined) {
      if (!(await this.#write(piece))) return;
      piece = await this.#next(pieces);
    }
    this.#end(isHead);
  }

  /** One piece is held at a time, whatever its length. */
  #reserve(): void {
    const exchange = this.#exchange;
    const { memory, limits, isReadOnly } = this.#context;
    const { bytes = replyPieceBytesMax } = this.#reply.stream;
    const held = Math.min(bytes, replyPieceBytesMax);
    const more = held - exchange.reservedBytes;
    if (isReadOnly) memory.ensureFree(exchange, more, limits.heldBytesMax);
    memory.take(exchange, more);
    exchange.reservedBytes = held;
  }

  /** The next piece that is not empty; undefined at the end. */
  async #next(pieces: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
    const exchange = this.#exchange;
    const { clock, limits } = this.#context;
    for (;;) {
      await this.#giveWay();
      // The first piece has the remaining time of the request.
      if (this.isUnderWay) exchange.deadlineMs = clock.monotonicMs() + limits.operationTimeoutMs;
      const result = await this.#ask(pieces);
      if (result.done === true) return undefined;
      const { length } = result.value;
      invariant(length <= replyPieceBytesMax, 'a piece of an answer is within its bound');
      this.#sinceTurn += length + pieceBytes;
      if (length > 0) return result.value;
    }
  }

  async #ask(pieces: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer, unknown>> {
    this.waitsForSource = true;
    try {
      return await this.#interruptible(
        (resolve, reject) => void pieces.next().then(resolve, reject),
      );
    } finally {
      this.waitsForSource = false;
    }
  }

  /** Returns false when nothing follows. */
  async #write(piece: Buffer): Promise<boolean> {
    const exchange = this.#exchange;
    const { response } = exchange;
    const { bytes = Infinity } = this.#reply.stream;
    const end = exchange.bytesSent + piece.length;
    invariant(end <= bytes, 'an answer has no more bytes than it says');
    const cutAt = this.#cutAtBytes ?? Infinity;
    const isCut = end >= cutAt;
    const sent = isCut ? piece.subarray(0, cutAt - exchange.bytesSent) : piece;
    exchange.bytesSent += sent.length;
    if (isCut) {
      if (sent.length > 0) response.write(sent);
      this.#cut();
    } else if (sent.length > 0) {
      // When it fails the connection is closed, which ends the wait.
      await this.#interruptible<void>((resolve) => {
        response.write(sent, (error) => error ?? resolve());
      });
    }
    // The client has read something.
    exchange.takenByMs = Infinity;
    this.#context.memory.take(exchange, 0);
    return !isCut;
  }

  #end(isHead: boolean): void {
    const exchange = this.#exchange;
    const { bytes = exchange.bytesSent } = this.#reply.stream;
    invariant(isHead || exchange.bytesSent === bytes, 'an answer has as many bytes as it says');
    if (this.#cutAtBytes !== undefined) return this.#cut();
    this.isUnderWay = false;
    endAnswer(exchange, this.#context);
  }

  #cut(): void {
    const { request, response } = this.#exchange;
    this.isUnderWay = false;
    response.flushHeaders();
    request.socket.destroySoon();
  }

  async #giveWay(): Promise<void> {
    if (this.#sinceTurn < turnBytesMax) return;
    this.#sinceTurn = 0;
    await nextTurn();
    if (this.#isLost) throw gone();
  }

  async #interruptible<T>(
    start: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
  ): Promise<T> {
    if (this.#isLost) throw gone();
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#interrupt = reject;
        start(resolve, reject);
      });
    } finally {
      this.#interrupt = undefined;
    }
  }
}

/** After how many bytes of its body an answer is cut; undefined when it is not. */
function cutOf({ responseFault }: Exchange, { stream }: StreamedReply): number | undefined {
  if (responseFault?.kind !== 'truncate') return undefined;
  if (stream.bytes === undefined) return responseFault.bytes ?? 0;
  return Math.min(responseFault.bytes ?? Math.floor(stream.bytes / 2), stream.bytes - 1);
}
