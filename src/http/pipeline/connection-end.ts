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

/** So long is read what a client has sent before it has seen that its connection ends. */
const crossingMs = 100;

/**
 * How connections end. A connection that is closed with unread bytes is reset, and its client may
 * lose an answer that is on its way; so both sides end first, within bounds.
 */
export class ConnectionEnd {
  readonly #options: ConnectionEndOptions;

  constructor(options: ConnectionEndOptions) {
    this.#options = options;
  }

  /**
   * Ends a connection without a request. A client that is about to send one gets the time to do so,
   * and its answer; what it sends while both sides end is read and thrown away.
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
    // In a turn of the loop timers come before what has arrived.
    const endAfterReading = () => void takeWhatHasArrived().then(end);
    if (waitMs > 0) timers.start(waitMs, endAfterReading, undefined);
    else end();
  }

  /**
   * The client will send no more. It gets the answers to what it has sent whole, within the times
   * that every answer has; node ends the connection behind the last of them.
   */
  clientEnded(connection: Connection): void {
    const { socket } = connection;
    if (connection.open.size > 0) return;
    // Node has ended its side as well. Over TLS that may never be finished.
    if (socket.writableLength === 0) socket.destroy();
    else this.#linger(socket);
  }

  /** Writes the refusal of what broke a connection, as its last bytes. */
  endRefused({ socket, refusal = '', isDetached }: Connection): void {
    this.endWith(socket, refusal);
    if (isDetached) socket.destroySoon();
  }

  endWith(socket: Socket, text: string): void {
    socket.end(text);
    // Or the client's end would never be read.
    socket.resume();
    this.#linger(socket);
  }

  /** Gives a connection that is to end the time to do so. */
  #linger(socket: Socket): void {
    this.#destroyAfter(this.#options.limits.lingerMs, socket);
  }

  #destroyAfter(delayMs: number, socket: Socket): void {
    const timer = this.#options.timers.start(delayMs, () => socket.destroy(), undefined);
    socket.once('close', () => timer.close());
  }
}

/** Connections and requests that the system holds ready are taken in by two turns of the loop. */
export async function takeWhatHasArrived(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}
