import type { Randomness } from '../randomness.js';

/** Waits that double from the first to the last. Either unit, as long as it is the same. */
export interface BackOff {
  readonly first: number;
  readonly last: number;
}

/**
 * How long to wait after so many failures in a row, from 1. Between half of the doubled wait and
 * all of it, by chance, so that those who failed together do not come back together.
 */
export function backOff(
  { first, last }: BackOff,
  failures: number,
  randomness: Randomness,
): number {
  const exponent = Math.min(Math.max(failures - 1, 0), 52);
  const ceiling = Math.min(last, first * 2 ** exponent);
  return ceiling * (0.5 + chance(randomness) / 2);
}

/** From 0 to just below 1. */
function chance(randomness: Randomness): number {
  const [high = 0, low = 0] = randomness.bytes(2);
  return (high * 256 + low) / 65_536;
}
