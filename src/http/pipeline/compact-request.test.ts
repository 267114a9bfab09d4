import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { CompactRequest } from './compact-request.js';

const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const text = Array.from({ length: 9000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join('');

/** A body in chunks of `size` characters. */
function inChunks(size: number): string {
  const chunks = text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
  return chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
}

/** A request whose header was received, and a way to send more of it. */
async function received() {
  const server = createServer({ IncomingMessage: CompactRequest }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(head);
  const [request] = (await once(server, 'request')) as [CompactRequest];
  const end = () => {
    socket.destroy();
    server.close();
  };
  return { request, socket, [Symbol.dispose]: end };
}

/** Removes what a request has received and kept, chunk by chunk. */
async function piecesOf(request: CompactRequest): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  await once(request, 'end');
  return pieces;
}

describe('a body', () => {
  for (const size of [1, 3, 500, 4096, 5000]) {
    it(`in chunks of ${size} bytes that nobody reads is kept in few pieces`, async () => {
      using client = await received();
      client.socket.write(`${inChunks(size)}0\r\n\r\n`);
      while (!client.request.complete) await new Promise((resolve) => setImmediate(resolve));
      const pieces = await piecesOf(client.request);
      assert.equal(Buffer.concat(pieces).toString(), text);
      assert.ok(pieces.length <= 10, String(pieces.length));
    });
  }

  it('in chunks that come while it is read is whole', async () => {
    using client = await received();
    const pieces = piecesOf(client.request);
    for (const chunk of inChunks(400).match(/[0-9a-f]+\r\n.*\r\n/g) ?? []) {
      client.socket.write(chunk);
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.socket.write('0\r\n\r\n');
    assert.equal(Buffer.concat(await pieces).toString(), text);
  });
});

/** Sends the bodies of this many clients completely before one of them is read. */
async function arriveTogether(clients: number, bytes: number): Promise<number> {
  let [inThisTurn, most, isDone] = [0, 0, false];
  const ends: Promise<unknown>[] = [];
  const server = createServer({ IncomingMessage: CompactRequest }, (request) => {
    request.on('data', (piece: Buffer) => {
      inThisTurn += piece.length;
      most = Math.max(most, inThisTurn);
    });
    ends.push(once(request, 'end'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const body = Buffer.concat([
    Buffer.from(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`),
    Buffer.alloc(bytes),
  ]);
  const sockets = Array.from({ length: clients }, () =>
    connect((server.address() as AddressInfo).port, '127.0.0.1', function (this: Socket) {
      this.write(body);
    }),
  );
  const count = () => {
    inThisTurn = 0;
    if (!isDone) setImmediate(count);
  };
  count();
  while (ends.length < clients) await once(server, 'request');
  await Promise.all(ends);
  isDone = true;
  for (const socket of sockets) socket.destroy();
  server.close();
  return most;
}

describe('bodies that arrive at once', () => {
  it('are taken in a part at a time, whole in the end', async () => {
    const clients = 16;
    const most = await arriveTogether(clients, 4 << 20);
    // Each body may be read once before the bound is noticed.
    const readBytes = 64 * 1024;
    assert.ok(most <= (1 << 20) + clients * readBytes, `${most} bytes came in one turn`);
  });
});
