import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startEcho } from '../../../test/support/echo-server.js';
import { sendBytes, signedRequest } from '../../../test/support/raw-http.js';
import type { Interceptor } from './interceptor.js';

const large = signedRequest({
  target: '/devstoreaccount1/x',
  method: 'POST',
  body: 'x'.repeat(300_000),
});
const bodyBytesMax = 400_000;

async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('the slot of a large request', () => {
  it('is taken by others while a fault delays it', async () => {
    const delayed: (() => void)[] = [];
    let most = 0;
    let atWork = 0;
    const interceptor: Interceptor = {
      isActive: true,
      beforeWork: (request) =>
        request.standAside(() => new Promise((resolve) => delayed.push(resolve))),
    };
    const run = async (): Promise<string> => {
      atWork += 1;
      most = Math.max(most, atWork);
      await turns(3);
      atWork -= 1;
      return 'done';
    };
    await using harness = await startEcho(run, { bodyBytesMax, interceptors: [interceptor] });
    const answers = Array.from({ length: 20 }, () => sendBytes(harness.port, large));
    // All requests, not just eight, get this far.
    while (delayed.length < 20) await turns();
    for (const goOn of delayed) goOn();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.ok(most <= 8, String(most));
  });

  it('is waited for as long as an operation may take, and no longer', async () => {
    const running: (() => void)[] = [];
    let begun = 0;
    const run = (): Promise<string> => {
      begun += 1;
      return new Promise((resolve) => running.push(() => resolve('done')));
    };
    await using harness = await startEcho(run, { bodyBytesMax });
    const answers = Array.from({ length: 10 }, () => sendBytes(harness.port, large));
    while (running.length < 8) await turns();
    while (harness.memory.bytes < 3_000_000) await turns();
    await turns(20);
    harness.clock.advanceMicros(30_001_000);
    harness.timers.fire(250);
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    assert.deepEqual(new Set(statuses), new Set([500]));
    for (const finish of running) finish();
    const next = sendBytes(harness.port, large);
    while (running.length < 9) await turns();
    running.at(-1)?.();
    assert.deepEqual([(await next).text, begun], ['done', 9]);
  });
});
