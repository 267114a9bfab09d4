import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { invariant } from '../../src/base/invariant.js';
import { runSql } from './engine-postgres.js';
import { freePort, postgresUser } from './postgres-server.js';

/** Debian puts the program where the PATH of users does not lead. */
const folders = ['/usr/sbin', ...(process.env['PATH'] ?? '').split(':')];
const program = folders.map((each) => join(each, 'pgbouncer')).find((each) => existsSync(each));

/** Why tests of PgBouncer are left out here; false when they are not. */
export const withoutPgbouncer = program === undefined && 'PgBouncer is not installed';

export interface Pgbouncer extends AsyncDisposable {
  /** The address of the database by way of the pooler. */
  readonly url: string;
  /** Ends the pooler and all connections of it at once, and starts it again. */
  restart(): Promise<void>;
}

/**
 * A pooler before the database at a URL. `mode`: for how long a client has a process of the
 * database. `settings`: further lines of its configuration.
 */
export async function startPgbouncer(
  target: string,
  mode: 'session' | 'transaction' | 'statement',
  settings: readonly string[] = [],
): Promise<Pgbouncer> {
  const { hostname, port, username, pathname } = new URL(target);
  const own = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-pgbouncer-'));
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `${pathname.slice(1)} = host=${hostname} port=${port} user=${username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${own}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 100',
    'max_client_conn = 1000',
    ...settings,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  if (postgresUser !== undefined) await chown(folder, postgresUser, postgresUser);
  const url = new URL(target);
  url.port = String(own);
  let child: ChildProcess | undefined;
  const end = async (): Promise<void> => {
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  const start = async (): Promise<void> => {
    invariant(program !== undefined, 'PgBouncer is installed');
    // It does not run as root.
    const identity = postgresUser === undefined ? {} : { uid: postgresUser, gid: postgresUser };
    child = spawn(program, ['-q', file], { ...identity, cwd: folder, stdio: 'ignore' });
    await answering(url.href);
  };
  await start();
  return {
    url: url.href,
    async restart() {
      await end();
      await start();
    },
    async [Symbol.asyncDispose]() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const attemptsMax = 300;

async function answering(url: string): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      await runSql(url, 'select 1');
      return;
    } catch (error) {
      if (attempts >= attemptsMax) throw error;
      await pause(50);
    }
  }
}
