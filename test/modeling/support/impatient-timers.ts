import type { Timers } from '../../../src/base/async/timers.js';

/** Short waits, such as those between attempts, end at once; long ones never end. */
export const impatientTimers: Timers = {
  start: (delayMs, callback, argument) => {
    if (delayMs >= 10_000) return { close: () => undefined };
    const immediate = setImmediate(callback, argument);
    return { close: () => clearImmediate(immediate) };
  },
};
