import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { losingShards } from './losing-shards.js';
import {
  hashRoutingOf,
  listRouting,
  rangeRouting,
  shardOfText,
  type ShardRouting,
} from './shard-routing.js';

const shard = fc.constantFrom('a', 'b', 'c');
const texts = ['', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'zz'];
const otherwise = fc.option(shard, { nil: undefined });

const lists = fc
  .tuple(fc.dictionary(fc.constantFrom('k', 'm', 'o'), shard), otherwise)
  .map(([named, other]): ShardRouting => listRouting(named, other));
const ranges = fc
  .tuple(shard, fc.dictionary(fc.constantFrom('k', 'm', 'o'), shard))
  .map(([first, named]): ShardRouting => {
    const others = Object.entries(named).sort(([left], [right]) => (left < right ? -1 : 1));
    return rangeRouting([
      { from: '', shard: first },
      ...others.map(([from, each]) => ({ from, shard: each })),
    ]);
  });
const hashes = fc
  .array(shard, { minLength: 4, maxLength: 4 })
  .map((slots): ShardRouting => hashRoutingOf(slots));

describe('the shards that lose texts by a change', () => {
  it('are those of which a text is elsewhere afterwards', () => {
    for (const routings of [lists, ranges]) {
      fc.assert(
        fc.property(routings, routings, (from, to) => {
          const lost = texts.flatMap((text) => {
            const here = shardOfText(from, text);
            return here !== undefined && here !== shardOfText(to, text) ? [here] : [];
          });
          assert.deepEqual(losingShards(from, to), [...new Set(lost)].sort());
        }),
      );
    }
  });

  it('are those of which a slot is elsewhere afterwards', () => {
    fc.assert(
      fc.property(hashes, hashes, (from, to) => {
        const [here, there] = [from, to].map((each) => (each.kind === 'hash' ? each.slots : []));
        const lost = (here ?? []).filter((each, slot) => each !== there?.[slot]);
        assert.deepEqual(losingShards(from, to), [...new Set(lost)].sort());
      }),
    );
  });

  it('are all where routings of two kinds, or of other numbers of slots, cannot be compared', () => {
    const list = listRouting({ k: 'b' }, 'a');
    assert.deepEqual(losingShards(list, rangeRouting([{ from: '', shard: 'a' }])), ['a', 'b']);
    assert.deepEqual(losingShards(hashRoutingOf(['a', 'b']), hashRoutingOf(['a'])), ['a', 'b']);
    assert.deepEqual(losingShards(list, list), []);
  });
});
