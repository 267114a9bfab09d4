import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResponseReader } from './response-reader.js';

interface Seen {
  readonly status: number;
  readonly body: string;
}

/** Reads `bytes` as one connection that delivers them in two chunks, split at `cut`. */
function read(bytes: Buffer, cut: number): Seen[] {
  const seen: Seen[] = [];
  const reader = new ResponseReader((status, body) => {
    seen.push({ status, body: Buffer.concat(body).toString() });
  });
  for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
    if (piece.length > 0) reader.push(piece);
  }
  return seen;
}

describe('the response reader', () => {
  const stream = Buffer.from(
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst' +
      'HTTP/1.1 204 No Content\r\nETag: x\r\n\r\n' +
      'HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n' +
      '5\r\nsecon\r\nA\r\nd and more\r\n0\r\n\r\n' +
      'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n',
  );
  const responses: readonly Seen[] = [
    { status: 200, body: 'first' },
    { status: 204, body: '' },
    { status: 202, body: 'second and more' },
    { status: 404, body: '' },
  ];

  it('finds the same responses wherever the bytes are cut', () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      assert.deepEqual(read(stream, cut), responses, `cut at ${cut}`);
    }
  });

  it('counts the bytes of bodies that are not kept, and keeps those of errors', () => {
    const seen: unknown[] = [];
    const reader = new ResponseReader(
      (status, body, bytes) => seen.push([status, Buffer.concat(body).toString(), bytes]),
      { discardsBodies: true },
    );
    reader.push(stream);
    reader.push(Buffer.from('HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nwhy'));
    assert.deepEqual(seen, [
      [200, '', 5],
      [204, '', 0],
      [202, '', 15],
      [404, '', 0],
      [500, 'why', 3],
    ]);
  });

  it('reports nothing before the last byte has come', () => {
    assert.equal(read(stream.subarray(0, stream.length - 1), 0).length, responses.length - 1);
  });

  it('refuses a response whose end cannot be known', () => {
    const bytes = Buffer.from('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n');
    assert.throws(() => read(bytes, 0), /malformed response/);
  });
});
