import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { InFlight } from './in-flight.js';

void describe('work in flight', () => {
  void it('lets everybody wait for the end of all of it, failures included', async () => {
    const inFlight = new InFlight();
    await inFlight.none();
    let finish: (result: number) => void = () => undefined;
    let fail: (error: Error) => void = () => undefined;
    const first = inFlight.during(() => new Promise<number>((resolve) => (finish = resolve)));
    const second = inFlight.during(() => new Promise<number>((_, reject) => (fail = reject)));
    const seen: string[] = [];
    const waiting = ['one', 'another'].map((name) => inFlight.none().then(() => seen.push(name)));
    finish(1);
    await turn();
    assert.deepEqual(seen, []);
    fail(new Error('broken'));
    await assert.rejects(second, /broken/);
    await Promise.all(waiting);
    assert.deepEqual(seen, ['one', 'another']);
    assert.equal(await first, 1);
  });

  void it('can be waited for again when more has begun', async () => {
    const inFlight = new InFlight();
    for (let round = 0; round < 2; round += 1) {
      inFlight.begin();
      let isOver = false;
      const over = inFlight.none().then(() => (isOver = true));
      await turn();
      assert.equal(isOver, false);
      inFlight.end();
      await over;
    }
  });
});
