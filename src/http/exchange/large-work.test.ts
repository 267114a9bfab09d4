import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LargeWork } from './large-work.js';

describe('work on large requests', () => {
  it('is done for eight at a time, in the order of asking', async () => {
    const work = new LargeWork();
    const began: number[] = [];
    let atWork = 0;
    let most = 0;
    const one = (place: number): Promise<number> =>
      work.run(async () => {
        began.push(place);
        atWork += 1;
        most = Math.max(most, atWork);
        await new Promise((resolve) => setImmediate(resolve));
        atWork -= 1;
        if (place % 3 === 0) throw new Error('failed');
        return place;
      });
    const places = Array.from({ length: 40 }, (_, place) => place);
    await Promise.allSettled(places.map(one));
    assert.deepEqual(began, places);
    assert.equal(most, 8);
    await Promise.allSettled(places.map(one));
    assert.equal(most, 8);
  });
});
