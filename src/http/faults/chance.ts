import type { Randomness } from '../../base/randomness.js';

/** Random numbers from 0 (inclusive) to 1 (exclusive). */
export type Chance = () => number;

export function chanceOf(randomness: Randomness): Chance {
  return () => {
    const [a = 0, b = 0, c = 0, d = 0] = randomness.bytes(4);
    return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) / 2 ** 32;
  };
}

/** A reproducible generator: the same seed gives the same numbers (mulberry32). */
export function seededChance(seed: number): Chance {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
