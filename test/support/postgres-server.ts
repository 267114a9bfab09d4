import { spawn, execFile, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { invariant } from '../../src/base/invariant.js';

const run = promisify(execFile);

/** Where Debian puts the programs of a release. */
const debianFolder = '/usr/lib/postgresql';
/** The user `nobody`: PostgreSQL does not run as root. */
const nobody = 65_534;

/** As whom servers run; undefined: as this process. */
export const postgresUser = userInfo().uid === 0 ? nobody : undefined;

/** The folder of the programs that `npm run test:postgres` was told to use. */
const chosenPrograms = process.env['TABULARIUM_TEST_POSTGRES_PROGRAMS'];

/** The folder of PostgreSQL's programs on this machine; undefined when there are none. */
export function postgresPrograms(): string | undefined {
  if (chosenPrograms !== undefined) return chosenPrograms;
  const folders = existsSync(debianFolder)
    ? readdirSync(debianFolder).map((release) => join(debianFolder, release, 'bin'))
    : [];
  const onPath = (process.env['PATH'] ?? '').split(':');
  return [...folders, ...onPath].find((folder) => existsSync(join(folder, 'initdb')));
}

/** Why tests of PostgreSQL are left out here; false when they are not. */
export const withoutPostgres =
  postgresPrograms() === undefined && 'PostgreSQL is not installed: no initdb was found';

export interface PostgresServer {
  readonly url: string;
  /** Signals of the postmaster: SIGTERM smart, SIGINT fast, SIGQUIT immediate, SIGKILL. */
  stop(signal?: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its data. */
  dispose(): Promise<void>;
}

/** A new, empty server with its data in a temporary folder. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const initial = ['-U', 'tabularium', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  return startWith({ program: 'initdb', options: initial }, settings);
}

/** A standby of a server, which it follows until it is promoted by `select pg_promote()`. */
export function startStandby(
  primary: PostgresServer,
  settings: readonly string[] = [],
): Promise<PostgresServer> {
  const { hostname, port } = new URL(primary.url);
  const from = ['-h', hostname, '-p', port, '-U', 'tabularium'];
  const options = [...from, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
  return startWith({ program: 'pg_basebackup', options }, settings);
}

/** `make`: the program that makes the data. */
async function startWith(
  make: { readonly program: string; readonly options: readonly string[] },
  settings: readonly string[],
): Promise<PostgresServer> {
  const programs = postgresPrograms();
  invariant(programs !== undefined, 'PostgreSQL is installed');
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-postgres-'));
  const identity = postgresUser === undefined ? {} : { uid: postgresUser, gid: postgresUser };
  if (postgresUser !== undefined) await chown(folder, postgresUser, postgresUser);
  const data = join(folder, 'data');
  const port = await freePort();
  const where = { ...identity, cwd: folder };
  await run(join(programs, make.program), ['-D', data, ...make.options], where);
  let child: ChildProcess | undefined;
  const url = `postgres://tabularium@127.0.0.1:${port}/postgres`;
  const server: PostgresServer = {
    url,
    async start() {
      const own = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
      const options = [...own, ...settings].flatMap((setting) => ['-c', setting]);
      const begin = () => {
        child = spawn(join(programs, 'postgres'), ['-D', data, '-p', `${port}`, ...options], {
          ...identity,
          cwd: folder,
          stdio: 'ignore',
        });
        return child;
      };
      await ready(url, begin);
    },
    async stop(signal = 'SIGINT') {
      if (child?.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
    async dispose() {
      await server.stop('SIGQUIT');
      await rm(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

const attemptsMax = 300;

/**
 * Begins a server until one answers: behind a first process that was killed none can begin until
 * all of its processes have noticed.
 */
async function ready(url: string, begin: () => ChildProcess): Promise<void> {
  let child = begin();
  for (let attempts = 1; ; attempts += 1) {
    const client = new Client(url);
    client.on('error', () => undefined);
    try {
      if (child.exitCode !== null) child = begin();
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (attempts >= attemptsMax) throw error;
      await pause(100);
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  invariant(typeof address === 'object' && address !== null, 'a server that listens has a port');
  server.close();
  return address.port;
}
