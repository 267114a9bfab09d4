import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { counts, uniform, zipf, type Distribution } from './distribution.js';
import { shareOf, spreadOf } from './spread.js';

function close(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${actual}`);
}

/** The shares of a Zipf distribution, one by one. */
function zipfShares(values: number, exponent: number): number[] {
  const weights = Array.from({ length: values }, (_, index) => (index + 1) ** -exponent);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

describe('the spread of a distribution', () => {
  it('gives every value of a uniform one the same share', () => {
    const { values, greatest, least, typical, above } = spreadOf(uniform(8));
    assert.deepEqual([values, greatest, least, typical], [8, 0.125, 0.125, 0.125]);
    assert.deepEqual([above(0.1), above(0.125), above(0.2)], [8, 0, 0]);
  });

  it('is exact for a Zipf distribution counted by hand', () => {
    // 1, 1/2, 1/3, 1/4 of 25/12.
    const spread = spreadOf(zipf(4, 1));
    close(spread.greatest, 12 / 25);
    close(spread.least, 3 / 25);
    close(spread.typical, (144 + 36 + 16 + 9) / 625);
    assert.equal(spread.above(0.2), 2);
  });

  it('agrees with adding up every share, also where it does not add them up', () => {
    for (const [values, exponent] of [
      [25_000, 1],
      [30_000, 0.5],
      [20_000, 2.5],
    ] as const) {
      const shares = zipfShares(values, exponent);
      const spread = spreadOf(zipf(values, exponent));
      close(spread.greatest, shares[0] ?? 0);
      close(
        spread.typical,
        shares.reduce((sum, share) => sum + share * share, 0),
      );
    }
  });

  it('tells how many values are above a share', () => {
    const distributions = fc.oneof(
      fc.integer({ min: 1, max: 300 }).map(uniform),
      fc
        .tuple(fc.integer({ min: 1, max: 300 }), fc.double({ min: 0.1, max: 3, noNaN: true }))
        .map(([values, exponent]) => zipf(values, exponent)),
    );
    fc.assert(
      fc.property(distributions, fc.double({ min: 0.0001, max: 1, noNaN: true }), (of, share) => {
        const exponent = of.kind === 'zipf' ? of.exponent : 0;
        const values = of.kind === 'counts' ? 0 : of.values;
        const expected = zipfShares(values, exponent).filter((each) => each > share).length;
        const found = spreadOf(of).above(share);
        // A share that is exactly at the border may fall on either side by rounding.
        const isBorder = zipfShares(values, exponent).some((each) => Math.abs(each - share) < 1e-9);
        assert.ok(isBorder || found === expected, `${found} instead of ${expected}`);
      }),
    );
  });

  it('counts what was counted, and what was not told apart as equal shares', () => {
    const measured: Distribution = {
      kind: 'counts',
      counts: { Smith: 60, Jones: 20, Nobody: 0 },
      otherValues: 4,
      otherCount: 20,
    };
    const spread = spreadOf(measured);
    assert.equal(spread.values, 6);
    assert.equal(spread.first, 'Smith');
    close(spread.greatest, 0.6);
    close(spread.least, 0.05);
    close(spread.typical, 0.36 + 0.04 + 4 * 0.0025);
    assert.deepEqual([spread.above(0.1), spread.above(0.01)], [2, 6]);
    assert.equal(shareOf(measured, 'Jones'), 0.2);
    assert.equal(shareOf(measured, 'constructor'), undefined);
  });

  it('has shares that sum to one and lie between the least and the greatest', () => {
    const occurrences = fc.dictionary(fc.string(), fc.integer({ min: 1, max: 1000 }), {
      minKeys: 1,
    });
    fc.assert(
      fc.property(occurrences, (of) => {
        const distribution = counts(of);
        const { least, greatest, typical } = spreadOf(distribution);
        const shares = Object.keys(of).map((value) => shareOf(distribution, value) ?? 0);
        close(
          shares.reduce((sum, share) => sum + share, 0),
          1,
        );
        assert.ok(shares.every((share) => share >= least && share <= greatest));
        assert.ok(typical <= greatest + 1e-12 && typical >= least - 1e-12);
      }),
    );
  });

  it('refuses what is no distribution', () => {
    for (const bad of [() => uniform(0), () => uniform(1.5), () => zipf(3, -1), () => counts({})]) {
      assert.throws(bad, { name: 'ValueError' });
    }
    assert.throws(() => counts({ a: -1 }), /'a' cannot occur -1 times/);
  });
});
