/** The only source of time. Injected, so that tests decide what time it is. */
export interface Clock {
  /** Wall clock: microseconds since 1970-01-01T00:00:00Z. May step back. */
  nowMicros(): number;
  /** Milliseconds, fractions included, from an arbitrary start. Never steps back. */
  monotonicMs(): number;
}

/** The machine's clocks. The wall clock keeps microseconds that `Date.now` would cut off. */
export const systemClock: Clock = {
  nowMicros: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
  monotonicMs: () => performance.now(),
};

export interface ManualClock extends Clock {
  /** Moves both clocks. The wall clock accepts a negative step; the monotonic one ignores it. */
  advanceMicros(step: number): void;
}

/** A clock that stands still until it is told to move. */
export function manualClock(startMicros = 1_700_000_000_000_000): ManualClock {
  let wallMicros = startMicros;
  let monotonic = 0;
  return {
    nowMicros: () => wallMicros,
    monotonicMs: () => monotonic,
    advanceMicros(step) {
      wallMicros += step;
      monotonic += Math.max(0, step) / 1000;
    },
  };
}
