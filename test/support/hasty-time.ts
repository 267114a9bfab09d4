import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { systemClock, type Clock } from '../../src/base/clock.js';

const haste = 20;

const timers: Timers = {
  start: (delayMs, callback, argument) => systemTimers.start(delayMs / haste, callback, argument),
};

const clock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * haste,
};

/** Options of a server that waits for everything, and for nothing as long as it takes. */
export const hastyTime = { timers, clock } as const;
