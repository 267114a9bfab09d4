import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextTurn } from '../../base/async/turns.js';
import type { Exchange } from '../exchange/exchange.js';
import { startEcho as start } from '../../../test/support/echo-server.js';
import {
  plainRequest,
  RawConnection,
  sendBytes,
  signedRequest,
} from '../../../test/support/raw-http.js';
import { deferred } from '../../base/async/deferred.js';
import { costly } from '../../../test/support/run-length.js';

const echo = { target: '/devstoreaccount1/x' };

/** Lets the server's events that are already under way happen. */
async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** An operation that is in flight until a test finishes it. */
function heldOperation() {
  let finish: (text: string) => void = () => undefined;
  const { promise: running, resolve: begun } = deferred();
  return {
    /** Resolves when the operation has begun. */
    running,
    run: (): Promise<string> => {
      begun();
      return new Promise((resolve) => (finish = resolve));
    },
    finish: (text: string) => finish(text),
  };
}

describe('the server', () => {
  it('answers 500 and logs the cause when an operation fails unexpectedly', async () => {
    await using harness = await start(() => Promise.reject(new TypeError('a defect')));
    const response = await sendBytes(harness.port, signedRequest(echo));
    assert.deepEqual([response.status, response.text], [500, 'InternalError']);
    assert.deepEqual(harness.errors, ['a request failed unexpectedly']);
    await turns();
    assert.equal(harness.records[0]?.errorCode, 'InternalError');
  });

  it('answers OperationTimedOut when the time is over and drops the late result', async () => {
    const operation = heldOperation();
    await using harness = await start(operation.run);
    using connection = new RawConnection(harness.port);
    connection.write(signedRequest({ target: `${echo.target}?timeout=2` }));
    await operation.running;
    harness.clock.advanceMicros(1_999_000);
    harness.timers.fire();
    await turns();
    assert.equal(harness.records.length, 0);
    harness.clock.advanceMicros(1000);
    harness.timers.fire();
    const response = await connection.read();
    assert.deepEqual([response?.status, response?.text], [500, 'OperationTimedOut']);
    operation.finish('too late');
    await turns();
    assert.equal(harness.records.length, 1);
    assert.deepEqual(harness.errors, []);
  });

  it('lets an operation take as many times the limit as it may, and no longer', async () => {
    for (const [query, seconds] of [
      ['', 60],
      ['?timeout=0', 60],
      ['?timeout=45', 45],
      ['?timeout=600', 60],
    ] as const) {
      const { promise: running, resolve: begun } = deferred();
      await using harness = await start(
        () => {
          begun();
          return new Promise(() => undefined);
        },
        { timeLimits: 2 },
      );
      using connection = new RawConnection(harness.port);
      connection.write(signedRequest({ target: `${echo.target}${query}` }));
      await running;
      harness.clock.advanceMicros(seconds * 1_000_000 - 1_000);
      harness.timers.fire();
      await turns();
      assert.equal(harness.records.length, 0, query);
      harness.clock.advanceMicros(1000);
      harness.timers.fire();
      assert.equal((await connection.read())?.text, 'OperationTimedOut', query);
    }
  });

  it('takes in the clients that wait at its port before long work goes on', async () => {
    const clients = 40;
    const arrived: Exchange[] = [];
    await using harness = await start(() => Promise.resolve('fine'), {
      onRoute: (exchange) => arrived.push(exchange),
    });
    const request = signedRequest(echo);
    const answers = Array.from({ length: clients }, () => sendBytes(harness.port, request));
    let slices = 0;
    for (; arrived.length < clients; slices += 1) await nextTurn();
    await Promise.all(answers);
    assert.ok(slices < clients / 4, `${slices} slices of work before ${clients} clients`);
  });

  it('lets no observer break a request or the other observers', async () => {
    const observer = () => {
      throw new Error('observer');
    };
    await using harness = await start(() => Promise.resolve('fine'), { observer });
    const response = await sendBytes(harness.port, signedRequest(echo));
    assert.equal(response.text, 'fine');
    await turns();
    assert.equal(harness.records.length, 1);
    assert.deepEqual(harness.errors, ['an observer of requests failed']);
  });

  it('records a client that goes away while its request runs, once, as aborted', async () => {
    const operation = heldOperation();
    await using harness = await start(operation.run);
    const connection = new RawConnection(harness.port);
    connection.write(signedRequest(echo));
    await operation.running;
    connection.socket.resetAndDestroy();
    while (harness.records.length === 0) await turns(1);
    operation.finish('nobody reads this');
    await turns();
    assert.equal(harness.records.length, 1);
    assert.equal(harness.records[0]?.aborted, true);
    assert.equal(harness.server.inFlight, 0);
    assert.deepEqual(harness.errors, []);
  });

  it('finishes what is in flight and closes idle connections when it closes', async () => {
    const operation = heldOperation();
    await using harness = await start(operation.run);
    using idle = new RawConnection(harness.port);
    idle.write(plainRequest({ target: '/nobody', headers: { Host: 'x' } }));
    assert.equal((await idle.read())?.status, 404);
    using busy = new RawConnection(harness.port);
    busy.write(signedRequest(echo));
    await operation.running;
    harness.clock.advanceMicros(1_000_000);
    const closed = harness.server.close();
    assert.equal(await idle.read(), undefined);
    operation.finish('done');
    const response = await busy.read();
    assert.equal(response?.text, 'done');
    assert.equal(response.header('connection'), 'close');
    await closed;
  });

  it('cuts off what does not finish in the time for closing', async () => {
    const operation = heldOperation();
    await using harness = await start(operation.run);
    using busy = new RawConnection(harness.port);
    busy.write(signedRequest(echo));
    await operation.running;
    const closed = harness.server.close();
    harness.timers.fire();
    assert.equal(await busy.read(), undefined);
    await closed;
    assert.equal(harness.records[0]?.aborted, true);
  });

  it('begins the next request of a connection when the answer before it is gone', async () => {
    const finish: ((text: string) => void)[] = [];
    await using harness = await start(() => new Promise((resolve) => finish.push(resolve)));
    using connection = new RawConnection(harness.port);
    connection.write(Buffer.concat([1, 2, 3].map(() => signedRequest(echo))));
    for (const nth of [1, 2, 3]) {
      while (harness.server.inFlight + harness.records.length < 3) await turns(1);
      while (finish.length < nth) await turns(1);
      await turns();
      assert.equal(finish.length, nth);
      finish.at(-1)?.(`answer ${nth}`);
      assert.equal((await connection.read())?.text, `answer ${nth}`);
    }
  });

  it('begins no other request while a client does not take an answer', async () => {
    let begun = 0;
    await using harness = await start(() => {
      begun++;
      return Promise.resolve('x'.repeat(16 * 1024 * 1024));
    });
    using connection = new RawConnection(harness.port);
    connection.socket.pause();
    connection.write(Buffer.concat(Array.from({ length: 20 }, () => signedRequest(echo))));
    while (harness.server.inFlight < 20) await turns(1);
    await turns(100);
    assert.equal(begun, 1);
  });

  it('cuts off a client that sends requests and waits for no answer', async () => {
    const limits = { waitingRequestsMax: 5 };
    await using harness = await start(() => new Promise<string>(() => undefined), { limits });
    using patient = new RawConnection(harness.port);
    patient.write(Buffer.concat(Array.from({ length: 6 }, () => signedRequest(echo))));
    while (harness.server.inFlight < 6) await turns(1);
    using connection = new RawConnection(harness.port);
    connection.write(Buffer.concat(Array.from({ length: 40 }, () => signedRequest(echo))));
    assert.equal(await connection.read(), undefined);
    assert.equal(harness.server.inFlight, 6);
    assert.equal(harness.records.length, 7, 'what came with the seventh does not count');
    assert.ok(harness.records.every(({ aborted }) => aborted));
    assert.deepEqual(harness.warnings, [
      'a client was cut off that sends requests and does not wait for answers',
    ]);
    patient.socket.resetAndDestroy();
  });

  it(
    'refuses work while answers that nobody takes fill its memory, then cuts their clients off',
    costly(),
    async () => {
      const large = 'x'.repeat(12 * 1024 * 1024);
      const limits = { heldBytesMax: large.length + 1000 };
      const answers = [large, large, 'small', large];
      await using harness = await start(() => Promise.resolve(answers.shift() ?? ''), { limits });
      using idler = new RawConnection(harness.port);
      idler.socket.pause();
      idler.write(signedRequest(echo));
      while (answers.length === 4 || harness.memory.bytes === 0) await turns(1);
      const refused = await sendBytes(harness.port, signedRequest(echo));
      assert.deepEqual([refused.status, refused.text], [503, 'ServerBusy']);
      assert.equal(refused.header('retry-after'), '1');
      assert.equal((await sendBytes(harness.port, signedRequest(echo))).text, 'small');
      harness.clock.advanceMicros(1_001_000);
      const served = await sendBytes(harness.port, signedRequest(echo));
      assert.deepEqual([served.status, served.text.length], [200, large.length]);
      while (harness.records.length < 4) await turns(1);
      assert.deepEqual(
        harness.records.map(({ status, aborted }) => [status, aborted]),
        [
          [503, false],
          [200, false],
          [200, true],
          [200, false],
        ],
      );
      assert.equal(harness.memory.bytes, 0);
    },
  );

  it('works on eight large bodies at a time, and gives their memory back when they have been used', async () => {
    const exchanges: Exchange[] = [];
    const running: (() => void)[] = [];
    let most = 0;
    const run = (): Promise<string> => {
      most = Math.max(most, running.length + 1);
      return new Promise((resolve) => running.push(() => resolve('done')));
    };
    const seen = { onRoute: (exchange: Exchange) => exchanges.push(exchange) };
    await using harness = await start(run, { bodyBytesMax: 400_000, ...seen });
    const post = signedRequest({ ...echo, method: 'POST', body: 'x'.repeat(300_000) });
    const answers = Array.from({ length: 20 }, () => sendBytes(harness.port, post));
    while (exchanges.length < 20 || running.length < 8) await turns(1);
    while (exchanges.some(({ bytesReceived }) => bytesReceived === 0)) await turns(1);
    await turns();
    const eight = running.splice(0);
    for (const done of eight) done();
    while (running.length < 8) await turns(1);
    // This holds also for a request that timed out: its work still reads the body.
    harness.clock.advanceMicros(31_000_000);
    harness.timers.fire(250);
    const lengths = exchanges.map(({ body }) => body.length);
    while (exchanges.some(({ body }) => body.buffer.byteLength > 0)) {
      for (const done of running.splice(0)) done();
      await turns(1);
    }
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 8);
    assert.equal(statuses.filter((status) => status === 500).length, 12);
    assert.equal(most, 8);
    assert.deepEqual(new Set(lengths), new Set([0, 300_000]));
    assert.equal(harness.memory.bytes, 0);
  });

  it('cuts off clients that stand still in the middle of a body when memory is short', async () => {
    const limits = { heldBytesMax: 60_000 };
    const more = { limits, bodyBytesMax: 100_000 };
    await using harness = await start(() => Promise.resolve('fine'), more);
    const body = 'x'.repeat(40_000);
    const post = signedRequest({ ...echo, method: 'POST', body });
    using idler = new RawConnection(harness.port);
    idler.write(post.subarray(0, post.length - 1));
    while (harness.memory.bytes < 20_000) await turns(1);
    assert.equal((await sendBytes(harness.port, post)).text, 'ServerBusy');
    harness.clock.advanceMicros(1_001_000);
    assert.equal((await sendBytes(harness.port, post)).text, 'fine');
    assert.equal(await idler.read(), undefined);
    while (harness.memory.bytes > 0) await turns(1);
  });

  it('answers a request that had come when the time of its idle connection was over', async () => {
    await using harness = await start(() => Promise.resolve('fine'));
    using connection = new RawConnection(harness.port);
    connection.write(signedRequest(echo));
    assert.equal((await connection.read())?.status, 200);
    const closed = harness.server.close();
    await turns();
    connection.write(signedRequest(echo));
    harness.timers.fire(250);
    const answer = await connection.read();
    assert.deepEqual([answer?.status, answer?.header('connection')], [200, 'close']);
    connection.socket.destroy();
    harness.timers.fire(250);
    await closed;
  });

  it('answers what came before a broken body, and then refuses it', async () => {
    let finish: (text: string) => void = () => undefined;
    await using harness = await start(() => new Promise((resolve) => (finish = resolve)));
    using connection = new RawConnection(harness.port);
    const broken = `POST ${echo.target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx`;
    connection.write(Buffer.concat([signedRequest(echo), Buffer.from(broken)]));
    while (harness.server.inFlight < 2) await turns(1);
    await turns();
    finish('first');
    assert.equal((await connection.read())?.text, 'first');
    assert.equal((await connection.read())?.status, 400);
    assert.equal(await connection.read(), undefined);
    while (harness.records.length < 2) await turns(1);
    assert.deepEqual(
      harness.records.map(({ status }) => status),
      [200, 400],
    );
  });

  it('closes connections beyond the limit', async () => {
    const limits = { connectionsMax: 1 };
    await using harness = await start(() => Promise.resolve('fine'), { limits });
    using first = new RawConnection(harness.port);
    first.write(signedRequest(echo));
    assert.equal((await first.read())?.status, 200);
    using second = new RawConnection(harness.port);
    assert.equal(await second.read(), undefined);
  });

  it('refuses a request line that waits too long for its header', costly(), async () => {
    const limits = { headersTimeoutMs: 600, requestTimeoutMs: 600 };
    await using harness = await start(() => Promise.resolve('fine'), { limits });
    using connection = new RawConnection(harness.port);
    connection.write('GET / HTTP/1.1\r\nHost: x\r\n');
    assert.equal((await connection.read())?.status, 408);
    assert.deepEqual(
      harness.records.map(({ status }) => status),
      [408],
    );
  });
});
