import type { Randomness } from '../randomness.js';

/** Delays that double from the first to the last, in any one unit. */
export interface BackOff {
  readonly first: number;
  readonly last: number;
}

/** The delay after `failures` failures in a row, from 1: each is twice the one before. */
export function doubledDelay({ first, last }: BackOff, failures: number): number {
  const exponent = Math.min(Math.max(failures - 1, 0), 52);
  return Math.min(last, first * 2 ** exponent);
}

/**
 * The delay after `failures` failures in a row, from 1. It is random between half of the doubled
 * delay and all of it, so that clients that failed together do not retry together.
 */
export function backOff(delays: BackOff, failures: number, randomness: Randomness): number {
  return doubledDelay(delays, failures) * (0.5 + chance(randomness) / 2);
}

/** A random number from 0 to just below 1. */
function chance(randomness: Randomness): number {
  const [high = 0, low = 0] = randomness.bytes(2);
  return (high * 256 + low) / 65_536;
}
