import { setTimeout as pause } from 'node:timers/promises';
import { runSql } from './engine-postgres.js';
import type { PostgresServer } from './postgres-server.js';

/** The address of a database on the first of two servers that takes writes. */
export function eitherOf(first: PostgresServer, second: PostgresServer): string {
  const [one, other] = [new URL(first.url), new URL(second.url)];
  return `postgres://tabularium@${one.host},${other.host}${one.pathname}`;
}

/** Waits until a standby has all that its primary has acknowledged. */
export async function caughtUp(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [row] = await runSql(primary.url, 'select pg_current_wal_lsn()');
  const position = String(Object.values(row ?? {})[0]);
  const received = `select pg_last_wal_replay_lsn() >= '${position}' as done`;
  while (JSON.stringify(await runSql(standby.url, received)) !== '[{"done":true}]') await pause(20);
}

/** Kills a primary; its standby, which has nothing of what is done meanwhile, takes over. */
export async function failOverWithout(
  primary: PostgresServer,
  standby: PostgresServer,
  meanwhile: () => Promise<void>,
): Promise<void> {
  await caughtUp(primary, standby);
  await standby.stop('SIGINT');
  await meanwhile();
  await primary.stop('SIGKILL');
  await standby.start();
  await runSql(standby.url, 'select pg_promote()');
}
