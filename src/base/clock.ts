/** The only source of time. Injected, so that tests decide what time it is. */
export interface Clock {
  /** Wall clock: microseconds since 1970-01-01T00:00:00Z. May step back. */
  nowMicros(): number;
  /** Milliseconds, fractions included, from an arbitrary start. Never steps back. */
  monotonicMs(): number;
}

/** What a machine tells about time, in milliseconds. */
export interface TimeSource {
  /** Since 1970. Follows every step of the wall clock; has no fractions. */
  wallMs(): number;
  /** From an arbitrary start, with fractions. May stand still while the machine sleeps. */
  monotonicMs(): number;
}

/** More than reading both sources one after the other explains. */
const stepMsMin = 100;

/**
 * A clock with microseconds, which the wall clock of a machine does not have: it counts on from
 * where the wall clock was. When that has been set, or the machine has slept, it counts on from
 * there. `startMs`: the wall clock when `monotonicMs` was 0.
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
