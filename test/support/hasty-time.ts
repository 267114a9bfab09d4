import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { systemClock, type Clock } from '../../src/base/clock.js';
import { fasterTimers } from './quick-timers.js';

/**
 * The factor for a database that is away: 2 s are left for a busy machine between the refusal of a
 * commit, which comes after 20 s without a database, and the end of the request, after 30 s.
 */
export const hasteAway = 5;

/**
 * Options of a server whose time limits are all shorter by the factor `haste`. The machine is not
 * faster: where two limits must pass in their order, the factor must leave enough between them.
 */
export function hastyTime(haste = 20): { readonly timers: Timers; readonly clock: Clock } {
  return {
    timers: fasterTimers(haste, systemTimers),
    clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() * haste },
  };
}
