import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import * as fc from 'fast-check';
import { startEcho, type EchoServer } from '../../../test/support/echo-server.js';
import {
  openConnection,
  RawConnection,
  send,
  signedRequest,
} from '../../../test/support/raw-http.js';
import { costly } from '../../../test/support/run-length.js';
import { streamService, type StreamWork } from '../../../test/support/stream-service.js';
import { makePair } from '../../../test/support/tls-files.js';
import { developmentAccount, makeAccountDirectory } from '../../services/accounts/directory.js';
import type { BodyStream } from '../exchange/body-stream.js';
import type { HttpLimits } from './limits.js';
import { deferred } from '../../base/async/deferred.js';

const target = '/devstoreaccount1/x';
const windowBytes = 128 * 1024;
const pieceBytesMin = 32 * 1024;

async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function start(work: StreamWork, limits: Partial<HttpLimits> = {}): Promise<EchoServer> {
  return startEcho(() => Promise.resolve(''), { service: streamService(work), limits });
}

/** The head of a put whose body is sent apart. */
function head(headers: Record<string, string | undefined>): Buffer {
  return signedRequest({
    target,
    method: 'PUT',
    headers: { 'Content-Length': undefined, ...headers },
  });
}

const chunked = { 'Transfer-Encoding': 'chunked' };
const lengthOf = (bytes: number) => ({ 'Content-Length': String(bytes) });
const lastChunk = '0\r\n\r\n';

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
}

function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (at * 7) % 251));
}

/** Waits for the record of the only request. */
async function recorded({ records }: EchoServer, count = 1): Promise<void> {
  while (records.length < count) await turns(1);
}

