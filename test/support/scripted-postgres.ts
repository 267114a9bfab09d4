import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { invariant } from '../../src/base/invariant.js';

/** What a scripted server does when it gets a statement. */
export type ScriptedAnswer =
  /** `warns`: behind a warning. */
  | {
      readonly kind: 'rows';
      readonly rows: readonly (readonly (Buffer | string)[])[];
      readonly warns?: boolean;
    }
  /** `fields`: each with its type, as `CXX000`. `ends`: the connection ends behind the error. */
  | { readonly kind: 'error'; readonly fields: readonly string[]; readonly ends: boolean }
  | { readonly kind: 'silence' }
  | { readonly kind: 'end' };

export interface ScriptedPostgres extends AsyncDisposable {
  /** Of a database that the server has, whatever its name. */
  readonly address: string;
  /** All statements so far, in order, without those that every connection begins with. */
  readonly statements: readonly string[];
}

export const noRows: ScriptedAnswer = { kind: 'rows', rows: [] };

/** An integer of eight bytes, as a column. */
export function int8Field(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/** What a primary with suitable settings answers to what every connection begins with. */
const beginnings: readonly (readonly [RegExp, ScriptedAnswer])[] = [
  [
    /transaction_read_only/,
    { kind: 'rows', rows: [['off', 'read committed', '150018', 'on', 'on', 'on']] },
  ],
  [/pg_is_in_recovery/, { kind: 'rows', rows: [['false']] }],
  [/^set /, noRows],
];

/**
 * A server that speaks as much of the protocol of PostgreSQL as the engine uses, and answers
 * statements as a test says. It may answer what real servers rarely do. `refusal`: the fields of
 * the error that a new client gets; without any it is let in. `version`: what it says it is.
 */
export async function scriptedPostgres(
  answerTo: (statement: string) => ScriptedAnswer,
  refusal: () => readonly string[] = () => [],
  version = 'PostgreSQL 15.18',
): Promise<ScriptedPostgres> {
  const statements: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    const letIn = (): void => {
      const fields = refusal();
      if (fields.length === 0) socket.write(welcome);
      else answer(socket, { kind: 'error', fields, ends: true }, []);
    };
    serve(socket, letIn, (statement) => {
      if (statement === 'select version()') return { kind: 'rows', rows: [[version]] };
      const beginning = beginnings.find(([form]) => form.test(statement));
      if (beginning !== undefined) return beginning[1];
      statements.push(statement);
      return answerTo(statement);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = server.address();
  invariant(typeof own === 'object' && own !== null, 'a server that listens has a port');
  return {
    address: `postgres://user:password@127.0.0.1:${own.port}/name`,
    statements,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A message of the protocol: its code, then its length, then its body. */
export function protocolMessage(code: string, body: Buffer | string = ''): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(Buffer.byteLength(body) + 4);
  return Buffer.concat([Buffer.from(code), length, Buffer.from(body)]);
}

/** The body of an error, from its fields with their types. */
export function errorBody(fields: readonly string[]): string {
  return [...fields, ''].map((field) => `${field}\0`).join('');
}

const ready = protocolMessage('Z', 'I');
const warning = protocolMessage('N', errorBody(['SWARNING', 'VWARNING', 'C01000', 'Mtake care']));
/** What a server says to a client that it lets in. */
export const welcome = Buffer.concat([protocolMessage('R', Buffer.alloc(4)), ready]);

function serve(
  socket: Socket,
  letIn: () => void,
  answerTo: (statement: string) => ScriptedAnswer,
): void {
  const prepared = new Map<string, string>();
  let statement = '';
  let isIn = false;
  let rest = Buffer.alloc(0);
  const take = (code: string, body: Buffer): void => {
    const [first = '', second = ''] = body.toString('latin1').split('\0');
    switch (code) {
      case 'Q':
        return answer(socket, answerTo(first), []);
      case 'P':
        prepared.set(first, second);
        return;
      case 'B':
        statement = prepared.get(second) ?? '';
        return;
      case 'S':
        return answer(socket, answerTo(statement), [protocolMessage('2')]);
      default:
    }
  };
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      // The first message has no code.
      const head = isIn ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      const body = rest.subarray(head + 4, end);
      const code = rest.toString('latin1', 0, head);
      rest = rest.subarray(end);
      if (isIn) take(code, body);
      else letIn();
      isIn = true;
    }
  });
}

/** `before`: the messages that come before rows. */
function answer(socket: Socket, what: ScriptedAnswer, before: readonly Buffer[]): void {
  switch (what.kind) {
    case 'silence':
      return;
    case 'end':
      socket.destroy();
      return;
    case 'error': {
      const error = protocolMessage('E', errorBody(what.fields));
      if (what.ends) socket.end(error);
      else socket.write(Buffer.concat([error, ready]));
      return;
    }
    case 'rows': {
      const rows = what.rows.map((row) => protocolMessage('D', rowBody(row)));
      const complete = protocolMessage('C', 'SELECT\0');
      const columns = protocolMessage('T', columnsBody(what.rows[0]?.length ?? 0));
      const warnings = what.warns === true ? [warning] : [];
      socket.write(Buffer.concat([...warnings, ...before, columns, ...rows, complete, ready]));
    }
  }
}

/** Columns without a name, in binary. */
function columnsBody(count: number): Buffer {
  const each = Buffer.alloc(19);
  each.writeInt16BE(1, 17);
  const head = Buffer.alloc(2);
  head.writeInt16BE(count);
  return Buffer.concat([head, ...Array.from({ length: count }, () => each)]);
}

function rowBody(row: readonly (Buffer | string)[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(row.length);
  const fields = row.flatMap((field) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(Buffer.byteLength(field));
    return [length, Buffer.from(field)];
  });
  return Buffer.concat([count, ...fields]);
}
