import { instance } from '../../base/shape/shape.js';
import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import type { Timers } from '../../base/async/timers.js';
import { option } from './option.js';

/** The sources of time, delays and randomness; replaceable for tests. */
export const environmentOptions = {
  /** The clock. Default: that of the machine. */
  clock: option({
    shape: instance<Clock>('object', { has: ['nowMicros', 'monotonicMs'] }),
    help: 'what time it is, for tests that decide it',
    defaultWords: 'the clocks of the machine',
  }),
  /** The timers. Default: those of the machine. */
  timers: option({
    shape: instance<Timers>('object', { has: ['start'] }),
    help: 'delays, for tests that decide them',
    defaultWords: 'those of the machine',
  }),
  /** The randomness. Default: that of the machine. */
  randomness: option({
    shape: instance<Randomness>('object', { has: ['bytes', 'uuid'] }),
    help: 'chance, for tests that decide it',
    defaultWords: 'that of the machine',
  }),
};
