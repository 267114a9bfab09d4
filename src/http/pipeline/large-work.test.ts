import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LargeWork, Place } from './large-work.js';

describe('work on large requests', () => {
  it('is done for eight at a time, in the order of asking', async () => {
    const work = new LargeWork();
    const began: number[] = [];
    let atWork = 0;
    let most = 0;
    const one = async (number: number): Promise<void> => {
      const place = new Place(work);
      await place.enter();
      assert.equal(place.enter(), undefined, 'who has a place keeps it');
      began.push(number);
      atWork += 1;
      most = Math.max(most, atWork);
      await new Promise((resolve) => setImmediate(resolve));
      atWork -= 1;
      place.leave();
      place.leave();
    };
    const numbers = Array.from({ length: 40 }, (_, number) => number);
    await Promise.all(numbers.map(one));
    assert.deepEqual(began, numbers);
    assert.equal(most, 8);
    await Promise.all(numbers.map(one));
    assert.equal(most, 8);
  });
});
