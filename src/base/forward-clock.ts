import type { Clock } from './clock.js';

/** When the wall clock is behind by less than this, in microseconds, the clock waits for it. */
const stepMicrosMin = 1_000_000;
/** How much slower the clock runs while it is ahead of the wall clock. */
const slowing = 0.1;

/** A clock whose `nowMicros` never steps back. */
export interface ForwardClock extends Clock {
  /** Moves the clock to at least this time, which another process or an earlier run has used. */
  atLeast(micros: number): void;
}

/**
 * A clock for stored times. When the wall clock is set back, this clock continues from its last
 * time, so that a stored timeout of one minute still lasts one minute. It then runs a tenth slower
 * until the wall clock has caught up.
 */
export function forwardClock(clock: Clock): ForwardClock {
  return new SteppedClock(clock);
}

class SteppedClock implements ForwardClock {
  readonly #clock: Clock;
  /** The last time returned, and when. */
  #last: number;
  #lastMs: number;
  /** By how much this clock is ahead of the wall clock. */
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
    // A small lag is no step back: the clock waits until the wall clock has caught up.
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
