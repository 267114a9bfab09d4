import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { followingSignal } from './following-signal.js';

describe('a signal that follows others', () => {
  it('is aborted with the first of them, for its reason', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const { signal } = followingSignal(first.signal, second.signal);
    assert.equal(signal.aborted, false);
    second.abort('second');
    first.abort('first');
    assert.equal(signal.reason, 'second');
  });

  it('is aborted from the beginning where one of them is', () => {
    const live = new AbortController();
    const { signal } = followingSignal(live.signal, AbortSignal.abort('before'));
    assert.equal(signal.reason, 'before');
  });

  it('follows none once it is released, and leaves nothing at them', () => {
    const live = new AbortController();
    const { signal, release } = followingSignal(live.signal);
    release();
    assert.deepEqual(getEventListeners(live.signal, 'abort'), []);
    live.abort();
    assert.equal(signal.aborted, false);
  });
});
