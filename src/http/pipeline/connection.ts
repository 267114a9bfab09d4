import type { Socket } from 'node:net';
import type { Exchange } from '../exchange/exchange.js';
import { ignoreLostClient } from '../exchange/lost-client.js';
import { writeOnePieceAtOnce } from './one-piece-writes.js';

/** Bounds of how long an idle connection is expected to send another request soon. */
const quietMsMin = 25;
const quietMsMax = 250;
/** The weight of a long pause after one more request. */
const pauseDecay = 0.9;

/**
 * A client's connection and its requests. A client may pipeline requests; they wait, so that a
 * connection has at most one request in progress and one answer in memory.
 */
export class Connection {
  readonly socket: Socket;
  /** Exchanges without a record, in order of arrival. */
  readonly open = new Set<Exchange>();
  /** Requests that wait for their turn. */
  readonly #waiting: Exchange[] = [];
  /** Set when bytes came that are not HTTP: written after the remaining answers. */
  refusal: string | undefined = undefined;
  /** A request has asked for a tunnel; node reads no further requests. */
  isDetached = false;

  /** When the last answer was sent or, before the first, when the connection was accepted. */
  #answeredMs: number;
  /** The bytes that had been received at that time. */
  #answeredBytes = 0;
  /** The longest recent time of the client from an answer to its next request. */
  #pauseMs = 0;

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket;
    this.#answeredMs = nowMs;
    // Node removes its own listener when a request asks for another protocol.
    socket.on('error', ignoreLostClient);
    writeOnePieceAtOnce(socket);
  }

  /** The time after which an idle connection is not expected to send a request soon. */
  get quietFromMs(): number {
    return this.#answeredMs + Math.min(Math.max(4 * this.#pauseMs, quietMsMin), quietMsMax);
  }

  /** The exchange whose body is still arriving; an error of the connection ends it. */
  get receiving(): Exchange | undefined {
    for (const exchange of this.open) if (!exchange.request.complete) return exchange;
    return undefined;
  }

  /**
   * Returns true when the incoming body is streamed; the time limit of whole requests then does not
   * apply.
   */
  unwatchStream(): boolean {
    const { receiving } = this;
    if (receiving?.bodyStream === undefined || receiving.replied) return false;
    receiving.bodyStream.unwatch();
    return true;
  }

  /** True when the refusal can be written: all answers before it were sent. */
  get refusalIsDue(): boolean {
    if (this.refusal === undefined) return false;
    return this.open.size === (this.receiving === undefined ? 0 : 1);
  }

  /** The number of requests that wait for their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** The bytes received since the last answer was sent. */
  get bytesSinceAnswer(): number {
    return this.socket.bytesRead - this.#answeredBytes;
  }

  /** Called when an answer was sent. */
  answered(nowMs: number): void {
    this.#answeredMs = nowMs;
    this.#answeredBytes = this.socket.bytesRead;
  }

  /** Adds a request. Returns true when it may start; otherwise it waits, and reading stops. */
  enter(exchange: Exchange): boolean {
    this.open.add(exchange);
    if (this.open.size === 1) {
      this.#pauseMs = Math.max(exchange.startMs - this.#answeredMs, this.#pauseMs * pauseDecay);
      return true;
    }
    this.#waiting.push(exchange);
    this.socket.pause();
    return false;
  }

  /** The next waiting request, once the one before it has left `open`. */
  next(): Exchange | undefined {
    const exchange = this.#waiting.shift();
    if (exchange !== undefined && this.#waiting.length === 0) this.socket.resume();
    return exchange;
  }
}
