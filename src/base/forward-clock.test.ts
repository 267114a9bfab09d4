import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { manualClock } from './clock.js';
import { forwardClock } from './forward-clock.js';

const second = 1_000_000;
const day = 86_400 * second;

/** A wall clock that can be set, beside a clock of elapsed time that cannot. */
function machine() {
  const running = manualClock();
  let set = 0;
  const clock = {
    nowMicros: () => running.nowMicros() + set,
    monotonicMs: () => running.monotonicMs(),
  };
  return {
    clock,
    forward: forwardClock(clock),
    pass: (micros: number) => running.advanceMicros(micros),
    setBy: (micros: number) => {
      set += micros;
    },
  };
}

describe('a clock that never steps back', () => {
  it('is the wall clock while that goes on', () => {
    const { clock, forward, pass, setBy } = machine();
    for (const step of [1, second, day]) {
      pass(step);
      assert.equal(forward.nowMicros(), clock.nowMicros());
      setBy(step);
      assert.equal(forward.nowMicros(), clock.nowMicros());
    }
  });

  it('goes on from where it was when the wall clock is set back, a tenth slower', () => {
    const { forward, pass, setBy } = machine();
    const before = forward.nowMicros();
    setBy(-day);
    assert.equal(forward.nowMicros(), before);
    pass(10 * second);
    assert.equal(forward.nowMicros(), before + 9 * second);
    pass(100 * second);
    assert.equal(forward.nowMicros(), before + 99 * second);
  });

  it('is the wall clock again once that has caught up', () => {
    const { clock, forward, pass, setBy } = machine();
    forward.nowMicros();
    setBy(-60 * second);
    for (let minute = 0; minute < 9; minute += 1) {
      pass(60 * second);
      assert.ok(forward.nowMicros() > clock.nowMicros(), `minute ${minute}`);
    }
    for (let minute = 0; minute < 2; minute += 1) {
      pass(60 * second);
      forward.nowMicros();
    }
    assert.equal(forward.nowMicros(), clock.nowMicros());
    setBy(day);
    assert.equal(forward.nowMicros(), clock.nowMicros());
  });

  it('waits for a wall clock that is behind by less than a second', () => {
    const { clock, forward, pass, setBy } = machine();
    const before = forward.nowMicros();
    setBy(-second / 2);
    assert.equal(forward.nowMicros(), before);
    pass(second);
    assert.equal(forward.nowMicros(), clock.nowMicros());
  });

  it('goes on from a moment that others have seen', () => {
    const { clock, forward, pass } = machine();
    const now = clock.nowMicros();
    forward.atLeast(now + day);
    assert.equal(forward.nowMicros(), now + day);
    pass(10 * second);
    assert.equal(forward.nowMicros(), now + day + 9 * second);
    forward.atLeast(now);
    assert.equal(forward.nowMicros(), now + day + 9 * second);
  });

  it('never tells less than before, whatever happens to the wall clock', () => {
    const step = fc.record({
      set: fc.constantFrom(0, 0, 0, -day, day, -second, -second / 2, second),
      pass: fc.integer({ min: 0, max: 100 * second }),
      atLeast: fc.constantFrom(0, 0, -day, day),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const { clock, forward, pass, setBy } = machine();
        let last = forward.nowMicros();
        for (const { set, pass: micros, atLeast } of steps) {
          setBy(set);
          if (atLeast !== 0) forward.atLeast(clock.nowMicros() + atLeast);
          pass(micros);
          const now = forward.nowMicros();
          assert.ok(Number.isInteger(now) && now >= last && now >= clock.nowMicros());
          last = now;
        }
      }),
    );
  });
});
