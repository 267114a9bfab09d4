import assert from 'node:assert/strict';
import { it } from 'node:test';
import { durationText, timeLeft } from './time-left.js';

void it('says the time in two units at most, and none while little is done', () => {
  const texts = [0, 0.2, 59, 61, 3_599, 3_600, 12_000].map(durationText);
  assert.deepEqual(texts, ['0 s', '1 s', '59 s', '2 min', '60 min', '1 h 0 min', '3 h 20 min']);
  let share = 0.5;
  const left = timeLeft(() => share);
  assert.equal(left(), 'time left unknown');
  share = 1;
  assert.equal(left(), '0 s left');
});
