import type { Socket } from 'node:net';
import type { Exchange } from './exchange.js';

/** A client's connection and what is under way on it: with pipelining, several requests. */
export class Connection {
  readonly socket: Socket;
  /** Exchanges that have no record yet. */
  readonly open = new Set<Exchange>();
  /** Set once bytes came that are not HTTP: what to write after the answers still open. */
  refusal: string | undefined = undefined;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** The exchange whose body is still arriving: what breaks the connection now breaks this one. */
  get receiving(): Exchange | undefined {
    for (const exchange of this.open) if (!exchange.request.complete) return exchange;
    return undefined;
  }
}
