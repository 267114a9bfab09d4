import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { deferred } from './deferred.js';

describe('deferred', () => {
  it('resolves when it is told to, with the first value', async () => {
    const { promise, resolve } = deferred<string>();
    let found: string | undefined;
    void promise.then((value) => (found = value));
    await turn();
    assert.equal(found, undefined);
    resolve('first');
    resolve('second');
    assert.equal(await promise, 'first');
  });
});
