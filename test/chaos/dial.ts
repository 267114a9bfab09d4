import { connect, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';

/** Over which connection a secure one runs: only that one can be reset. */
const carriers = new WeakMap<TLSSocket, Socket>();

/** A connection over TLS to whoever answers, whatever its certificate. */
export function secureDial(port: number): Socket {
  const carrier = connect(port, '127.0.0.1');
  // Errors of the carrier reach the secure connection as its end.
  carrier.on('error', () => undefined);
  const secure = connectTls({ socket: carrier, rejectUnauthorized: false });
  carriers.set(secure, carrier);
  return secure;
}

/** Ends the connection by a reset (RST), whatever runs over it. */
export function reset(socket: Socket): void {
  const carrier = socket instanceof TLSSocket ? (carriers.get(socket) ?? socket) : socket;
  carrier.resetAndDestroy();
  socket.destroy();
}
