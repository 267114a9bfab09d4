import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { divided } from './divided.js';
import { ModelError, TooLargeError, TransactionFailedError } from './errors.js';

/** Takes at most `most` items at once, or fails; records the items that it took. */
function taking(most: number, failure: ModelError) {
  const taken: (readonly number[])[] = [];
  const send = async (items: readonly number[]): Promise<void> => {
    if (items.length > most) throw failure;
    taken.push(items);
  };
  return { taken, send };
}

const tooLarge = new TooLargeError('too large');
const items = [0, 1, 2, 3, 4, 5, 6];

describe('items that are sent together', () => {
  it('go in halves, in order, where the table or the service takes less', async () => {
    for (const failure of [tooLarge, new TransactionFailedError('413', undefined, tooLarge)]) {
      const { taken, send } = taking(3, failure);
      await divided(items, send);
      assert.deepEqual(taken, [
        [0, 1],
        [2, 3],
        [4, 5, 6],
      ]);
    }
  });

  it('fail as a whole for any other reason, and for one that is too large by itself', async () => {
    const others = [new ModelError('refused'), new TransactionFailedError('one', 2, tooLarge)];
    for (const failure of others) {
      const { taken, send } = taking(3, failure);
      await assert.rejects(divided(items, send), failure);
      assert.deepEqual(taken, []);
    }
    await assert.rejects(divided(items, taking(0, tooLarge).send), tooLarge);
  });
});
