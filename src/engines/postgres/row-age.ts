import type { Clock } from '../../base/clock.js';

/**
 * How long the row of a session is there after a batch, in microseconds: it is kept for two days at
 * least by the clock of the database. The rest allows for clocks that run differently.
 */
const rowsKeptMicros = 23 * 3_600_000_000;

/** A moment by both clocks of a process. */
export interface Moment {
  readonly wallMicros: number;
  readonly monotonicMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { wallMicros: clock.nowMicros(), monotonicMs: clock.monotonicMs() };
}

/**
 * Whether a sweep may have removed the row of a batch of that moment. The clock that has gone
 * further counts: the wall clock may have been set back since, and the other one may have stood
 * still while the machine slept.
 */
export function mayBeRemoved({ wallMicros, monotonicMs }: Moment, clock: Clock): boolean {
  const byWall = clock.nowMicros() - wallMicros;
  const byMonotonic = (clock.monotonicMs() - monotonicMs) * 1_000;
  return Math.max(byWall, byMonotonic) >= rowsKeptMicros;
}