describe('a body that is taken in pieces', () => {
  for (const isTls of [false, true]) {
    it(
      `arrives whole in pieces of a bounded size, ${isTls ? 'over TLS' : 'plain'}`,
      costly(),
      async () => {
        let pieces: Buffer[] = [];
        let heldMax = 0;
        const upload = async (body: BodyStream) => {
          pieces = [];
          for await (const piece of body) {
            pieces.push(Buffer.from(piece));
            heldMax = Math.max(heldMax, harness.memory.bytes);
          }
          return 'done';
        };
        const service = streamService({ upload });
        const more = isTls
          ? { service, tls: { context: createSecureContext(await makePair()) } }
          : { service };
        await using harness = await startEcho(() => Promise.resolve(''), more);
        using connection = openConnection(harness.port, isTls);
        const size = fc.oneof(
          fc.integer({ min: 0, max: 1000 }),
          fc.integer({ min: 0, max: 600_000 }),
        );
        const cut = fc.oneof(
          fc.integer({ min: 100, max: 3000 }),
          fc.integer({ min: 3000, max: 300_000 }),
        );
        const property = fc.asyncProperty(
          size,
          cut,
          fc.boolean(),
          async (length, step, inChunks) => {
            const bytes = bytesOf(length);
            connection.write(head(inChunks ? chunked : lengthOf(length)));
            for (let at = 0; at < length; at += step) {
              const part = bytes.subarray(at, at + step);
              connection.write(inChunks ? chunk(part) : part);
              if (at % 3 === 0) await turns(1);
            }
            if (inChunks) connection.write(lastChunk);
            assert.equal((await connection.read())?.text, 'done');
            assert.ok(Buffer.concat(pieces).equals(bytes));
            assert.ok(pieces.slice(0, -1).every((piece) => piece.length >= pieceBytesMin));
            assert.ok(pieces.every((piece) => piece.length > 0 && piece.length <= windowBytes));
            await turns(2);
            assert.equal(harness.records.at(-1)?.bytesReceived, length);
          },
        );
        await fc.assert(property, { numRuns: 30 });
        assert.ok(heldMax <= windowBytes, String(heldMax));
        while (harness.memory.bytes !== 0) await turns(1);
      },
    );
  }

  it('is put together of chunks of one byte', async () => {
    let pieces = 0;
    const upload = async (body: BodyStream) => {
      for await (const _ of body) pieces += 1;
      return 'done';
    };
    await using harness = await start({ upload });
    using connection = new RawConnection(harness.port);
    connection.write(head(chunked));
    const one = chunk(Buffer.from('x')).toString();
    for (let part = 0; part < 100; part += 1) {
      connection.write(one.repeat(100));
      await turns(1);
    }
    connection.write(lastChunk);
    assert.equal((await connection.read())?.text, 'done');
    assert.equal(pieces, 1);
  });

  it('is refused by its length before a byte of it is asked for', async () => {
    await using harness = await start({ bodyBytesMax: 1000 });
    using connection = new RawConnection(harness.port);
    connection.write(head({ ...lengthOf(1001), Expect: '100-continue' }));
    const response = await connection.read();
    assert.deepEqual([response?.status, response?.text], [413, 'RequestBodyTooLarge']);
    assert.equal(response?.header('connection'), 'close');
  });

  it('is refused when more has come than may, and its connection closes', async () => {
    await using harness = await start({ bodyBytesMax: 100_000 });
    using connection = new RawConnection(harness.port);
    connection.write(head(chunked));
    connection.write(Buffer.concat([chunk(bytesOf(100_001)), Buffer.from(lastChunk)]));
    const response = await connection.read();
    assert.deepEqual([response?.status, response?.text], [413, 'RequestBodyTooLarge']);
    await recorded(harness);
    assert.equal(harness.memory.bytes, 0);
  });

  it('is asked for when the operation begins to read', async () => {
    const { promise: mayBegin, resolve: begin } = deferred();
    const upload = async (body: BodyStream) => {
      await mayBegin;
      for await (const piece of body) return piece.toString();
      return '';
    };
    await using harness = await start({ upload });
    using connection = new RawConnection(harness.port);
    const headers = { ...lengthOf(4), Expect: '100-continue', Connection: 'close' };
    connection.write(head(headers));
    await turns(50);
    assert.equal(connection.socket.bytesRead, 0);
    begin();
    while (connection.socket.bytesRead === 0) await turns(1);
    connection.write('text');
    const answers = (await connection.readToEnd()).toString();
    assert.match(answers, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 [^]*\r\n\r\ntext$/);
  });

  it('ends only if it is the one that its Content-MD5 is of', async () => {
    let ended = 0;
    const upload = async (body: BodyStream) => {
      for await (const _ of body);
      ended += 1;
      return 'stored';
    };
    await using harness = await start({ upload });
    const body = bytesOf(200_000);
    const put = async (md5: string) => {
      const headers = { 'Content-MD5': md5 };
      return (await send(harness.port, { target, method: 'PUT', body, headers })).text;
    };
    assert.equal(await put(createHash('md5').update(body).digest('base64')), 'stored');
    assert.equal(await put(createHash('md5').update('other').digest('base64')), 'Md5Mismatch');
    assert.equal(await put('text'), 'InvalidMd5');
    assert.equal(ended, 1);
  });

  it('ends only if its sender is still allowed', async () => {
    let ended = 0;
    const known = [developmentAccount, { ...developmentAccount, keys: ['b3RoZXI='] }].map(
      (account) => makeAccountDirectory([account]),
    );
    let current = 0;
    const accounts = { find: (name: string) => known[current]?.find(name) };
    const upload = async (body: BodyStream) => {
      for await (const _ of body) current = 1;
      ended += 1;
      return 'stored';
    };
    const service = streamService({ upload });
    await using harness = await startEcho(() => Promise.resolve(''), { service, accounts });
    const put = { target, method: 'PUT', body: bytesOf(100_000) };
    assert.equal((await send(harness.port, put)).status, 403);
    assert.equal(ended, 0);
  });

  it('may be left: the connection goes on behind a short rest and closes before a long one', async () => {
    const upload = async (body: BodyStream) => {
      for await (const _ of body) return 'enough';
      return 'none';
    };
    await using harness = await start({ upload });
    for (const [more, isKept] of [
      [60_000, true],
      [70_000, false],
    ] as const) {
      using connection = new RawConnection(harness.port);
      connection.write(head(lengthOf(pieceBytesMin + more)));
      connection.write(bytesOf(pieceBytesMin));
      const response = await connection.read();
      assert.equal(response?.text, 'enough');
      assert.equal(response.header('connection') === 'close', !isKept);
      connection.write(bytesOf(more));
      if (isKept) {
        connection.write(signedRequest({ target }));
        assert.equal((await connection.read())?.status, 200);
      } else assert.equal((await connection.readToEnd()).length, 0);
    }
    assert.equal(harness.memory.bytes, 0);
  });

  it('is not read faster than the operation takes it', async () => {
    const { promise: mayGoOn, resolve: goOn } = deferred();
    let bytesRead = () => 0;
    await using harness = await start({
      upload: async (body, exchange) => {
        bytesRead = () => exchange.request.socket.bytesRead;
        let length = 0;
        for await (const piece of body) {
          if (length === 0) await mayGoOn;
          length += piece.length;
        }
        return String(length);
      },
    });
    const length = 32 << 20;
    using connection = new RawConnection(harness.port);
    connection.write(head(lengthOf(length)));
    connection.write(Buffer.alloc(length));
    while (bytesRead() === 0) await turns(1);
    await turns(500);
    assert.ok(bytesRead() < 2 * windowBytes, String(bytesRead()));
    assert.ok(harness.memory.bytes <= windowBytes);
    goOn();
    assert.equal((await connection.read())?.text, String(length));
  });
});

