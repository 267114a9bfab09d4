import { unreachable } from '../../../base/invariant.js';
import type { Distribution } from './distribution.js';

/** The figures of a distribution. Shares are 0 to 1 of all occurrences. */
export interface Spread {
  /** How many values occur. */
  readonly values: number;
  /** The share of the most frequent value. */
  readonly greatest: number;
  /** The share of the rarest value. */
  readonly least: number;
  /**
   * The expected share of the value of a random occurrence: the sum of the squares of all shares. 1
   * / values when all are equal, more when some are frequent.
   */
  readonly typical: number;
  /** The most frequent value, when its name is known. */
  readonly first: string | undefined;
  /** How many values have a share greater than this one. */
  readonly above: (share: number) => number;
}

export function spreadOf(distribution: Distribution): Spread {
  switch (distribution.kind) {
    case 'uniform':
      return equalShares(distribution.values);
    case 'zipf':
      return zipfShares(distribution.values, distribution.exponent);
    case 'counts':
      return countedShares(distribution);
    default:
      return unreachable(distribution);
  }
}

/** The share of one value; undefined when the distribution does not name values. */
export function shareOf(distribution: Distribution, value: string): number | undefined {
  if (distribution.kind !== 'counts') return undefined;
  const count = Object.hasOwn(distribution.counts, value) ? distribution.counts[value] : undefined;
  return count === undefined ? undefined : count / totalOf(distribution);
}

function equalShares(values: number): Spread {
  const share = 1 / values;
  return {
    values,
    greatest: share,
    least: share,
    typical: share,
    first: undefined,
    above: (least) => (share > least ? values : 0),
  };
}

function zipfShares(values: number, exponent: number): Spread {
  if (exponent === 0) return equalShares(values);
  const total = powerSum(values, exponent);
  return {
    values,
    greatest: 1 / total,
    least: values ** -exponent / total,
    typical: powerSum(values, 2 * exponent) / (total * total),
    first: undefined,
    // The k-th share is k^-exponent / total.
    above: (least) => {
      if (least <= 0) return values;
      const rank = (1 / (least * total)) ** (1 / exponent);
      return Math.min(values, Math.max(0, Math.ceil(rank) - 1));
    },
  };
}

/** Terms that are added one by one; an integral, exact to nine digits, replaces the rest. */
const exactTerms = 10_000;

/** 1 + 2^-exponent + … + count^-exponent. */
function powerSum(count: number, exponent: number): number {
  let sum = 0;
  const exact = Math.min(count, exactTerms);
  for (let k = 1; k <= exact; k++) sum += k ** -exponent;
  if (count <= exactTerms) return sum;
  // Euler-Maclaurin from the last exact term to the last term.
  const ends = (count ** -exponent - exact ** -exponent) / 2;
  const slope = (exponent / 12) * (exact ** -(exponent + 1) - count ** -(exponent + 1));
  return sum + integral(exact, count, exponent) + ends + slope;
}

function integral(from: number, to: number, exponent: number): number {
  if (exponent === 1) return Math.log(to / from);
  return (to ** (1 - exponent) - from ** (1 - exponent)) / (1 - exponent);
}

type Counts = Extract<Distribution, { readonly kind: 'counts' }>;

function totalOf({ counts, otherCount = 0 }: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, otherCount);
}

function countedShares(distribution: Counts): Spread {
  const { counts, otherValues = 0, otherCount = 0 } = distribution;
  const total = totalOf(distribution);
  const known = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([value, count]) => ({ value, share: count / total }));
  // Values that were not counted one by one have equal shares.
  const other = otherValues === 0 ? 0 : otherCount / total / otherValues;
  const others = other === 0 ? 0 : otherValues;
  const shares = known.map(({ share }) => share);
  const all = others === 0 ? shares : [...shares, other];
  const greatest = all.reduce((most, share) => Math.max(most, share), 0);
  return {
    values: known.length + others,
    greatest,
    least: all.reduce((least, share) => Math.min(least, share), 1),
    typical: shares.reduce((sum, share) => sum + share * share, others * other * other),
    first: known.find(({ share }) => share === greatest)?.value,
    above: (least) => shares.filter((share) => share > least).length + (other > least ? others : 0),
  };
}
