import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Slots } from './slots.js';

const never = new AbortController().signal;

describe('slots', () => {
  it('are taken in the order in which takers came, as many as there are', async () => {
    const slots = new Slots(5);
    assert.equal(await slots.take(3, never), 3);
    assert.equal(await slots.take(3, never), 2);
    const served: string[] = [];
    const first = slots.take(2, never).then((count) => served.push(`first ${count}`));
    const second = slots.take(9, never).then((count) => served.push(`second ${count}`));
    slots.give(3);
    await Promise.all([first, second]);
    assert.deepEqual(served, ['first 2', 'second 1']);
    assert.equal(slots.busy, 5);
  });

  it('are not given to a taker who has left', async () => {
    const slots = new Slots(1);
    await slots.take(1, never);
    const leaving = new AbortController();
    const left = slots.take(1, leaving.signal);
    const waiting = slots.take(1, never);
    leaving.abort();
    assert.equal(await left, 0);
    assert.equal(await slots.take(1, AbortSignal.abort()), 0);
    slots.give(1);
    assert.equal(await waiting, 1);
    assert.equal(slots.busy, 1);
  });

  it('tell when all of them are free', async () => {
    const slots = new Slots(2);
    await slots.idle();
    await slots.take(2, never);
    let isIdle = false;
    const idle = slots.idle().then(() => (isIdle = true));
    slots.give(1);
    await Promise.resolve();
    assert.equal(isIdle, false);
    slots.give(1);
    await idle;
    assert.throws(() => slots.give(1), /given back once/);
  });
});
