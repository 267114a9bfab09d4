import type { Clock } from './clock.js';

/** Behind by less than this, in microseconds, a wall clock is waited for. */
const stepMicrosMin = 1_000_000;
/** How much slower time passes while it is ahead of the wall clock. */
const slowing = 0.1;

/** A clock whose `nowMicros` never steps back. */
export interface ForwardClock extends Clock {
  /** It is known to have been this late, in another process or before a restart. */
  atLeast(micros: number): void;
}

/**
 * A clock for what is stored with the times of a wall clock that may be set back. When it is, this
 * one goes on from where it was, so that what becomes visible or ends in a minute does so in a
 * minute. It is then ahead of the wall clock and passes a tenth slower, until that has caught up.
 */
export function forwardClock(clock: Clock): ForwardClock {
  return new SteppedClock(clock);
}

class SteppedClock implements ForwardClock {
  readonly #clock: Clock;
  /** What was told last, and when. */
  #last: number;
  #lastMs: number;
  /** How far this clock is ahead of the wall clock. */
  #lead = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = clock.nowMicros();
    this.#lastMs = clock.monotonicMs();
  }

  nowMicros(): number {
    const wall = this.#clock.nowMicros();
    const ms = this.#clock.monotonicMs();
    const elapsed = (ms - this.#lastMs) * 1000;
    const isSetBack = wall + this.#lead + stepMicrosMin <= this.#last + elapsed;
    const isAhead = isSetBack || this.#lead > 0;
    const late = isAhead ? elapsed * slowing : 0;
    const due = isSetBack ? this.#last + elapsed : wall + this.#lead;
    const now = Math.max(wall, this.#last, Math.floor(due - late));
    // A clock that is behind by a moment is waited for; it was not set back.
    this.#lead = isAhead ? now - wall : 0;
    this.#last = now;
    this.#lastMs = ms;
    return now;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  atLeast(micros: number): void {
    if (micros <= this.#last + stepMicrosMin) return;
    const now = this.nowMicros();
    if (micros <= now + stepMicrosMin) return;
    this.#lead += micros - now;
    this.#last = micros;
  }
}
