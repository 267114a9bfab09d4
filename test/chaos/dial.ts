import { connect, type Socket } from 'node:net';
import { connect as connectTls, TLSSocket } from 'node:tls';

/** The TCP connection of each TLS connection: only that can be reset. */
const carriers = new WeakMap<TLSSocket, Socket>();

/** A TLS connection to any server, whatever its certificate. */
export function secureDial(port: number): Socket {
  const carrier = connect(port, '127.0.0.1');
  // An error of the TCP connection ends the TLS connection.
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
