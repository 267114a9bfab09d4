import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  hashRouting,
  listRouting,
  rangeRouting,
  routingFault,
  shardOfText,
  shardsOf,
  withRange,
  withShardAdded,
  withShardRemoved,
  withShardReplaced,
  withTexts,
  type RangeRouting,
} from './shard-routing.js';

const names = ['a', 'b', 'c', 'd'];
const text = fc.string({ maxLength: 6, unit: 'binary' });
const shard = fc.constantFrom(...names);
const ranges = fc
  .tuple(shard, fc.uniqueArray(fc.tuple(text, shard), { selector: ([from]) => from, maxLength: 6 }))
  .map(([first, rest]): RangeRouting => {
    const sorted = rest
      .filter(([from]) => from !== '')
      .sort(([left], [right]) => (left < right ? -1 : 1));
    return rangeRouting([
      { from: '', shard: first },
      ...sorted.map(([from, each]) => ({ from, shard: each })),
    ]);
  });
const hashes = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 4, max: 1024 }))
  .map(([count, slots]) => hashRouting(names.slice(0, count), slots));

describe('a routing', () => {
  it('has a shard of its own for every text, and always the same', () => {
    const lists = fc
      .tuple(fc.dictionary(text, shard), shard)
      .map(([entries, otherwise]) => listRouting(entries, otherwise));
    fc.assert(
      fc.property(fc.oneof(lists, ranges, hashes), text, (routing, each) => {
        const found = shardOfText(routing, each);
        assert.ok(found !== undefined && shardsOf(routing).includes(found));
        assert.equal(shardOfText(routing, each), found);
        assert.equal(routingFault(routing), undefined);
      }),
    );
  });

  it('by ranges gives a text to the last range that begins at it or before it', () => {
    fc.assert(
      fc.property(ranges, text, (routing, each) => {
        const expected = routing.ranges.findLast(({ from }) => from <= each)?.shard;
        assert.equal(shardOfText(routing, each), expected);
      }),
    );
  });

  it('by a list has none for what is not listed, unless it says otherwise', () => {
    const routing = listRouting({ contoso: 'a', ['__proto__']: 'b' });
    assert.equal(shardOfText(routing, 'contoso'), 'a');
    assert.equal(shardOfText(routing, 'toString'), undefined);
    assert.equal(shardOfText(routing, '__proto__'), 'b');
    assert.equal(shardOfText(withTexts(routing, ['fabrikam'], 'c'), 'fabrikam'), 'c');
  });

  it('tells what is wrong with it', () => {
    const unordered = [
      { from: '', shard: 'a' },
      { from: 'n', shard: 'b' },
      { from: 'm', shard: 'a' },
    ];
    assert.match(routingFault(rangeRouting(unordered)) ?? '', /order/);
    assert.match(routingFault(rangeRouting([{ from: 'a', shard: 'a' }])) ?? '', /empty text/);
    assert.match(routingFault(rangeRouting([])) ?? '', /no ranges/);
    const values = [
      { from: '', shard: 'a' },
      { from: 250 as never, shard: 'b' },
    ];
    assert.match(routingFault(rangeRouting(values)) ?? '', /number 250 is no text.*textOf/);
    const keyed = listRouting(new Map([[5 as never, 'a']]));
    assert.match(routingFault(keyed) ?? '', /number 5 is no text/);
    assert.match(routingFault(listRouting({ a: 5 as never })) ?? '', /no name/);
    assert.match(routingFault(hashRouting(['a'], 0)) ?? '', /0 slots/);
    assert.match(routingFault(hashRouting([])) ?? '', /no name/);
    assert.match(routingFault(listRouting({})) ?? '', /no shard/);
  });
});

describe('a change of a routing', () => {
  it('adds a shard with a fair share, and moves no slot but those', () => {
    fc.assert(
      fc.property(hashes, (routing) => {
        const count = shardsOf(routing).length;
        const grown = withShardAdded(routing, 'new');
        const moved = grown.slots.filter((each, slot) => each !== routing.slots[slot]);
        assert.ok(moved.every((each) => each === 'new'));
        assert.equal(moved.length, Math.floor(routing.slots.length / (count + 1)));
        assert.ok(spreadOf(grown.slots) <= 1, 'all have the same, or one more');
        assert.deepEqual(withShardAdded(grown, 'new'), grown);
      }),
    );
  });

  it('removes a shard, and moves no slot of the others', () => {
    fc.assert(
      fc.property(hashes, (routing) => {
        const grown = withShardAdded(routing, 'new');
        const shrunk = withShardRemoved(grown, 'new');
        assert.ok(!shrunk.slots.includes('new'));
        shrunk.slots.forEach((each, slot) => {
          const before = grown.slots[slot];
          if (before !== 'new') assert.equal(each, before);
        });
        assert.ok(spreadOf(shrunk.slots) <= 1);
      }),
    );
  });

  it('gives a range to a shard, and leaves every text outside of it', () => {
    fc.assert(
      fc.property(ranges, text, fc.option(text), text, (routing, from, end, each) => {
        const before = end === null || end <= from ? undefined : end;
        const range = { from, ...(before === undefined ? {} : { before }) };
        const next = withRange(routing, range, 'new');
        assert.equal(routingFault(next), undefined);
        const isInside = each >= from && (before === undefined || each < before);
        assert.equal(shardOfText(next, each), isInside ? 'new' : shardOfText(routing, each));
      }),
    );
  });

  it('replaces a shard everywhere, and no other', () => {
    fc.assert(
      fc.property(fc.oneof(ranges, hashes), text, (routing, each) => {
        const found = shardOfText(routing, each);
        const next = withShardReplaced(routing, 'a', 'new');
        assert.equal(shardOfText(next, each), found === 'a' ? 'new' : found);
      }),
    );
  });
});

function spreadOf(slots: readonly string[]): number {
  const counts = [...new Set(slots)].map((name) => slots.filter((each) => each === name).length);
  return Math.max(...counts) - Math.min(...counts);
}
