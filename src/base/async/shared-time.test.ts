import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../clock.js';
import { SharedTime } from './shared-time.js';

describe('time that steps share', () => {
  it('gives each step what those before it have left', async () => {
    const clock = manualClock();
    const time = new SharedTime(1_000, clock);
    const takes = (ms: number) => (limitMs: number) => {
      clock.advanceMicros(ms * 1_000);
      return Promise.resolve(limitMs);
    };
    assert.equal(await time.spend(takes(300)), 1_000);
    assert.equal(await time.spend(takes(0)), 700);
    assert.equal(await time.spend(takes(900)), 700);
    assert.equal(await time.spend(takes(10)), 0);
  });

  it('takes from it what a step has needed that fails', async () => {
    const clock = manualClock();
    const time = new SharedTime(1_000, clock);
    const fails = (): Promise<never> => {
      clock.advanceMicros(400_000);
      return Promise.reject(new Error('no'));
    };
    await assert.rejects(time.spend(fails), /no/);
    assert.equal(await time.spend((limitMs) => Promise.resolve(limitMs)), 600);
  });
});
