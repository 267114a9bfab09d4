import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LargeWork } from './large-work.js';

describe('work on large requests', () => {
  it('is done for eight at a time, in the order of asking', async () => {
    const work = new LargeWork();
    const began: number[] = [];
    let atWork = 0;
    let most = 0;
    const one = async (place: number): Promise<void> => {
      await work.enter();
      began.push(place);
      atWork += 1;
      most = Math.max(most, atWork);
      await new Promise((resolve) => setImmediate(resolve));
      atWork -= 1;
      work.leave();
    };
    const places = Array.from({ length: 40 }, (_, place) => place);
    await Promise.all(places.map(one));
    assert.deepEqual(began, places);
    assert.equal(most, 8);
    await Promise.all(places.map(one));
    assert.equal(most, 8);
  });
});
