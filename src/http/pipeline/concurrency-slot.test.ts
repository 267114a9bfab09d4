import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConcurrencySlot, heavyTaskGate } from './concurrency-slot.js';

describe('work on large requests', () => {
  it('is done for eight at a time, in the order of asking', async () => {
    const work = heavyTaskGate();
    const began: number[] = [];
    let atWork = 0;
    let most = 0;
    const one = async (number: number): Promise<void> => {
      const slot = new ConcurrencySlot(work);
      await slot.enter();
      assert.equal(slot.enter(), undefined, 'entering twice takes one slot');
      began.push(number);
      atWork += 1;
      most = Math.max(most, atWork);
      await new Promise((resolve) => setImmediate(resolve));
      atWork -= 1;
      slot.leave();
      slot.leave();
    };
    const numbers = Array.from({ length: 40 }, (_, number) => number);
    await Promise.all(numbers.map(one));
    assert.deepEqual(began, numbers);
    assert.equal(most, 8);
    await Promise.all(numbers.map(one));
    assert.equal(most, 8);
  });
});
