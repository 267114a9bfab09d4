import { connect } from 'node:net';

/** The bytes that came over a connection until it closed. */
export interface ClosedConnection {
  readonly text: string;
  /** The error code of Node, such as `ECONNRESET`; undefined for an orderly end. */
  readonly error: string | undefined;
}

/** Sends bytes on a new connection and waits until the server closes it. */
export function sendUntilClosed(port: number, bytes: Buffer): Promise<ClosedConnection> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let error: string | undefined;
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', (failure: NodeJS.ErrnoException) => (error = failure.code));
    socket.on('close', () => resolve({ text: Buffer.concat(chunks).toString('latin1'), error }));
  });
}
