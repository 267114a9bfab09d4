import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSecureContext } from 'node:tls';
import * as fc from 'fast-check';
import { startEcho, type EchoServer } from '../../../test/support/echo-server.js';
import {
  openConnection,
  RawConnection,
  send,
  signedRequest,
} from '../../../test/support/raw-http.js';
import {
  streamOf,
  streamService,
  type ObservedStream,
} from '../../../test/support/stream-service.js';
import { makePair } from '../../../test/support/tls-files.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { ReplyStream } from '../exchange/reply-stream.js';
import type { ResponseFault } from '../exchange/response-fault.js';
import type { HttpLimits } from './limits.js';
import { costly } from '../../../test/support/run-length.js';

const target = '/devstoreaccount1/x';
const get = signedRequest({ target });
const pieceBytesMax = 256 * 1024;
const never = () => new Promise<Buffer>(() => undefined);

async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function start(
  download: () => ReplyStream,
  more: { readonly limits?: Partial<HttpLimits>; readonly responseFault?: ResponseFault } = {},
): Promise<EchoServer> {
  const { limits = {}, responseFault } = more;
  const interceptor = {
    isActive: responseFault !== undefined,
    beforeWork: ({ exchange }: { exchange: { responseFault: ResponseFault | undefined } }) => {
      exchange.responseFault = responseFault;
      return Promise.resolve();
    },
  };
  const interceptors = [interceptor];
  const service = streamService({ download });
  return startEcho(() => Promise.resolve(''), { service, limits, interceptors });
}

async function recorded({ records }: EchoServer, count = 1): Promise<void> {
  while (records.length < count) await turns(1);
}

/** The bytes of an answer that arrive until its connection closes. */
async function cut(harness: EchoServer): Promise<string> {
  using connection = new RawConnection(harness.port);
  connection.write(get);
  return (await connection.readToEnd()).toString('latin1');
}

/** An answer of `count` pieces, without an end if `count` is infinite. */
function endless(piece: Buffer): ReplyStream & { asked: number; closed: number } {
  const stream = {
    bytes: undefined,
    asked: 0,
    closed: 0,
    close: () => void (stream.closed += 1),
    pieces: {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          stream.asked += 1;
          return Promise.resolve({ done: false as const, value: piece });
        },
      }),
    },
  };
  return stream;
}

