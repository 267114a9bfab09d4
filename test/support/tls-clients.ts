import { once } from 'node:events';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { TableClient } from '@azure/data-tables';
import type { StartedServer } from './start-server.js';

export function tableOf(started: StartedServer, name: string, ca = started.server.certificate) {
  return TableClient.fromConnectionString(started.server.connectionString(), name, {
    tlsOptions: { ca: ca ?? '' },
    retryOptions: { maxRetries: 0 },
  });
}

/** A connection after the handshake. */
export async function secured(
  port: number,
  ca: string | undefined,
  options: ConnectionOptions = {},
): Promise<TLSSocket> {
  const socket = connect({
    port,
    host: '127.0.0.1',
    ...(ca === undefined ? {} : { ca }),
    ...options,
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** All bytes until the other side closes, as text. */
export async function textOf(socket: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The error code of a handshake that must fail. */
export async function failureOf(options: ConnectionOptions): Promise<string> {
  const socket = connect(options);
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
  socket.destroy();
  return error.code ?? error.message;
}
