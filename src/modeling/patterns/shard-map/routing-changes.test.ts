import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashRouting, rangeRouting, shardsOf } from '../../../placement/shard-routing.js';
import { DefinitionError } from '../../rows/model-error.js';
import { addShard, removeShard, splitRange } from './routing-changes.js';

describe('a change of a routing', () => {
  it('refuses a shard that would get no slot, and the same change may be asked for again', () => {
    const grown = addShard('c')(hashRouting(['a', 'b'], 3));
    assert.deepEqual(shardsOf(grown), ['a', 'b', 'c']);
    assert.deepEqual(addShard('c')(grown), grown);
    assert.throws(() => addShard('d')(grown), {
      name: 'DefinitionError',
      message: /the map has 3 slots/,
    });
  });

  it('refuses to remove the only shard, and one that is not there changes nothing', () => {
    const both = hashRouting(['a', 'b'], 4);
    const one = removeShard('b')(both);
    assert.deepEqual(shardsOf(one), ['a']);
    assert.deepEqual(removeShard('b')(one), one);
    assert.throws(() => removeShard('a')(one), /'a' is the only shard of the map; move it/);
  });

  it('refuses a range that ends where it begins, and a map of another kind', () => {
    assert.throws(() => splitRange({ from: 'm', before: 'm' }, 'b'), DefinitionError);
    const ranges = rangeRouting([{ from: '', shard: 'a' }]);
    assert.throws(() => addShard('b')(ranges), DefinitionError);
    assert.throws(() => splitRange({ from: 'm' }, 'b')(hashRouting(['a'])), DefinitionError);
  });
});
