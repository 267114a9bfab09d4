import { PeriodicWork, type PeriodicWorkOptions } from './periodic-work.js';
import type { Statement } from './statements.js';

/** The time between two beats. A beat that another server has just made is not repeated. */
const beatMs = 1_000;

export interface HeartbeatOptions extends Pick<
  PeriodicWorkOptions,
  'source' | 'timers' | 'onRefused'
> {
  readonly statement: Statement;
}

/**
 * Writes the time into the database every second. A standby that shows a time has every commit that
 * was acknowledged before it; standbys seem to be behind while no beat is taken.
 */
export function heartbeat({ statement, ...options }: HeartbeatOptions): PeriodicWork {
  return new PeriodicWork({
    ...options,
    pauseMs: beatMs,
    work: (connection) => connection.query(statement, []),
    keepsConnection: true,
  });
}
