import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SortedByKey } from './sorted-by-key.js';
import { costly } from '../../test/support/run-length.js';

interface Element {
  readonly key: Uint8Array;
  readonly version: number;
}

function entry(number: number): Element {
  const key = Buffer.alloc(4);
  key.writeUInt32BE(number);
  return { key, version: number + 1 };
}

/** Every number below `count` once, in a scattered order. */
function scattered(count: number): number[] {
  return Array.from({ length: count }, (_, index) => (index * 7_919) % count);
}

const numbers = (entries: Iterable<Element>) => [...entries].map(({ version }) => version - 1);
const everything = { start: Buffer.alloc(0) };

describe('elements sorted by key', () => {
  // More than a few chunks; 7,919 is prime, so no number comes twice.
  const count = 10_000;
  const all = Array.from({ length: count }, (_, index) => index);

  for (const [name, order] of [
    ['in order', all],
    ['backwards', all.toReversed()],
    ['scattered', scattered(count)],
  ] as const) {
    it(`holds entries that came ${name} in key order`, () => {
      const entries = new SortedByKey<Element>();
      for (const number of order) entries.put(entry(number));
      assert.deepEqual(numbers(entries.forward(everything)), all);
      assert.deepEqual(numbers(entries.backward(everything)), all.toReversed());
      for (const number of order) assert.equal(entries.get(entry(number).key)?.version, number + 1);
    });
  }

  it('walks ranges whose bounds fall on, between and outside its entries', () => {
    const entries = new SortedByKey<Element>();
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
    const entries = new SortedByKey<Element>();
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

  it('deletes many at once, but for those that were replaced or are gone', costly(), () => {
    const some = fc.uniqueArray(fc.nat(2_000), { maxLength: 1_500, size: 'max' });
    const gone = fc.record({ asked: some, replaced: some, deleted: some, isShared: fc.boolean() });
    fc.assert(
      fc.property(gone, ({ asked, replaced, deleted, isShared }) => {
        const entries = new SortedByKey<Element>();
        const held = Array.from({ length: 2_001 }, (_, number) => entry(number));
        for (const each of held) entries.put(each);
        const before = isShared ? entries.copy() : undefined;
        for (const number of replaced) entries.put(entry(number));
        for (const number of deleted) entries.delete(entry(number).key);
        const kept = new Set([...replaced, ...deleted]);
        const sorted = asked.toSorted((left, right) => left - right);
        const found = entries.deleteEach(sorted.flatMap((number) => held[number] ?? []));
        const expected = sorted.filter((number) => !kept.has(number));
        assert.deepEqual(numbers(found), expected);
        const absent = new Set([...expected, ...deleted]);
        const left = held.filter(({ version }) => !absent.has(version - 1));
        assert.deepEqual(numbers(entries.forward(everything)), numbers(left));
        if (before !== undefined) assert.equal(numbers(before.forward(everything)).length, 2_001);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps its views when it is told before it changes', () => {
    const entries = new SortedByKey<Element>();
    for (const number of [1, 2, 3]) entries.put(entry(number));
    const view = entries.view();
    entries.keepViews();
    entries.put(entry(4));
    entries.delete(entry(1).key);
    assert.deepEqual(numbers(view.forward(everything)), [1, 2, 3]);
    assert.deepEqual(numbers(entries.view().forward(everything)), [2, 3, 4]);
  });

  it('has copies that change apart from it and from each other', () => {
    const steps = fc.array(
      fc.record({
        from: fc.nat(3),
        kind: fc.constantFrom('put', 'delete', 'copy'),
        at: fc.nat(40),
      }),
      { maxLength: 200, size: 'max' },
    );
    fc.assert(
      fc.property(steps, (sequence) => {
        // One chunk is cut at 512, so that steps change few of many chunks.
        const first = new SortedByKey<Element>();
        for (let number = 0; number < 1_200; number += 1) first.put(entry(number * 100));
        const sides = [{ entries: first, model: new Set(numbers(first.forward(everything))) }];
        for (const { from, kind, at } of sequence) {
          const side = sides[from % sides.length];
          if (side === undefined) continue;
          const number = at * 3_000 + (kind === 'put' ? at % 7 : 0);
          if (kind === 'put') side.entries.put(entry(number));
          if (kind === 'put') side.model.add(number);
          if (kind === 'delete') side.entries.delete(entry(number).key);
          if (kind === 'delete') side.model.delete(number);
          if (kind !== 'copy' || sides.length > 4) continue;
          sides.push({ entries: side.entries.copy(), model: new Set(side.model) });
        }
        for (const { entries, model } of sides) {
          const expected = [...model].toSorted((left, right) => left - right);
          assert.deepEqual(numbers(entries.forward(everything)), expected);
        }
      }),
      { numRuns: 60 },
    );
  });
});
