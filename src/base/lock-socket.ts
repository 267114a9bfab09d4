import { once } from 'node:events';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { privateFileMode } from './private-files.js';

/** Socket addresses hold 104 to 108 bytes; a longer path is reached through a short link. */
const addressBytesMax = 100;
/** The kernel of a living owner answers at once, even while the process is busy. */
const connectWaitMs = 2_000;

/** A socket whose existence shows that its process is alive. */
export interface LockSocket {
  /** The address for others: a name in the data directory, or an absolute address. */
  readonly name: string;
  close(): Promise<void>;
}

/**
 * Listens without keeping the process alive. `serve` gets each connection, and by default closes
 * it; those that it keeps are closed with the socket.
 */
export async function listenOn(
  directory: string,
  token: string,
  serve: (connection: Socket) => void = (connection) => void connection.destroy(),
): Promise<LockSocket> {
  const fallback = outsideName(token);
  const name = process.platform === 'win32' ? fallback : `owner-${token.slice(0, 8)}.sock`;
  try {
    return await listen(directory, name, serve);
  } catch (error) {
    // Some shared and network file systems have no sockets.
    if (name === fallback) throw error;
    return listen(directory, fallback, serve);
  }
}

/** True when a living process listens there. Also true when that is uncertain. */
export function isListening(directory: string, name: string): Promise<boolean> {
  return withAddress(directory, name, async (address) => {
    const socket = connect(address);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<boolean>((settle) => {
        timer = setTimeout(() => settle(true), connectWaitMs);
        socket.once('connect', () => settle(true));
        socket.once('error', (error: NodeJS.ErrnoException) => {
          settle(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
        });
      });
    } finally {
      clearTimeout(timer);
      socket.destroy();
    }
  });
}

/**
 * Connects to a living process that listens there. Rejects when there is none.
 */
export function connectTo(directory: string, name: string): Promise<Socket> {
  return withAddress(directory, name, async (address) => {
    const socket = connect(address);
    await once(socket, 'connect');
    return socket;
  });
}

/** Removes the socket file of a dead owner. */
export async function removeSocket(directory: string, name: string): Promise<void> {
  if (!isPipe(name)) await rm(resolve(directory, name), { force: true });
}

async function listen(
  directory: string,
  name: string,
  serve: (connection: Socket) => void,
): Promise<LockSocket> {
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connections.add(connection);
    connection.unref();
    connection.once('close', () => connections.delete(connection));
    // An error closes the connection, which is all that is needed.
    connection.on('error', () => undefined);
    serve(connection);
  });
  await withAddress(directory, name, (address) => listening(server, address));
  // When the system refuses a connection, for instance for lack of file descriptors, only this
  // connection is lost. Its client tries again, or knows by then that the process is alive.
  server.on('error', () => undefined);
  server.unref();
  if (!isPipe(name)) await chmod(resolve(directory, name), privateFileMode);
  return {
    name,
    async close() {
      // Node removes the file when the server closes, and blocks the process meanwhile, for as long
      // as the disk does not answer. So a thread of the pool removes it before.
      await removeSocket(directory, name);
      const closed = new Promise((done) => server.close(done));
      for (const connection of connections) connection.destroy();
      await closed;
    },
  };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail);
    // Exclusive, so that a worker of node:cluster listens itself instead of its primary.
    server.listen({ path, exclusive: true }, () => {
      server.off('error', fail);
      done();
    });
  });
}

/** Named pipes of Windows are not files. */
function isPipe(name: string): boolean {
  return name.startsWith('\\\\');
}

function outsideName(token: string): string {
  const name = `tabularium-${token}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

/** Passes an address that is short enough for a socket. */
async function withAddress<T>(
  directory: string,
  name: string,
  use: (address: string) => Promise<T>,
): Promise<T> {
  if (isAbsolute(name) || isPipe(name)) return use(name);
  const path = resolve(directory, name);
  if (Buffer.byteLength(path) <= addressBytesMax) return use(path);
  const temporary = await mkdtemp(join(tmpdir(), 'tabularium-lock-'));
  try {
    await symlink(resolve(directory), join(temporary, 'd'));
    return await use(join(temporary, 'd', name));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
