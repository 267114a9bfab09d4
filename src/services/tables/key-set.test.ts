import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allKeys, keyProduct, uniteKeys } from './key-set.js';
import { PlanningSteps } from './planning-steps.js';
import { allStrings, stringRange } from './string-set.js';

describe('a union of key sets', () => {
  it('joins bands that continue each other', () => {
    const sets = [
      keyProduct(stringRange('a', 'm'), allStrings),
      keyProduct(stringRange('m'), allStrings),
      keyProduct(stringRange('', 'b'), allStrings),
    ];
    assert.deepEqual(uniteKeys(sets, new PlanningSteps()), allKeys);
  });

  it('gives up when too many bands overlap', () => {
    const nested = (count: number) =>
      Array.from({ length: count }, (_, index) => {
        const place = String(index).padStart(4, '0');
        return keyProduct(stringRange(`a${place}`, `b${place}`), stringRange(place, `${place}x`));
      });
    assert.equal(uniteKeys(nested(50), new PlanningSteps())?.length, 99);
    assert.equal(uniteKeys(nested(1000), new PlanningSteps()), undefined);
  });
});
