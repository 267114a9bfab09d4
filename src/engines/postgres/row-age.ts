import type { Clock } from '../../base/clock.js';

/**
 * The time, in microseconds, after which the row of a session may be gone. A sweep keeps it for two
 * days at least by the clock of the database; the rest allows for clocks that run differently.
 */
const rowsKeptMicros = 23 * 3_600_000_000;

/** The time by both clocks of a process. */
export interface ClockReading {
  readonly wallMicros: number;
  readonly monotonicMs: number;
}

export function readClocks(clock: Clock): ClockReading {
  return { wallMicros: clock.nowMicros(), monotonicMs: clock.monotonicMs() };
}

/**
 * Whether a sweep may have removed the row of a batch since that time. The clock that has advanced
 * further counts: the wall clock may have been set back since, and the monotonic clock may have
 * stood still while the machine slept.
 */
export function mayBeRemoved({ wallMicros, monotonicMs }: ClockReading, clock: Clock): boolean {
  const byWall = clock.nowMicros() - wallMicros;
  const byMonotonic = (clock.monotonicMs() - monotonicMs) * 1_000;
  return Math.max(byWall, byMonotonic) >= rowsKeptMicros;
}
