import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { concurrently, concurrentlyInOrder } from './concurrently.js';

const items = Array.from({ length: 20 }, (_, index) => index);

/** Work that takes several turns, more for the first items. `seen.most`: how many ran at a time. */
function measured<R>(work: (item: number) => R) {
  const seen = { running: 0, most: 0, done: [] as number[] };
  const run = async (item: number): Promise<R> => {
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    for (let turn = 20 - item; turn > 0; turn -= 1) await nextTurn();
    seen.running -= 1;
    seen.done.push(item);
    return work(item);
  };
  return { seen, run };
}

describe('concurrent work', () => {
  it('is done for each item, so much at a time and no more', async () => {
    const { seen, run } = measured(() => undefined);
    await concurrently(items, 3, run);
    assert.equal(seen.most, 3);
    assert.deepEqual(
      seen.done.toSorted((left, right) => left - right),
      items,
    );
  });

  it('begins nothing after a failure, and throws it when what runs has ended', async () => {
    const { seen, run } = measured((item) => {
      if (item === 5) throw new Error('five');
    });
    await assert.rejects(concurrently(items, 2, run), /five/);
    assert.equal(seen.running, 0);
    assert.ok(seen.done.length < items.length);
  });

  it('waits for what runs when the items fail', async () => {
    const { seen, run } = measured(() => undefined);
    function* broken(): Generator<number> {
      yield* [0, 1];
      throw new Error('no more');
    }
    await assert.rejects(concurrently(broken(), 3, run), /no more/);
    assert.deepEqual([seen.running, seen.done.length], [0, 2]);
  });

  it('gives its results in the order of the items', async () => {
    const { seen, run } = measured((item) => item * 2);
    const results: number[] = [];
    for await (const result of concurrentlyInOrder(items, 4, run)) results.push(result);
    assert.deepEqual(
      results,
      items.map((item) => item * 2),
    );
    assert.equal(seen.most, 4);
  });
});
