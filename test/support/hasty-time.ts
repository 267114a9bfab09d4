import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { systemClock, type Clock } from '../../src/base/clock.js';
import { fasterTimers } from './quick-timers.js';

/**
 * Options of a server that waits for everything, and for nothing as long as it takes: `haste` times
 * shorter.
 */
export function hastyTime(haste = 20): { readonly timers: Timers; readonly clock: Clock } {
  return {
    timers: fasterTimers(haste, systemTimers),
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * haste },
  };
}
