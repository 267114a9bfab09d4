import type { Connection } from './connection.js';
import { PeriodicWork, type PeriodicWorkOptions } from './periodic-work.js';
import type { Statements } from './statements.js';

/** The time between two sweeps: about the time after which an unused row is closed. */
export const sweepMs = 3_600_000;

/**
 * Closes the rows of sessions that applied nothing for an hour, and removes rows that were closed
 * two days ago. Both times are by the clock of the database, because those of the servers may
 * differ by days. A process asks for the outcome of a batch within minutes, and looks for lost
 * commits in the rows of its batches of the last 23 hours. A session whose row was closed or
 * removed begins another one. Several servers may sweep at once.
 */
export async function sweepSessions(
  connection: Pick<Connection, 'query'>,
  { closeOldSessions, removeOldSessions }: Statements,
): Promise<void> {
  await connection.query(closeOldSessions, []);
  await connection.query(removeOldSessions, []);
}

export interface SessionSweepOptions extends Pick<
  PeriodicWorkOptions,
  'source' | 'timers' | 'onRefused'
> {
  readonly statements: Statements;
}

/** Sweeps every hour, because a store may be open for months and lost connections leave rows. */
export function sessionSweep({ statements, ...options }: SessionSweepOptions): PeriodicWork {
  return new PeriodicWork({
    ...options,
    pauseMs: sweepMs,
    work: (connection) => sweepSessions(connection, statements),
    keepsConnection: false,
  });
}
