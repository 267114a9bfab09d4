import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import type { Timer, Timers } from '../../base/async/timers.js';
import { ignoreLostClient } from '../exchange/lost-client.js';

/** Which certificate new connections are shown. Open connections keep the one they have seen. */
export interface TlsIdentity {
  readonly context: SecureContext;
}

export interface DoorwayOptions {
  readonly identity: TlsIdentity;
  readonly timers: Timers;
  /** From the opening of a connection to the end of its handshake. */
  readonly handshakeTimeoutMs: number;
  /** A connection over which requests can come. */
  readonly onSecure: (socket: Socket, accepted: Socket) => void;
  /** Bytes that begin as a request does, without TLS. Whoever is told ends the connection. */
  readonly onPlain: (socket: Socket) => void;
  /** The handshake was refused by one of the sides. */
  readonly onFailed: (error: Error) => void;
}

/**
 * Where connections of a port that speaks TLS wait until their handshake is done. None waits longer
 * than `handshakeTimeoutMs`, whatever it sends or does not send.
 */
export class TlsAcceptor {
  readonly #options: DoorwayOptions;
  readonly #waiting = new Set<Socket>();

  constructor(options: DoorwayOptions) {
    this.#options = options;
  }

  /** Takes in a connection that nobody has read from. */
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

  /** The first byte tells which protocol a client speaks. */
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
    // A further one costs a client little and the server much. Asking for it is an error.
    secured.disableRenegotiation();
    let isSecure = false;
    secured.on('error', (error) => {
      if (!isSecure) onFailed(error);
    });
    secured.once('secure', () => {
      isSecure = true;
      // Node hands errors of the protocol over as 'error' only where its own server accepts.
      secured.once('_tlsError', () => secured.destroy());
      this.#leave(socket, timer);
      onSecure(secured, socket);
    });
  }
}

const handshakeRecord = 0x16;

/** Whether bytes are the beginning of a TLS handshake. */
export function isClientHello(bytes: Uint8Array): boolean {
  return bytes[0] === handshakeRecord;
}

/** Every method of HTTP is in upper-case letters. */
function beginsAsRequest(bytes: Uint8Array): boolean {
  const [first = 0] = bytes;
  return first >= 0x41 && first <= 0x5a;
}
