import { invariant } from '../../base/invariant.js';
import { DatabaseError, type Client } from 'pg';
import { Parser } from 'pg-protocol/dist/parser.js';
import { plainSeverityIn } from './error-severity.js';

/** The internals of the package that are used here. */
interface Stream {
  on(event: 'data', listener: (bytes: Buffer) => void): unknown;
}

interface Connection {
  attachListeners(stream: Stream): void;
  emit(event: string, message: unknown): unknown;
}

/** `length`: the length of the message, including the four bytes of the length itself. */
type HandlePacket = (offset: number, code: number, length: number, bytes: Buffer) => unknown;

/** The code of a message that is a row of a result. */
const dataRow = 'D'.charCodeAt(0);
/** The code of a message that is an error. */
const errorResponse = 'E'.charCodeAt(0);
const int4Bytes = 4;
const int2Bytes = 2;

/**
 * Makes a client return columns as bytes, and errors with the severity that no language changes.
 * The package decodes every column as UTF-8, which damages bytes that are not text, and takes the
 * severity in the language of the server. Call this before the client connects.
 */
export function readAsBytes(client: Client): void {
  const connection = connectionOf(client);
  connection.attachListeners = (stream) => {
    const parser = new Parser();
    const others: unknown = Reflect.get(parser, 'handlePacket');
    invariant(isHandlePacket(others), 'a parser handles packets');
    const handlePacket: HandlePacket = (offset, code, length, bytes) => {
      const bodyBytes = length - int4Bytes;
      if (code === dataRow) {
        return { name: 'dataRow', length, fields: columnsOf(bytes, offset, bodyBytes) };
      }
      const message = others.call(parser, offset, code, length, bytes);
      if (code === errorResponse && message instanceof DatabaseError) {
        message.severity =
          plainSeverityIn(bytes.subarray(offset, offset + bodyBytes)) ?? message.severity;
      }
      return message;
    };
    Reflect.set(parser, 'handlePacket', handlePacket);
    stream.on('data', (bytes) => {
      parser.parse(bytes, (message) => {
        const { name } = message;
        connection.emit(name === 'error' ? 'errorMessage' : name, message);
      });
    });
  };
}

/** Copies the row once, because the parser reuses its buffer. */
function columnsOf(bytes: Buffer, offset: number, length: number): (Buffer | null)[] {
  const row = Buffer.from(bytes.subarray(offset, offset + length));
  const columns: (Buffer | null)[] = [];
  const count = row.readInt16BE(0);
  let at = int2Bytes;
  for (let column = 0; column < count; column += 1) {
    const columnBytes = row.readInt32BE(at);
    at += int4Bytes;
    if (columnBytes === -1) columns.push(null);
    else {
      columns.push(row.subarray(at, at + columnBytes));
      at += columnBytes;
    }
  }
  return columns;
}

/** Ends the connection at once; queries under way are rejected. */
export function cutOff(client: Client): void {
  const stream: unknown = Reflect.get(connectionOf(client), 'stream');
  invariant(isDestroyable(stream), 'a connection has a stream');
  stream.destroy();
}

function isHandlePacket(value: unknown): value is HandlePacket {
  return typeof value === 'function';
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
