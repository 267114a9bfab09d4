import { connect, type Socket } from 'node:net';
import { readResponse, type WireResponse } from './response.js';

/**
 * Without a response for this long, the server is taken to hang. Generous, so that only a hang
 * exceeds it on a busy machine.
 */
const answerTimeoutMs = 180_000;

interface Waiting {
  readonly toHead: boolean;
  readonly resolve: (response: WireResponse) => void;
  readonly reject: (error: Error) => void;
}

/** Opens a connection to a port of this machine. */
export type Dial = (port: number) => Socket;

export const plainDial: Dial = (port) => connect(port, '127.0.0.1');

/**
 * A keep-alive connection that sends exact bytes. Requests are sent in sequence; a connection that
 * the server has closed is opened again for the next request.
 */
export class WireConnection {
  readonly #port: number;
  readonly #dial: Dial;
  #socket: Socket | undefined;
  #chunks: Buffer[] = [];
  #waiting: Waiting | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(port: number, dial: Dial = plainDial) {
    this.#port = port;
    this.#dial = dial;
  }

  exchange(bytes: Buffer, toHead = false): Promise<WireResponse> {
    const answer = this.#queue.then(() => this.#exchange(bytes, toHead));
    this.#queue = answer.catch(() => {});
    return answer;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #exchange(bytes: Buffer, toHead: boolean): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.close();
        this.#settle(() => reject(new Error(`no answer within ${answerTimeoutMs} ms`)));
      }, answerTimeoutMs);
      this.#waiting = {
        toHead,
        resolve: (response) => {
          clearTimeout(timer);
          resolve(response);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.#chunks = [];
      this.#open().write(bytes);
    });
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = this.#dial(this.#port);
    socket.setNoDelay(true);
    socket.on('data', (chunk) => {
      this.#chunks.push(chunk);
      this.#read(socket, false);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      this.#read(socket, true);
      const waiting = this.#waiting;
      this.#settle(() => waiting?.reject(new Error('the server closed without a whole answer')));
    });
    this.#socket = socket;
    return socket;
  }

  #read(socket: Socket, ended: boolean): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const received = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    if (received === undefined) return;
    this.#chunks = [received];
    const framed = readResponse(received, { toHead: waiting.toHead, ended });
    if (framed === undefined) return;
    if (/^close$/i.test(framed.response.header('connection') ?? '')) {
      if (this.#socket === socket) this.#socket = undefined;
      socket.end();
    }
    this.#settle(() => waiting.resolve(framed.response));
  }

  #settle(conclude: () => void): void {
    if (this.#waiting === undefined) return;
    this.#waiting = undefined;
    conclude();
  }
}

/** As long for a connection that the server is to close. */
const closeTimeoutMs = 60_000;

/**
 * Sends bytes on a new connection and collects the response until the server closes, or until no
 * bytes have arrived for `quietMs`, which whoever expects no close has to give.
 */
export function sendBytes(
  port: number,
  bytes: Buffer | string,
  options: { readonly endAfter?: boolean; readonly quietMs?: number } = {},
): Promise<{ readonly received: Buffer; readonly closed: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1');
    const finish = (closed: boolean) => {
      socket.destroy();
      resolve({ received: Buffer.concat(chunks), closed });
    };
    socket.setTimeout(options.quietMs ?? closeTimeoutMs, () => finish(false));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => finish(true));
    socket.write(bytes);
    if (options.endAfter === true) socket.end();
  });
}
