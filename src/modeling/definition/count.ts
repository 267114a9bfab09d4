import { ValueError } from '../rows/model-error.js';

/** The bounds of a count, both inclusive. */
export interface CountBounds {
  /** 1 when absent. */
  readonly min?: number;
  /** None when absent. */
  readonly max?: number;
}

/**
 * Throws `ValueError`, which names the option, for one that is no whole number within the bounds:
 * by others, such as NaN, a call would run without a limit, or do nothing for ever. Options that
 * are undefined pass.
 */
export function requireCounts(
  options: Readonly<Record<string, number | undefined>>,
  { min = 1, max = Number.MAX_SAFE_INTEGER }: CountBounds = {},
): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (Number.isSafeInteger(value) && value >= min && value <= max) continue;
    const end = max === Number.MAX_SAFE_INTEGER ? 'on' : `to ${max}`;
    throw new ValueError(`${option} of ${value}: give a whole number from ${min} ${end}`);
  }
}

/** As `requireCounts`, for a rate, which may be a fraction but not 0. */
export function requireRate(option: string, value: number | undefined): void {
  if (value === undefined || (Number.isFinite(value) && value > 0)) return;
  throw new ValueError(`${option} of ${value}: give a number above 0`);
}
