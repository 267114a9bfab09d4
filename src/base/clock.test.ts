import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clockOver, systemClock } from './clock.js';

const startMs = 1_700_000_000_000;

function machine() {
  const times = { wallMs: startMs, monotonicMs: 0 };
  const source = { wallMs: () => Math.floor(times.wallMs), monotonicMs: () => times.monotonicMs };
  const pass = (ms: number) => {
    times.wallMs += ms;
    times.monotonicMs += ms;
  };
  return { times, pass, clock: clockOver(source, startMs) };
}

describe('a clock over the times of a machine', () => {
  it('tells microseconds that the wall clock does not', () => {
    const { pass, clock } = machine();
    pass(0.25);
    assert.equal(clock.nowMicros(), startMs * 1000 + 250);
    pass(1000.125);
    assert.equal(clock.nowMicros(), startMs * 1000 + 1_000_375);
    assert.equal(clock.monotonicMs(), 1000.375);
  });

  it('follows the wall clock after the machine has slept, or the clock was set', () => {
    const { times, pass, clock } = machine();
    const hourMs = 3_600_000;
    for (const stepMs of [8 * hourMs, -hourMs, 100, -100]) {
      times.wallMs += stepMs;
      assert.equal(clock.nowMicros(), times.wallMs * 1000, `${stepMs} ms`);
      pass(5);
      assert.equal(clock.nowMicros(), times.wallMs * 1000, `5 ms after ${stepMs} ms`);
    }
  });

  it('does not jump when the sources are a little apart', () => {
    const { times, clock } = machine();
    for (const stepMs of [50, -99]) {
      times.wallMs = startMs + stepMs;
      assert.equal(clock.nowMicros(), startMs * 1000);
    }
  });

  it('agrees with the time of this machine', () => {
    const before = Date.now();
    const micros = systemClock.nowMicros();
    assert.ok(Math.abs(micros / 1000 - before) < 60_000, `${micros} at ${before}`);
  });
});
