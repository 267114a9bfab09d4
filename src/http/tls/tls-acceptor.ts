import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import type { Timer, Timers } from '../../base/async/timers.js';
import { ignoreLostClient } from '../exchange/lost-client.js';

/** The certificate for new connections. Open connections keep theirs. */
export interface TlsIdentity {
  readonly context: SecureContext;
}

export interface TlsAcceptorOptions {
  readonly identity: TlsIdentity;
  readonly timers: Timers;
  /** From the opening of a connection to the end of its handshake. */
  readonly handshakeTimeoutMs: number;
  /** Called with a connection that can carry requests. */
  readonly onSecure: (socket: Socket, accepted: Socket) => void;
  /** Called for a plain HTTP request on the TLS port. The callee closes the connection. */
  readonly onPlain: (socket: Socket) => void;
  /** Either side has refused the handshake. */
  readonly onFailed: (error: Error) => void;
}

/**
 * Holds connections of a TLS port until their handshake is done, for at most `handshakeTimeoutMs`,
 * whatever they send.
 */
export class TlsAcceptor {
  readonly #options: TlsAcceptorOptions;
  readonly #waiting = new Set<Socket>();

  constructor(options: TlsAcceptorOptions) {
    this.#options = options;
  }

  /** Adds an unread connection. */
  admit(socket: Socket): void {
    const { timers, handshakeTimeoutMs } = this.#options;
    const timer = timers.start(handshakeTimeoutMs, () => socket.destroy(), undefined);
    this.#waiting.add(socket);
    socket.on('error', ignoreLostClient);
    socket.once('close', () => this.#leave(socket, timer));
    socket.once('readable', () => this.#look(socket, timer));
  }

  /** Closes the connections whose handshake is not done. */
  closeWaiting(): void {
    for (const socket of this.#waiting) socket.destroy();
  }

  #leave(socket: Socket, timer: Timer): void {
    timer.close();
    this.#waiting.delete(socket);
  }

  /** Detects the client's protocol from the first byte. */
  #look(socket: Socket, timer: Timer): void {
    const bytes: unknown = socket.read();
    if (!Buffer.isBuffer(bytes)) socket.destroy();
    else if (isClientHello(bytes)) {
      socket.unshift(bytes);
      this.#shakeHands(socket, timer);
    } else if (beginsAsRequest(bytes)) {
      this.#leave(socket, timer);
      this.#options.onPlain(socket);
    } else socket.destroy();
  }

  #shakeHands(socket: Socket, timer: Timer): void {
    const { identity, onSecure, onFailed } = this.#options;
    const secured = new TLSSocket(socket, {
      isServer: true,
      secureContext: identity.context,
      ALPNProtocols: ['http/1.1'],
    });
    // A renegotiation costs a client little and the server much, so it is refused.
    secured.disableRenegotiation();
    let isSecure = false;
    secured.on('error', (error) => {
      if (!isSecure) onFailed(error);
    });
    secured.once('secure', () => {
      isSecure = true;
      // Node emits protocol errors as 'error' only for its own TLS server.
      secured.once('_tlsError', () => secured.destroy());
      this.#leave(socket, timer);
      onSecure(secured, socket);
    });
  }
}

const handshakeRecord = 0x16;

/** True when bytes begin a TLS handshake. */
export function isClientHello(bytes: Uint8Array): boolean {
  return bytes[0] === handshakeRecord;
}

/** All HTTP methods are in upper-case letters. */
function beginsAsRequest(bytes: Uint8Array): boolean {
  const [first = 0] = bytes;
  return first >= 0x41 && first <= 0x5a;
}
