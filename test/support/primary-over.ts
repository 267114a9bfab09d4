import { manualClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { Primary } from '../../src/engines/postgres/primary.js';
import { manualTimers } from './manual-timers.js';

/** What looks for the server that takes writes among these, and the troubles that it tells. */
export function primaryOver(addresses: readonly string[]) {
  const timers = manualTimers();
  const clock = manualClock();
  const troubles: unknown[] = [];
  const primary = new Primary({
    addresses,
    prepares: true,
    isRelaxed: false,
    idleInTransactionMs: undefined,
    clock,
    timers,
    randomness: systemRandomness,
    onTrouble: (trouble) => troubles.push(trouble),
  });
  return { primary, timers, clock, troubles };
}
