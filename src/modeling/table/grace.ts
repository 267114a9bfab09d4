import type { Clock } from '../../base/clock.js';
import { ValueError } from '../rows/model-error.js';
import { ticksOfMicros } from '../rows/ticks.js';

/** The age, an hour, below which a row may be a part of work in progress. */
export const graceDefaultMs = 3_600_000;

/**
 * The time in ticks before which a row must have been written to be no part of work in progress.
 * Throws `ValueError` for a time that is none.
 */
export function settledSince(
  clock: Clock,
  graceMs: number = graceDefaultMs,
): (ticks: bigint | undefined) => boolean {
  if (!Number.isFinite(graceMs) || graceMs < 0) {
    throw new ValueError(`graceMs: ${graceMs}; give milliseconds, from 0 on`);
  }
  const before = ticksOfMicros(clock.nowMicros() - Math.ceil(graceMs * 1000));
  return (ticks) => ticks === undefined || ticks <= before;
}
