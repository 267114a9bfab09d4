import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comesToRest } from './rest.js';

/** A server whose processor time is told one after the other, the last one for ever. */
function serverWith(times: readonly (number | undefined)[]) {
  let looks = 0;
  return {
    usage() {
      const cpuSeconds = times[Math.min(looks, times.length - 1)];
      looks += 1;
      return { cpuSeconds };
    },
    looks: () => looks,
  };
}

describe('the rest of a server', () => {
  it('begins when it takes no more processor time', async () => {
    const waits: number[] = [];
    const pause = (ms: number): Promise<number> => Promise.resolve(waits.push(ms));
    const server = serverWith([1, 1.2, 1.3, 1.31, 9]);
    assert.equal(await comesToRest(server, pause), true);
    assert.equal(server.looks(), 4);
    assert.equal(waits.length, 3);
  });

  it('is not waited for without end', async () => {
    let cpuSeconds = 0;
    const busy = { usage: () => ({ cpuSeconds: (cpuSeconds += 0.1) }) };
    assert.equal(await comesToRest(busy, () => Promise.resolve()), false);
    assert.ok(cpuSeconds < 100);
  });

  it('is assumed where the system does not tell', async () => {
    const server = serverWith([undefined]);
    assert.equal(await comesToRest(server, () => Promise.reject(new Error('waited'))), true);
  });
});
