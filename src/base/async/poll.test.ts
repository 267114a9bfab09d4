import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { immediateTimers } from '../../../test/support/quick-timers.js';
import { poll } from './poll.js';

const delayMs = { first: 10, last: 40 };

describe('poll', () => {
  it('asks until an answer is final, and waits longer each time', async () => {
    const { timers, delays } = immediateTimers();
    let asked = 0;
    const ask = () => Promise.resolve((asked += 1));
    const isFinal = (answer: number) => answer === 6;
    assert.equal(await poll(ask, { delayMs, timers, isFinal }), 6);
    assert.deepEqual(delays, [10, 20, 40, 40, 40]);
  });

  it('waits for nothing when the first answer is final', async () => {
    const { timers, delays } = immediateTimers();
    const ask = () => Promise.resolve('done');
    assert.equal(await poll(ask, { delayMs, timers, isFinal: () => true }), 'done');
    assert.deepEqual(delays, []);
  });

  it('rejects with the first error', async () => {
    const { timers } = immediateTimers();
    const failure = new Error('gone');
    let asked = 0;
    const ask = () => ((asked += 1) === 2 ? Promise.reject(failure) : Promise.resolve(asked));
    await assert.rejects(poll(ask, { delayMs, timers, isFinal: () => false }), failure);
  });
});
