import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { capacityCost, examplePrices, requestCost, type PriceTable } from './prices.js';

const gib = 2 ** 30;

const tiered: PriceTable = {
  ...examplePrices,
  capacity: [
    { upToGib: 1024, perGibMonth: 0.07 },
    { upToGib: 2048, perGibMonth: 0.05 },
    { perGibMonth: 0.01 },
  ],
  per10kRequests: { ...examplePrices.per10kRequests, write: 0.002 },
};

describe('prices', () => {
  it('bill capacity by the GiB in a month', () => {
    assert.equal(capacityCost(examplePrices, 100 * gib), 4.5);
    assert.equal(capacityCost(examplePrices, 0), 0);
  });

  it('bill each tier at its own price', () => {
    assert.equal(capacityCost(tiered, 1024 * gib), 71.68);
    assert.equal(capacityCost(tiered, 1025 * gib).toFixed(6), (71.68 + 0.05).toFixed(6));
    assert.equal(capacityCost(tiered, 4096 * gib).toFixed(6), (71.68 + 51.2 + 20.48).toFixed(6));
  });

  it('bill requests by ten thousands of their class', () => {
    assert.equal(requestCost(tiered, 'write', 50_000), 0.01);
    assert.equal(requestCost(tiered, 'read', 10_000), 0.00036);
  });

  it('say what and when they were, and that they are an example', () => {
    assert.match(examplePrices.asOf, /^\d{4}-\d{2}-\d{2}$/);
    assert.match(examplePrices.label, /not the prices of today/);
    assert.ok(Object.isFrozen(examplePrices) && Object.isFrozen(examplePrices.per10kRequests));
  });
});