describe('the time for a body that is taken in pieces', () => {
  it('is that of a request for each piece, after which the client is answered 408', async () => {
    const outcomes: unknown[] = [];
    const upload = async (body: BodyStream) => {
      try {
        for await (const piece of body) outcomes.push(piece.length);
      } catch (error) {
        outcomes.push(error instanceof Error && error.name);
        throw error;
      }
      return 'done';
    };
    await using harness = await start({ upload });
    const { clock, timers } = harness;
    const later = async (ms: number) => {
      await turns();
      clock.advanceMicros(ms * 1000);
      timers.fire(250);
      await turns();
    };
    using connection = new RawConnection(harness.port);
    connection.write(head(lengthOf(1 << 20)));
    for (const nth of [1, 2, 3]) {
      // The time of the operation, 30 s, does not run meanwhile.
      await later(100_000);
      connection.write(bytesOf(pieceBytesMin));
      while (outcomes.length < nth) await turns(1);
    }
    connection.write('x');
    await later(119_000);
    assert.equal(harness.records.length, 0);
    await later(1000);
    assert.equal((await connection.read())?.status, 408);
    timers.fire(2000);
    await recorded(harness);
    assert.deepEqual(outcomes, [pieceBytesMin, pieceBytesMin, pieceBytesMin, 'AbortedError']);
    assert.deepEqual([harness.records[0]?.status, harness.memory.bytes], [408, 0]);
    assert.deepEqual(harness.errors, []);
  });

  it('is that of an operation for what is done with a piece', async () => {
    const upload = async (body: BodyStream) => {
      for await (const _ of body) await new Promise(() => undefined);
      return 'never';
    };
    await using harness = await start({ upload });
    using connection = new RawConnection(harness.port);
    connection.write(head(lengthOf(1 << 20)));
    while (harness.server.inFlight === 0) await turns(1);
    await turns();
    harness.clock.advanceMicros(100_000_000);
    connection.write(bytesOf(pieceBytesMin));
    while (harness.memory.bytes < pieceBytesMin) await turns(1);
    await turns();
    for (const micros of [29_000_000, 1_000_000]) {
      assert.equal(connection.socket.bytesRead, 0);
      harness.clock.advanceMicros(micros);
      harness.timers.fire(250);
      await turns();
    }
    const response = await connection.read();
    assert.deepEqual([response?.status, response?.text], [500, 'OperationTimedOut']);
    assert.equal(response?.header('connection'), 'close');
    connection.socket.destroy();
    await recorded(harness);
    assert.equal(harness.memory.bytes, 0);
  });

  it('is not the one that whole requests have', costly(), async () => {
    await using harness = await start({}, { requestTimeoutMs: 600, headersTimeoutMs: 600 });
    using connection = new RawConnection(harness.port);
    connection.write(head(lengthOf(4)));
    connection.write('te');
    // Node looks once a second, and by its own clock.
    await wait(2300);
    connection.write('xt');
    const response = await connection.read();
    assert.deepEqual([response?.status, response?.text], [201, '4']);
    connection.write(signedRequest({ target }));
    assert.equal((await connection.read())?.status, 200);
  });
});

