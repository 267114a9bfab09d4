import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyProperties } from '../../../test/support/edm-properties.js';
import { encodeBag, propertyBagOf } from './bag.js';
import { mergedBag, sortedBag } from './bag-order.js';
import type { Property } from '../edm/value.js';

/** Names whose order differs between UTF-8 and UTF-16, and those that begin like others. */
const crossing: readonly Property[] = ['𝒳y', 'Ａ', 'a', 'ab', 'aé', 'é', '日', '𝒳'].map((name) => ({
  name,
  value: { type: 'Edm.String', value: name },
}));

const properties = fc.oneof(
  anyProperties,
  fc.shuffledSubarray(Array.from(crossing), { minLength: 2 }),
);

function inOrder(given: readonly Property[]): Property[] {
  return given.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

describe('a bag in order of names', () => {
  it('has its properties by UTF-16 code units', () => {
    fc.assert(
      fc.property(properties, (given) => {
        assert.deepEqual(sortedBag(encodeBag(given)), encodeBag(inOrder(given)));
      }),
    );
  });

  it('is the bag itself when it is in order', () => {
    const bag = encodeBag(inOrder(crossing));
    assert.equal(sortedBag(bag), bag);
  });
});

describe('a merged bag', () => {
  it('has all properties in order, the given ones before the stored ones', () => {
    fc.assert(
      fc.property(properties, properties, fc.nat(), (stored, more, shared) => {
        const taken = stored.slice(0, shared % (stored.length + 1));
        const given = [
          ...taken.map(({ name }): Property => ({ name, value: { type: 'Edm.Int32', value: 7 } })),
          ...more.filter(({ name }) => taken.every((each) => each.name !== name)),
        ];
        const merged = new Map<string, Property>();
        for (const property of [...stored, ...given]) merged.set(property.name, property);
        const view = new Uint8Array([...encodeBag(stored), 0xff, 0xff]);
        assert.deepEqual(
          mergedBag(view, encodeBag(given)),
          propertyBagOf(inOrder(Array.from(merged.values()))),
        );
      }),
    );
  });
});
