import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualTimers } from '../../../../test/support/manual-timers.js';
import { Heartbeat, missedPulsesMax, pulseEveryMs } from './heartbeat.js';

function beating() {
  const seen = { asked: 0, lost: 0 };
  const timers = manualTimers();
  const heartbeat = new Heartbeat({
    timers,
    ask: () => (seen.asked += 1),
    lost: () => (seen.lost += 1),
  });
  const step = (times: number): void => {
    for (let time = 0; time < times; time += 1) timers.fire();
    assert.ok(timers.delays.every((delayMs) => delayMs === pulseEveryMs));
  };
  return { heartbeat, seen, step, isWaiting: () => timers.waiting > 0 };
}

describe('the heartbeat of a worker', () => {
  it('is lost once when as many questions in a row as it may have stay unanswered', () => {
    const { seen, step, isWaiting } = beating();
    step(missedPulsesMax);
    assert.deepEqual(seen, { asked: missedPulsesMax, lost: 0 }, 'the last one can be answered');
    step(1);
    assert.deepEqual(seen, { asked: missedPulsesMax, lost: 1 });
    assert.ok(!isWaiting());
  });

  it('goes on for ever with an answer now and then', () => {
    const { heartbeat, seen, step } = beating();
    for (let round = 0; round < 5; round += 1) {
      step(missedPulsesMax);
      heartbeat.answered();
    }
    assert.equal(seen.lost, 0);
  });

  it('counts what it has asked, not time: a suspended machine costs one question', () => {
    const { heartbeat, seen, step } = beating();
    // The timer fires only once, however long the process did not run.
    step(1);
    heartbeat.answered();
    step(missedPulsesMax - 1);
    assert.equal(seen.lost, 0);
  });

  it('ends with its worker', () => {
    const { heartbeat, seen, step, isWaiting } = beating();
    heartbeat.stop();
    assert.ok(!isWaiting());
    step(missedPulsesMax + 1);
    assert.deepEqual(seen, { asked: 0, lost: 0 });
  });
});
