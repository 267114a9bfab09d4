import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { wordSortKey } from './word-sort.js';

function sorted(names: readonly string[]): readonly string[] {
  return names.toSorted((left, right) => (wordSortKey(left) < wordSortKey(right) ? -1 : 1));
}

const token = '!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz';
const tokens = fc.string({ unit: fc.constantFrom(...Array.from(`${token}-'`)), maxLength: 8 });
const bare = (name: string) => name.replace(/[-']/g, '');

describe('the word-sort order of header names', () => {
  it('has punctuation before digits before letters', () => {
    assert.deepEqual(sorted(['ab', 'a1', 'a_', 'a.', 'a+', 'a~', 'a']), [
      'a',
      'a.',
      'a_',
      'a~',
      'a+',
      'a1',
      'ab',
    ]);
    assert.deepEqual(sorted(Array.from(token).toReversed()), Array.from(token));
  });

  it('differs from the ordinal order', () => {
    assert.deepEqual(sorted(['x-ms-meta-a1', 'x-ms-meta-a_b']), ['x-ms-meta-a_b', 'x-ms-meta-a1']);
    assert.deepEqual(sorted(['x-ms-meta-a', 'x-ms-metab']), ['x-ms-meta-a', 'x-ms-metab']);
    assert.deepEqual(sorted(['x-ms-a-z', 'x-ms-ab']), ['x-ms-ab', 'x-ms-a-z']);
  });

  it('counts dashes and apostrophes only between names that are equal without them', () => {
    fc.assert(
      fc.property(tokens, tokens, (left, right) => {
        fc.pre(bare(left) !== bare(right));
        assert.equal(
          wordSortKey(left) < wordSortKey(right),
          wordSortKey(bare(left)) < wordSortKey(bare(right)),
        );
      }),
    );
    assert.deepEqual(sorted(['a-b', "a'b", 'ab-', "ab'", 'ab']), [
      'ab',
      "ab'",
      'ab-',
      "a'b",
      'a-b',
    ]);
  });

  it('tells every two names apart', () => {
    fc.assert(
      fc.property(tokens, tokens, (left, right) => {
        assert.equal(wordSortKey(left) === wordSortKey(right), left === right);
      }),
    );
  });
});
