import { holdingTimers, type Timers } from '../../src/base/async/timers.js';

/** Timers that fire at once, and the delays that were asked for. */
export function immediateTimers(): { readonly timers: Timers; readonly delays: number[] } {
  const delays: number[] = [];
  const timers: Timers = {
    start(delayMs, callback, argument) {
      delays.push(delayMs);
      return holdingTimers.start(0, callback, argument);
    },
  };
  return { timers, delays };
}

/** Timers that run `factor` times as fast. */
export function fasterTimers(factor: number, timers: Timers = holdingTimers): Timers {
  return {
    start: (delayMs, callback, argument) => timers.start(delayMs / factor, callback, argument),
  };
}
