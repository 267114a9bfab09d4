import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { matchesGlob, parseGlob } from './glob.js';

function matches(pattern: string, text: string): boolean {
  const glob = parseGlob(pattern);
  assert.ok(glob !== undefined);
  return matchesGlob(glob, text);
}

describe('a pattern', () => {
  const fitting: readonly [pattern: string, texts: readonly string[]][] = [
    ['', ['']],
    ['orders', ['orders']],
    ['*', ['', 'orders', '*']],
    ['ord*', ['ord', 'orders']],
    ['*s', ['s', 'orders', 'ss']],
    ['o*d*s', ['ods', 'orders', 'oddds']],
    ['?', ['x', '*', '?']],
    ['a?c*', ['abc', 'a*cd']],
    ['a\\*b\\?c\\\\', ['a*b?c\\']],
    ['**a**', ['a', 'bab']],
  ];
  for (const [pattern, texts] of fitting) {
    it(`${JSON.stringify(pattern)} fits ${texts.map((text) => JSON.stringify(text)).join(', ')}`, () => {
      for (const text of texts) assert.ok(matches(pattern, text), text);
    });
  }

  const others: readonly [pattern: string, texts: readonly string[]][] = [
    ['', ['a']],
    ['orders', ['order', 'orderss', 'Orders']],
    ['ord*', ['or', 'xord']],
    ['?', ['', 'ab']],
    ['a*b', ['a', 'b', 'abc']],
    ['a\\*', ['ab', 'a']],
  ];
  for (const [pattern, texts] of others) {
    it(`${JSON.stringify(pattern)} does not fit ${texts.join(', ')}`, () => {
      for (const text of texts) assert.ok(!matches(pattern, text), text);
    });
  }

  it('must not end in a lone backslash', () => {
    assert.equal(parseGlob('a\\'), undefined);
  });

  it('fits what a regular expression of the same meaning fits', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
    fc.assert(
      fc.property(pattern, text, (glob, candidate) => {
        const same = glob.replaceAll('*', '.*').replaceAll('?', '.');
        return matches(glob, candidate) === new RegExp(`^${same}$`).test(candidate);
      }),
      { numRuns: 166 },
    );
  });

  it('is quick where a regular expression of the same meaning is not', () => {
    const pattern = `${'*a'.repeat(200)}b`;
    assert.ok(!matches(pattern, 'a'.repeat(4096)));
  });
});