describe('an answer that is sent in pieces', () => {
  for (const isTls of [false, true]) {
    it(`arrives whole, whatever its pieces, ${isTls ? 'over TLS' : 'plain'}`, async () => {
      let stream: ObservedStream = streamOf([]);
      const service = streamService({ download: () => stream });
      const tls = isTls ? { tls: { context: createSecureContext(await makePair()) } } : {};
      await using harness = await startEcho(() => Promise.resolve(''), { service, ...tls });
      using connection = openConnection(harness.port, isTls);
      const size = fc.oneof(
        fc.integer({ min: 0, max: 10 }),
        fc.integer({ min: 0, max: pieceBytesMax }),
      );
      const sizes = fc.array(size, { maxLength: 8 });
      let answers = 0;
      const property = fc.asyncProperty(sizes, fc.boolean(), async (lengths, isKnown) => {
        const pieces = lengths.map((length, nth) => Buffer.alloc(length, nth + 1));
        const whole = Buffer.concat(pieces);
        stream = streamOf(pieces, isKnown ? whole.length : undefined);
        connection.write(get);
        const response = await connection.read();
        assert.equal(response?.status, 200);
        assert.ok(response.body.equals(whole));
        assert.equal(response.header('content-length'), isKnown ? String(whole.length) : undefined);
        answers += 1;
        await recorded(harness, answers);
        await turns(2);
        assert.deepEqual([stream.asked, stream.closed], [pieces.length, 1]);
        assert.equal(harness.records.at(-1)?.bytesSent, whole.length);
        assert.equal(harness.memory.bytes, 0);
      });
      await fc.assert(property, { numRuns: 30 });
    });
  }

  it('is made no faster than its client takes it, and its client is cut off in the end', async () => {
    const stream = endless(Buffer.alloc(pieceBytesMax));
    await using harness = await start(() => stream);
    using connection = new RawConnection(harness.port);
    connection.socket.pause();
    connection.write(get);
    let asked = -1;
    while (asked < stream.asked || asked === 0) {
      asked = stream.asked;
      await turns(100);
    }
    assert.ok(asked < 100, `what the system takes, not ${asked} pieces`);
    assert.equal(harness.memory.bytes, pieceBytesMax);
    harness.timers.fire(250);
    harness.clock.advanceMicros(119_000_000);
    harness.timers.fire(250);
    await turns();
    assert.equal(harness.server.inFlight, 1);
    harness.clock.advanceMicros(1_000_000);
    harness.timers.fire(250);
    await recorded(harness);
    await turns();
    assert.equal(harness.records[0]?.aborted, true);
    assert.deepEqual([harness.memory.bytes, stream.closed], [0, 1]);
    assert.deepEqual(harness.errors, []);
  });

  it('may take longer than any answer may wait, as long as its client takes it', async () => {
    const waiting: ((piece: Buffer) => void)[] = [];
    const piece = () => new Promise<Buffer>((resolve) => waiting.push(resolve));
    const stream = streamOf([piece, piece, piece, piece], 4 * pieceBytesMax);
    await using harness = await start(() => stream);
    using connection = new RawConnection(harness.port);
    connection.write(get);
    for (let nth = 1; nth <= 4; nth += 1) {
      while (waiting.length < nth) await turns(1);
      harness.clock.advanceMicros(29_000_000);
      harness.timers.fire(250);
      waiting[nth - 1]?.(Buffer.alloc(pieceBytesMax));
    }
    assert.equal((await connection.read())?.body.length, 4 * pieceBytesMax);
  });

  it('gives its client as much time for each piece', async () => {
    const stream = endless(Buffer.alloc(pieceBytesMax));
    await using harness = await start(() => stream);
    using connection = new RawConnection(harness.port);
    connection.socket.pause();
    connection.write(get);
    const stands = async () => {
      for (let asked = -1; asked < stream.asked || asked === 0; await turns(100))
        asked = stream.asked;
      harness.timers.fire(250);
    };
    await stands();
    for (let nth = 0; nth < 3; nth += 1) {
      harness.clock.advanceMicros(100_000_000);
      const { asked } = stream;
      connection.socket.resume();
      while (stream.asked < asked + 2) await turns(1);
      connection.socket.pause();
      await stands();
    }
    assert.equal(harness.server.inFlight, 1);
    harness.clock.advanceMicros(120_000_000);
    harness.timers.fire(250);
    await recorded(harness);
  });

  it('may use the memory of a piece for the next one, however short they are', async () => {
    const memory = Buffer.alloc(pieceBytesMax);
    const lengths = [1, 100, pieceBytesMax, 3, 20_000, 1, pieceBytesMax];
    const pieces = lengths.map((length, nth) => () => {
      memory.fill(nth + 1);
      return Promise.resolve(memory.subarray(0, length));
    });
    const whole = Buffer.concat(lengths.map((length, nth) => Buffer.alloc(length, nth + 1)));
    await using harness = await start(() => streamOf(pieces, whole.length));
    using connection = new RawConnection(harness.port);
    connection.write(get);
    assert.ok((await connection.read())?.body.equals(whole));
  });

  it('leaves others their turns, however fast its client is', async () => {
    const pieces = Array.from({ length: 16 }, () => Buffer.alloc(pieceBytesMax));
    await using harness = await start(() => streamOf(pieces));
    const other = { passed: 0, isDone: false };
    const passing = (async () => {
      for (; !other.isDone; other.passed += 1) await turns(1);
    })();
    await send(harness.port, { target });
    other.isDone = true;
    await passing;
    assert.ok(other.passed >= pieces.length, String(other.passed));
  });

  it('has a head without its body, and asks for no piece', async () => {
    const stream = streamOf([Buffer.from('text')], 4);
    await using harness = await start(() => stream);
    using connection = new RawConnection(harness.port);
    connection.write(signedRequest({ target, method: 'HEAD', headers: { Connection: 'close' } }));
    const text = (await connection.readToEnd()).toString();
    assert.match(text, /^HTTP\/1\.1 200 [^]*Content-Length: 4\r\n[^]*\r\n\r\n$/);
    await recorded(harness);
    assert.deepEqual([stream.asked, stream.closed], [0, 1]);
    assert.deepEqual([harness.records[0]?.bytesSent, harness.memory.bytes], [0, 0]);
  });

  it('is refused where memory is short, before a piece is asked for', async () => {
    const held = endless(Buffer.alloc(pieceBytesMax));
    const refused = streamOf([Buffer.from('text')]);
    const streams = [held, refused, streamOf([Buffer.from('short')], 5)];
    const limits = { heldBytesMax: pieceBytesMax + 1000 };
    await using harness = await start(() => streams.shift() ?? refused, { limits });
    using idler = new RawConnection(harness.port);
    idler.socket.pause();
    idler.write(get);
    while (harness.memory.bytes === 0) await turns(1);
    const response = await send(harness.port, { target });
    assert.deepEqual([response.status, response.text], [503, 'ServerBusy']);
    assert.deepEqual([refused.asked, refused.closed], [0, 1]);
    assert.equal((await send(harness.port, { target })).text, 'short');
  });
});

