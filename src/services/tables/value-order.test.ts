import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyValue, operators } from '../../../test/support/edm-arbitraries.js';
import { wholeRangeValue } from '../../../test/support/edm-properties.js';
import { matches } from '../../../test/support/filter-oracle.js';
import { encodeBag } from '../../model/bag/bag.js';
import type { Filter } from '../../model/edm/filter.js';
import type { EdmValue, Property } from '../../model/edm/value.js';
import { compilePredicate } from './predicate.js';

const decimal = fc
  .tuple(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.integer({ min: 0, max: 9 }))
  .map(([digits, scale]): EdmValue => ({ type: 'Edm.Double', value: digits / 10 ** scale }));

const escapes = fc
  .array(fc.constantFrom('a', 'n', 'u', ' ', '!', '"', '\\', '\n', '\u0001', '\ud800', '\udc00'), {
    maxLength: 5,
  })
  .map((parts): EdmValue => ({ type: 'Edm.String', value: parts.join('') }));

const instants = fc
  .tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(0n, 1n, 10n, 1_000_000n, 9_999_999n))
  .map(([second, fraction]): EdmValue => ({
    type: 'Edm.DateTime',
    value: 638_000_000_000_000_000n + BigInt(second) * 10_000_000n + fraction,
  }));

/**
 * Checks every operator on a bag that is followed by other bytes and overwritten between checks.
 */
function agree(value: EdmValue, literal: EdmValue): void {
  const properties: readonly Property[] = [{ name: 'P', value }];
  const bag = encodeBag(properties);
  const shared = new Uint8Array(bag.length + 40);
  for (const operator of operators) {
    const filter: Filter = { kind: 'comparison', property: 'P', operator, literal };
    const { test } = compilePredicate(filter);
    shared.fill(0xff);
    test('', '', 0, encodeBag([{ name: 'P', value: literal }]));
    shared.set(bag);
    const expected = matches(filter, { partitionKey: '', rowKey: '', version: 0, properties });
    assert.equal(test('', '', 0, shared), expected, operator);
  }
}

describe('the order of stored texts', () => {
  for (const [name, values] of [
    ['doubles of few digits and of many', fc.oneof(decimal, decimal, wholeRangeValue)],
    ['strings at and in escapes', escapes],
    ['dates whose fractions differ in length', instants],
    ['values of every type, near each other', anyValue],
    ['values over the whole range of every type', wholeRangeValue],
  ] as const) {
    it(`is that of the values: ${name}`, () => {
      fc.assert(fc.property(values, values, agree), { numRuns: 250 });
      fc.assert(fc.property(values, (value) => agree(value, value)));
    });
  }

  it('puts dates that no property can hold before and behind all others', () => {
    const stored = { type: 'Edm.DateTime', value: 638_000_000_000_000_000n } as const;
    for (const value of [-1n, 0n, 504_911_231_999_999_999n, 3_155_378_976_000_000_001n]) {
      agree(stored, { type: 'Edm.DateTime', value });
    }
  });
});
