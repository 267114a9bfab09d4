import assert from 'node:assert/strict';
import { it } from 'node:test';
import { WaitingExtents } from './waiting-extents.js';

void it('knows which extents wait, and that none does, however many have waited', () => {
  const waiting = new WaitingExtents();
  const many = 150_000;
  for (let number = 1; number <= many; number += 1) waiting.begin(number);
  waiting.begin(7);
  for (let number = 1; number <= many; number += 1) {
    assert.ok(waiting.has(number) && waiting.count === many - number + 1);
    waiting.end(number);
    waiting.end(number);
    assert.ok(!waiting.has(number) && waiting.has(number + 1) === number < many);
  }
  assert.deepEqual([waiting.count, ...waiting.numbers()], [0]);
});

void it('ignores the end of what does not wait', () => {
  const waiting = new WaitingExtents();
  waiting.begin(2 ** 40);
  for (const other of [1, 2 ** 40 - 1, 2 ** 40 + 1, 2 ** 40 + 1024]) waiting.end(other);
  assert.deepEqual([waiting.count, ...waiting.numbers()], [1, 2 ** 40]);
});
