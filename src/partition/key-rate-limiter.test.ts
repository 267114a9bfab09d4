import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holdingTimers, type Timers } from '../base/async/timers.js';
import { manualClock } from '../base/clock.js';
import { KeyRateLimiter } from './key-rate-limiter.js';

/** A limiter of 1,000 keys a second, whose waits pass at once on its clock. */
function limiterWithClock() {
  const clock = manualClock();
  const waits: number[] = [];
  const timers: Timers = {
    start(delayMs, callback, argument) {
      waits.push(delayMs);
      clock.advanceMicros(delayMs * 1_000);
      return holdingTimers.start(0, callback, argument);
    },
  };
  return { limiter: new KeyRateLimiter(1_000, { clock, timers }), clock, waits };
}

describe('the rate limiter of keys', () => {
  it('waits for each key its share of a second', async () => {
    const { limiter, waits } = limiterWithClock();
    await limiter.take(500);
    await limiter.take(20);
    assert.deepEqual(waits, [500, 20]);
  });

  it('does not make up for time that was not used', async () => {
    const { limiter, clock, waits } = limiterWithClock();
    clock.advanceMicros(60_000_000);
    await limiter.take(500);
    assert.deepEqual(waits, [500]);
  });

  it('waits for no less than a millisecond', async () => {
    const { limiter, waits } = limiterWithClock();
    await limiter.take(0);
    assert.deepEqual(waits, []);
  });
});
