import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import type { Connection } from './connection.js';
import type { HttpLimits } from './limits.js';

export interface ConnectionEndOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly limits: HttpLimits;
}

/** How long data that the client sent before it saw the close is still read. */
const crossingMs = 100;

/**
 * Closes connections. A connection that is closed with unread bytes is reset, and its client may
 * lose an answer in transit; so both sides end first, within time limits.
 */
export class ConnectionEnd {
  readonly #options: ConnectionEndOptions;

  constructor(options: ConnectionEndOptions) {
    this.#options = options;
  }

  /**
   * Closes an idle connection. A client that is about to send a request gets time to do so, and an
   * answer; data that arrives during the close is discarded.
   */
  endIdle(connection: Connection): void {
    const { clock, timers } = this.#options;
    const waitMs = connection.quietFromMs - clock.monotonicMs();
    const end = () => {
      const { open, socket } = connection;
      if (open.size > 0) return;
      socket.end();
      this.#destroyAfter(crossingMs, socket);
    };
    // Timers run before input in a turn of the event loop.
    const endAfterReading = () => void takeWhatHasArrived().then(end);
    if (waitMs > 0) timers.start(waitMs, endAfterReading, undefined);
    else end();
  }

  /**
   * The client has closed its side. It still gets the answers to its complete requests, within the
   * usual time limits; node closes the connection after the last one.
   */
  clientEnded(connection: Connection): void {
    const { socket } = connection;
    if (connection.open.size > 0) return;
    // Node has closed its side as well. Over TLS the close handshake may never finish.
    if (socket.writableLength === 0) socket.destroy();
    else this.#linger(socket);
  }

  /** Writes the refusal of malformed bytes as the last bytes of the connection. */
  endRefused({ socket, refusal = '', isDetached }: Connection): void {
    this.endWith(socket, refusal);
    if (isDetached) socket.destroySoon();
  }

  endWith(socket: Socket, text: string): void {
    socket.end(text);
    // Otherwise the end of the client would never be read.
    socket.resume();
    this.#linger(socket);
  }

  /** Gives a connection time to close. */
  #linger(socket: Socket): void {
    this.#destroyAfter(this.#options.limits.lingerMs, socket);
  }

  #destroyAfter(delayMs: number, socket: Socket): void {
    const timer = this.#options.timers.start(delayMs, () => socket.destroy(), undefined);
    socket.once('close', () => timer.close());
  }
}

/** Two turns of the event loop accept the connections and requests that the system has ready. */
export async function takeWhatHasArrived(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
