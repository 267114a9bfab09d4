import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { it } from 'node:test';
import { nextTurn } from '../../base/async/turns.js';
import { AbortedError, readBody } from './body.js';
import { freeBody } from './growing-body.js';

/** A received body in chunks of `size` bytes. */
function inPieces(bytes: Buffer, size: number): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  for (let at = 0; at < bytes.length; at += size) request.push(bytes.subarray(at, at + size));
  request.push(null);
  request.complete = true;
  return request;
}

for (const size of [1, 7, 1000, 100_000]) {
  it(`a body in pieces of ${size} bytes takes little more memory than its bytes`, async () => {
    const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, at) => at % 251));
    const growths: number[] = [];
    const body = await readBody(inPieces(bytes, size), 4_194_304, (more) => growths.push(more));
    assert.ok(body.equals(bytes));
    assert.ok(growths.length <= 5, String(growths));
    assert.ok(growths.reduce((sum, each) => sum + each, 0) <= 2 * bytes.length);
    // The memory behind the body is not as large as that of all chunks together.
    assert.ok(body.buffer.byteLength <= 2 * bytes.length);
  });
}

it('a body that says how long it is grows once, into a buffer that another one had', async () => {
  const bytes = Buffer.alloc(150_000, 'tabularium');
  const growths: number[] = [];
  const request = inPieces(bytes, 65_536);
  const count = (more: number): unknown => growths.push(more);
  const body = await readBody(request, 4_194_304, count, bytes.length);
  assert.ok(body.equals(bytes));
  assert.deepEqual(growths, [65_536, 262_144 - 65_536]);
  assert.equal(body.buffer.byteLength, 262_144, 'what is counted is what it takes');
  assert.equal(freeBody(body), 262_144);
  assert.equal(freeBody(body), 0, 'it is given back once');
  const other = Buffer.alloc(140_000, 'other');
  const next = await readBody(inPieces(other, 65_536), 4_194_304, undefined, other.length);
  assert.equal(next.buffer, body.buffer);
  assert.ok(next.equals(other));
  const third = await readBody(inPieces(bytes, 65_536), 4_194_304, undefined, bytes.length);
  assert.notEqual(third.buffer, next.buffer);
  assert.ok(third.equals(bytes) && next.equals(other));
});

it('a body that breaks off gives its buffer back once', async () => {
  const request = new IncomingMessage(new Socket());
  const read = readBody(request, 130_000, undefined, 130_000);
  request.push(Buffer.alloc(65_536, 'a'));
  request.push(Buffer.alloc(60_000, 'b'));
  await new Promise((resolve) => request.once('data', resolve));
  await nextTurn();
  request.push(Buffer.alloc(10_000, 'c'));
  await assert.rejects(read, { code: 'RequestBodyTooLarge' });
  const bytes = Buffer.alloc(125_000, 'next');
  const next = await readBody(inPieces(bytes, 65_536), 130_000, undefined, bytes.length);
  request.destroy();
  await nextTurn();
  const other = await readBody(inPieces(bytes, 65_536), 130_000, undefined, bytes.length);
  assert.notEqual(other.buffer, next.buffer);
});

it('a large body grows where it is, by 64 KiB, and gives its memory back when it is freed', async () => {
  const bytes = Buffer.alloc(3_000_000, 'tabularium');
  const growths: number[] = [];
  const request = inPieces(bytes, 10_007);
  const body = await readBody(request, 4_194_304, (more) => growths.push(more));
  assert.ok(body.equals(bytes));
  assert.ok(growths.every((more) => more <= 65_536));
  const taken = growths.reduce((sum, each) => sum + each, 0);
  assert.equal(body.buffer.byteLength, taken, 'what is counted is what it takes');
  assert.ok(taken < bytes.length + 65_536);
  freeBody(body);
  assert.equal(body.buffer.byteLength, 0);
  freeBody(body);
});

it('a body that is full to the largest there may be is taken, and no byte more', async () => {
  const bytes = Buffer.alloc(300_000, 'x');
  assert.ok((await readBody(inPieces(bytes, 9_000), 300_000)).equals(bytes));
  await assert.rejects(readBody(inPieces(bytes, 9_000), 299_999), { code: 'RequestBodyTooLarge' });
});

it('a body may be refused whenever it grows, and no more of it is taken then', async () => {
  const refusal = new Error('no room');
  const request = inPieces(Buffer.alloc(100_000), 1000);
  const growths: number[] = [];
  const read = readBody(request, 4_194_304, (more) => {
    growths.push(more);
    if (growths.length === 3) throw refusal;
  });
  await assert.rejects(read, refusal);
  assert.equal(growths.length, 3);
  assert.equal(request.isPaused(), true);
});

it('a body whose client has left before it is read ends the request', async () => {
  const request = new IncomingMessage(new Socket());
  request.destroy();
  await assert.rejects(readBody(request, 100), AbortedError);
});
