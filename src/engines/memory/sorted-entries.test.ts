import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Entry } from '../../kv/store.js';
import { SortedEntries } from './sorted-entries.js';

function entry(number: number): Entry {
  const key = Buffer.alloc(4);
  key.writeUInt32BE(number);
  return { key, value: key, version: number + 1 };
}

/** Every number below the count once, in an order that jumps about. */
function scattered(count: number): number[] {
  return Array.from({ length: count }, (_, index) => (index * 7_919) % count);
}

const numbers = (entries: Iterable<Entry>) => [...entries].map(({ version }) => version - 1);
const everything = { start: Buffer.alloc(0) };

describe('sorted entries', () => {
  // More than a few chunks; 7,919 is prime, so no number comes twice.
  const count = 10_000;
  const all = Array.from({ length: count }, (_, index) => index);

  for (const [name, order] of [
    ['in order', all],
    ['backwards', all.toReversed()],
    ['scattered', scattered(count)],
  ] as const) {
    it(`holds entries that came ${name} in key order`, () => {
      const entries = new SortedEntries();
      for (const number of order) entries.put(entry(number));
      assert.deepEqual(numbers(entries.forward(everything)), all);
      assert.deepEqual(numbers(entries.backward(everything)), all.toReversed());
      for (const number of order) assert.equal(entries.get(entry(number).key)?.version, number + 1);
    });
  }

  it('walks ranges whose bounds fall on, between and outside its entries', () => {
    const entries = new SortedEntries();
    const even = all.filter((number) => number % 2 === 0);
    for (const number of scattered(count)) if (number % 2 === 0) entries.put(entry(number));
    for (const [start, end] of [
      [0, 1],
      [511, 513],
      [512, 1_024],
      [1_023, 5_001],
      [9_998, 9_999],
    ]) {
      const range = { start: entry(start ?? 0).key, end: entry(end ?? 0).key };
      const inside = even.filter((number) => number >= (start ?? 0) && number < (end ?? 0));
      assert.deepEqual(numbers(entries.forward(range)), inside);
      assert.deepEqual(numbers(entries.backward(range)), inside.toReversed());
    }
  });

  it('forgets what was deleted, to the last entry, and takes it again', () => {
    const entries = new SortedEntries();
    for (const number of all) entries.put(entry(number));
    for (const number of scattered(count)) {
      entries.delete(entry(number).key);
      assert.equal(entries.get(entry(number).key), undefined);
    }
    entries.delete(entry(1).key);
    assert.deepEqual(numbers(entries.forward(everything)), []);
    assert.deepEqual(numbers(entries.backward(everything)), []);
    entries.put(entry(5));
    assert.deepEqual(numbers(entries.forward(everything)), [5]);
  });
});