describe('an answer in pieces that fails', () => {
  const failures = [
    [new StorageError('ResourceNotFound'), 404, 'ResourceNotFound', 0],
    [new TypeError('a defect'), 500, 'InternalError', 1],
  ] as const;
  for (const [failure, status, code, logged] of failures) {
    it(`is the error ${code} before its first byte, and broken off behind it`, async () => {
      const fail = () => Promise.reject(failure);
      const early = streamOf([fail], 100);
      const late = [streamOf([Buffer.alloc(50), fail], 100), streamOf([Buffer.alloc(50), fail])];
      const streams = [early, ...late];
      let nth = 0;
      await using harness = await start(() => streams[nth++] ?? early);
      const response = await send(harness.port, { target });
      assert.deepEqual([response.status, response.text], [status, code]);
      for (const stream of late) {
        const text = await cut(harness);
        assert.ok(!text.endsWith('0\r\n\r\n'), 'no end of chunks');
        await recorded(harness, nth);
        const record = harness.records.at(-1);
        assert.deepEqual(
          [record?.status, record?.errorCode, record?.aborted, record?.bytesSent],
          [200, code, true, 50],
        );
        assert.equal(stream.closed, 1);
      }
      assert.equal(early.closed, 1);
      assert.equal(harness.memory.bytes, 0);
      assert.equal(harness.errors.length, 3 * logged);
    });
  }

  it('is broken off where it has other bytes than it says', async () => {
    const streams = [
      streamOf([Buffer.alloc(50)], 51),
      streamOf([Buffer.alloc(50), Buffer.alloc(2)], 51),
    ];
    let nth = 0;
    await using harness = await start(() => streams[nth++] ?? streamOf([]));
    for (const stream of streams) {
      const text = await cut(harness);
      assert.ok(!text.endsWith('\0'.repeat(51)));
      await recorded(harness, nth);
      assert.equal(harness.records.at(-1)?.errorCode, 'InternalError');
      assert.equal(stream.closed, 1);
    }
  });

  it('runs out of time when a piece does not come', async () => {
    const streams = [streamOf([never]), streamOf([Buffer.from('begun'), never])];
    let nth = 0;
    await using harness = await start(() => streams[nth++] ?? streamOf([]));
    for (const [index, stream] of streams.entries()) {
      using connection = new RawConnection(harness.port);
      connection.write(get);
      while (stream.asked <= index) await turns(1);
      await turns();
      harness.clock.advanceMicros(30_000_000);
      harness.timers.fire(250);
      const response = index === 0 ? await connection.read() : undefined;
      if (index === 0)
        assert.deepEqual([response?.status, response?.text], [500, 'OperationTimedOut']);
      else assert.ok(!(await connection.readToEnd()).toString('latin1').endsWith('0\r\n\r\n'));
      await recorded(harness, nth);
      const record = harness.records.at(-1);
      assert.deepEqual([record?.errorCode, record?.aborted], ['OperationTimedOut', index === 1]);
      assert.equal(stream.closed, 1);
    }
    assert.deepEqual([harness.memory.bytes, harness.errors], [0, []]);
  });

  it('is closed at once when its client leaves, wherever it is', costly(), async () => {
    const streams = [
      streamOf([never]),
      streamOf([Buffer.alloc(10), never]),
      endless(Buffer.alloc(pieceBytesMax)),
      endless(Buffer.alloc(1)),
    ];
    let nth = 0;
    await using harness = await start(() => streams[nth++] ?? streamOf([]));
    for (const stream of streams) {
      const connection = new RawConnection(harness.port);
      connection.socket.pause();
      connection.write(get);
      while (stream.asked === 0) await turns(1);
      await turns(30);
      connection.socket.resetAndDestroy();
      await recorded(harness, nth);
      await turns();
      assert.deepEqual([stream.closed, harness.records.at(-1)?.aborted], [1, true]);
    }
    assert.deepEqual([harness.memory.bytes, harness.errors], [0, []]);
  });

  it('is cut off with its connection when the time for closing is over', async () => {
    const stream = streamOf([Buffer.from('begun'), never]);
    await using harness = await start(() => stream);
    using connection = new RawConnection(harness.port);
    connection.write(get);
    while (stream.asked < 2) await turns(1);
    const closed = harness.server.close();
    harness.timers.fire();
    await closed;
    await turns();
    assert.deepEqual([stream.closed, harness.records[0]?.aborted], [1, true]);
  });
});

describe('a fault of an answer in pieces', () => {
  const text = Buffer.from('0123456789');
  const faults = [
    [{ kind: 'drop' }, undefined, ''],
    [{ kind: 'truncate' }, 20, '0123456789'],
    [{ kind: 'truncate', bytes: 15 }, 20, '012345678901234'],
    [{ kind: 'truncate', bytes: 25 }, 20, '0123456789012345678'],
    [{ kind: 'truncate', bytes: 0 }, 20, ''],
    [{ kind: 'truncate', bytes: 15 }, undefined, 'a\r\n0123456789\r\n5\r\n01234\r\n'],
    [{ kind: 'truncate' }, undefined, ''],
  ] as const;
  for (const [responseFault, bytes, sent] of faults) {
    it(`${JSON.stringify(responseFault)} of ${bytes ?? 'unknown'} bytes`, async () => {
      const stream = streamOf([text, text], bytes);
      await using harness = await start(() => stream, { responseFault });
      const answer = await cut(harness);
      if (responseFault.kind === 'drop') assert.equal(answer, '');
      else assert.equal(answer.split('\r\n\r\n').slice(1).join('\r\n\r\n'), sent);
      await recorded(harness);
      assert.deepEqual([stream.closed, harness.memory.bytes], [1, 0]);
      assert.equal(harness.records[0]?.status, 200);
    });
  }
});
