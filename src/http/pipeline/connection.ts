import type { Socket } from 'node:net';
import type { Exchange } from '../exchange/exchange.js';
import { ignoreLostClient } from '../exchange/lost-client.js';

/** Bounds of how long a connection without a request is believed to be about to send one. */
const quietMsMin = 25;
const quietMsMax = 250;
/** How much of a long pause counts after one more request. */
const pauseDecay = 0.9;

/**
 * A client's connection and what is under way on it. A client may send requests before it has the
 * answers to earlier ones; they wait, so that a connection has one request at work and one answer
 * in memory at most.
 */
export class Connection {
  readonly socket: Socket;
  /** Exchanges that have no record yet, in the order in which they came. */
  readonly open = new Set<Exchange>();
  /** Of those, the ones whose turn has not come. */
  readonly #waiting: Exchange[] = [];
  /** Set once bytes came that are not HTTP: what to write after the answers still open. */
  refusal: string | undefined = undefined;
  /** A request has asked for a tunnel, after which node reads no other. */
  isDetached = false;

  /** When the last answer had gone or, before the first, when the connection was accepted. */
  #answeredMs: number;
  /** What had come of the connection by then. */
  #answeredBytes = 0;
  /** The longest time that the client has lately taken from an answer to its next request. */
  #pauseMs = 0;

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket;
    this.#answeredMs = nowMs;
    // Node takes its own listener off when a request asks for another protocol.
    socket.on('error', ignoreLostClient);
  }

  /** From when on, without a request, none is to be expected soon. */
  get quietFromMs(): number {
    return this.#answeredMs + Math.min(Math.max(4 * this.#pauseMs, quietMsMin), quietMsMax);
  }

  /** The exchange whose body is still arriving: what breaks the connection now breaks this one. */
  get receiving(): Exchange | undefined {
    for (const exchange of this.open) if (!exchange.request.complete) return exchange;
    return undefined;
  }

  /** True: what comes is a body that is taken in pieces, and whole requests' limit is not for it. */
  unwatchStream(): boolean {
    const { receiving } = this;
    if (receiving?.bodyStream === undefined || receiving.replied) return false;
    receiving.bodyStream.unwatch();
    return true;
  }

  /** The refusal can be written: what came before it has its answers. */
  get refusalIsDue(): boolean {
    if (this.refusal === undefined) return false;
    return this.open.size === (this.receiving === undefined ? 0 : 1);
  }

  /** How many requests have not had their turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** How much has come since the last answer had gone. */
  get bytesSinceAnswer(): number {
    return this.socket.bytesRead - this.#answeredBytes;
  }

  /** An answer has gone. */
  answered(nowMs: number): void {
    this.#answeredMs = nowMs;
    this.#answeredBytes = this.socket.bytesRead;
  }

  /** Takes in a request. True: it is its turn. Otherwise it waits, and nothing more is read. */
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

  /** The request whose turn has come, once the one before it has left `open`. */
  next(): Exchange | undefined {
    const exchange = this.#waiting.shift();
    if (exchange !== undefined && this.#waiting.length === 0) this.socket.resume();
    return exchange;
  }
}
