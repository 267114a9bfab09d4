import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startEcho } from '../../../test/support/echo-server.js';
import { RawConnection, sendBytes, signedRequest } from '../../../test/support/raw-http.js';
import type { Exchange } from '../exchange/exchange.js';
import { AbortedError } from './body.js';
import { deferred } from '../../base/async/deferred.js';

const echo = { target: '/devstoreaccount1/x' };
const long = 100_000;

async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A server that reads `bytes` for each request at once and responds when the test says so. */
async function start(bytes: number, limits = {}) {
  const exchanges: Exchange[] = [];
  const atWork: (() => void)[] = [];
  const seen = { most: 0, begun: 0 };
  const run = async (): Promise<string> => {
    const { memory } = exchanges.at(-1) ?? assert.fail('no request');
    memory.hold(bytes);
    await memory.enter(bytes);
    seen.begun += 1;
    const finished = new Promise<void>((resolve) => atWork.push(resolve));
    seen.most = Math.max(seen.most, atWork.length);
    await finished;
    return 'x'.repeat(bytes);
  };
  const harness = await startEcho(run, {
    limits,
    onRoute: (exchange) => exchanges.push(exchange),
  });
  return { harness, exchanges, atWork, seen };
}

describe('the memory budget of answers', () => {
  it('has a place for eight long ones, while what was read for the others is counted', async () => {
    const { harness, exchanges, atWork, seen } = await start(long);
    await using _ = harness;
    const answers = Array.from({ length: 20 }, () => sendBytes(harness.port, signedRequest(echo)));
    while (exchanges.length < 20 || atWork.length < 8) await turns();
    await turns(20);
    assert.equal(harness.memory.bytes, 20 * long);
    while (harness.records.length < 20) {
      atWork.shift()?.();
      await turns();
    }
    const texts = (await Promise.all(answers)).map(({ text }) => text.length);
    assert.deepEqual(new Set(texts), new Set([long]));
    assert.deepEqual(seen, { most: 8, begun: 20 });
    assert.equal(harness.memory.bytes, 0);
  });

  it('lets short ones pass', async () => {
    const { harness, atWork } = await start(60_000);
    await using _ = harness;
    const answers = Array.from({ length: 20 }, () => sendBytes(harness.port, signedRequest(echo)));
    while (atWork.length < 20) await turns();
    for (const finish of atWork) finish();
    await Promise.all(answers);
  });

  it('is refused before work when there is no memory', async () => {
    const { harness, atWork } = await start(long, { heldBytesMax: 3 * long });
    await using _ = harness;
    const answers = Array.from({ length: 4 }, () => sendBytes(harness.port, signedRequest(echo)));
    while (harness.records.length < 2) await turns();
    for (const finish of atWork) finish();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 200).length, 2);
    assert.equal(statuses.filter((status) => status === 503).length, 2);
  });

  it('ends a long read whose client has left, which nothing would count any more', async () => {
    const slices = 50;
    const seen: { read: number; ended?: unknown } = { read: 0 };
    const exchanges: Exchange[] = [];
    const { promise: mayReadOn, resolve: readOn } = deferred();
    await using harness = await startEcho(
      async () => {
        const { memory } = exchanges[0] ?? assert.fail('no request');
        try {
          for (; seen.read < slices; seen.read += 1) {
            memory.hold((seen.read + 1) * long);
            await mayReadOn;
          }
        } catch (error) {
          seen.ended = error;
          throw error;
        }
        return 'x';
      },
      { onRoute: (exchange) => exchanges.push(exchange) },
    );
    const leaving = new RawConnection(harness.port);
    leaving.write(signedRequest(echo));
    while (harness.memory.bytes < long) await turns();
    leaving.socket.resetAndDestroy();
    while (harness.records.length < 1) await turns();
    readOn();
    while (seen.ended === undefined && seen.read < slices) await turns();
    assert.equal(seen.read, 1, 'no second slice');
    assert.ok(seen.ended instanceof AbortedError);
    assert.equal(harness.memory.bytes, 0);
    assert.deepEqual(harness.errors, []);
  });

  it('does no work for clients that have left or were told that their time is over', async () => {
    const { harness, exchanges, atWork, seen } = await start(long);
    await using _ = harness;
    const first = Array.from({ length: 8 }, () => sendBytes(harness.port, signedRequest(echo)));
    while (atWork.length < 8) await turns();
    const leaving = new RawConnection(harness.port);
    leaving.write(signedRequest(echo));
    while (exchanges.length < 9) await turns();
    leaving.socket.resetAndDestroy();
    while (harness.records.length < 1) await turns();
    harness.clock.advanceMicros(29_000_000);
    const patient = sendBytes(harness.port, signedRequest(echo));
    while (exchanges.length < 10) await turns();
    harness.clock.advanceMicros(2_000_000);
    harness.timers.fire(250);
    const late = await Promise.all(first);
    assert.deepEqual(new Set(late.map(({ status }) => status)), new Set([500]));
    for (const finish of atWork.splice(0)) finish();
    while (atWork.length < 1) await turns();
    atWork.shift()?.();
    assert.equal((await patient).text.length, long);
    assert.equal(seen.begun, 9);
  });
});
