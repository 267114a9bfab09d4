import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { own, setOwn } from './own.js';

const inherited = Object.getOwnPropertyNames(Object.prototype);

describe('a record by names that others choose', () => {
  it('has no entry that it only inherits', () => {
    for (const name of inherited) assert.equal(own({ a: 1 }, name), undefined, name);
    assert.equal(own({ a: 1 }, 'a'), 1);
  });

  it('gives back every entry that was set', () => {
    const record: Record<string, number> = {};
    inherited.forEach((name, index) => setOwn(record, name, index));
    assert.deepEqual(Object.keys(record).toSorted(), inherited.toSorted());
    inherited.forEach((name, index) => assert.equal(own(record, name), index, name));
    assert.equal(Object.getPrototypeOf(record), Object.prototype);
  });
});
