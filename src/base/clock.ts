/** The only source of time. Injected, so that tests decide what time it is. */
export interface Clock {
  /** Wall clock: microseconds since 1970-01-01T00:00:00Z. May step back. */
  nowMicros(): number;
  /** Milliseconds, fractions included, from an arbitrary start. Never steps back. */
  monotonicMs(): number;
}

/** The clocks of a machine, in milliseconds. */
export interface TimeSource {
  /** Since 1970. Follows every step of the wall clock; has no fractions. */
  wallMs(): number;
  /** From an arbitrary start, with fractions. May stand still while the machine sleeps. */
  monotonicMs(): number;
}

/**
 * A larger gap between the two sources is a step of the wall clock, not the time between two reads.
 */
const stepMsMin = 100;

/**
 * A wall clock in microseconds, although the machine's wall clock has only milliseconds: it adds
 * the fractions of the monotonic clock to a base. After a step of the wall clock or a sleep of the
 * machine, the base is set anew. `startMs`: the wall clock when `monotonicMs` was 0.
 */
export function clockOver(source: TimeSource, startMs: number): Clock {
  let originMs = startMs;
  return {
    nowMicros() {
      const monotonicMs = source.monotonicMs();
      const wallMs = source.wallMs();
      if (Math.abs(wallMs - originMs - monotonicMs) >= stepMsMin) originMs = wallMs - monotonicMs;
      return Math.floor((originMs + monotonicMs) * 1000);
    },
    monotonicMs: () => source.monotonicMs(),
  };
}

/** The machine's clocks. */
export const systemClock: Clock = clockOver(
  { wallMs: () => Date.now(), monotonicMs: () => performance.now() },
  performance.timeOrigin,
);

export interface ManualClock extends Clock {
  /** Moves both clocks. The wall clock accepts a negative step; the monotonic one ignores it. */
  advanceMicros(step: number): void;
}

/** A clock that moves only when it is told to. */
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
