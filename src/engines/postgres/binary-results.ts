import { invariant } from '../../base/invariant.js';
import type { Client } from 'pg';
import { Parser } from 'pg-protocol/dist/parser.js';

/** What the package has inside, as far as it is used here. */
interface Stream {
  on(event: 'data', listener: (bytes: Buffer) => void): unknown;
}

interface Connection {
  attachListeners(stream: Stream): void;
  emit(event: string, message: unknown): unknown;
}

/**
 * Makes the results of a client binary. The package reads every column as UTF-8, which only texts
 * survive; read as Latin-1, each byte is a character. Call it before the client connects.
 */
export function readAsLatin1(client: Client): void {
  const connection = connectionOf(client);
  connection.attachListeners = (stream) => {
    const parser = new Parser();
    const reader: unknown = Reflect.get(parser, 'reader');
    invariant(typeof reader === 'object' && reader !== null, 'a parser has a reader');
    Reflect.set(reader, 'encoding', 'latin1');
    stream.on('data', (bytes) => {
      parser.parse(bytes, (message) => {
        const { name } = message;
        connection.emit(name === 'error' ? 'errorMessage' : name, message);
      });
    });
  };
}

/** Ends the connection at once; queries under way are rejected. */
export function cutOff(client: Client): void {
  const stream: unknown = Reflect.get(connectionOf(client), 'stream');
  invariant(isDestroyable(stream), 'a connection has a stream');
  stream.destroy();
}

function isDestroyable(stream: unknown): stream is { destroy(): void } {
  return typeof stream === 'object' && stream !== null && 'destroy' in stream;
}

function connectionOf(client: Client): Connection {
  const connection: unknown = Reflect.get(client, 'connection');
  invariant(isConnection(connection), 'a client has a connection');
  return connection;
}

function isConnection(connection: unknown): connection is Connection {
  return typeof connection === 'object' && connection !== null && 'attachListeners' in connection;
}