describe('an operation that takes a body in pieces', () => {
  it('learns that its client has left, and nothing stays behind', async () => {
    const sent = [0, 1, pieceBytesMin, 3 * pieceBytesMin, 1_000_000];
    const failures: string[] = [];
    const upload = async (body: BodyStream) => {
      try {
        for await (const _ of body) await turns(1);
      } catch (error) {
        failures.push(error instanceof Error ? error.name : '');
        throw error;
      }
      return 'whole';
    };
    await using harness = await start({ upload });
    for (const [index, bytes] of sent.entries()) {
      const connection = new RawConnection(harness.port);
      connection.write(head(lengthOf(1 << 20)));
      connection.write(Buffer.alloc(bytes));
      while (harness.server.inFlight === 0) await turns(1);
      await turns(index);
      connection.socket.resetAndDestroy();
      await recorded(harness, index + 1);
      assert.equal(harness.records[index]?.aborted, true);
    }
    while (failures.length < sent.length) await turns(1);
    assert.ok(failures.every((name) => name === 'AbortedError'));
    assert.deepEqual([harness.memory.bytes, harness.errors], [0, []]);
  });

  it('is cut off with its connection when the time for closing is over', async () => {
    let failure: unknown;
    const upload = async (body: BodyStream) => {
      try {
        for await (const _ of body);
      } catch (error) {
        failure = error;
        throw error;
      }
      return 'whole';
    };
    await using harness = await start({ upload });
    using connection = new RawConnection(harness.port);
    connection.write(head(lengthOf(1 << 20)));
    while (harness.server.inFlight === 0) await turns(1);
    await turns();
    const closed = harness.server.close();
    harness.timers.fire();
    await closed;
    await turns();
    assert.ok(failure instanceof Error && failure.name === 'AbortedError');
    assert.equal(harness.records[0]?.aborted, true);
  });

  it('keeps its memory while it works, and loses it to others when its client stands still', async () => {
    const held: (() => void)[] = [];
    const upload = async (body: BodyStream) => {
      for await (const _ of body) await new Promise<void>((resolve) => held.push(resolve));
      return 'whole';
    };
    const heldBytesMax = 3 * pieceBytesMin;
    await using harness = await start({ upload }, { heldBytesMax });
    const { memory, clock } = harness;
    using connection = new RawConnection(harness.port);
    connection.write(head(lengthOf(2 * pieceBytesMin)));
    connection.write(bytesOf(pieceBytesMin));
    while (held.length === 0) await turns(1);
    clock.advanceMicros(2_000_000);
    const ask = () => memory.ensureFree({ heldBytes: 0 }, heldBytesMax, heldBytesMax);
    assert.throws(ask, { code: 'ServerBusy' });
    for (const release of held) release();
    await turns();
    connection.write(bytesOf(pieceBytesMin - 1));
    while (memory.bytes < pieceBytesMin - 1) await turns(1);
    clock.advanceMicros(2_000_000);
    ask();
    assert.equal(await connection.read(), undefined);
    await recorded(harness);
    assert.deepEqual([memory.bytes, harness.records[0]?.aborted], [0, true]);
  });
});
