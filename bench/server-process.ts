import { createSecretKey } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unreachable } from '../src/base/invariant.js';
import { developmentAccount } from '../src/services/accounts/directory.js';
import type { Ports } from './child.js';
import {
  isProfileAnswer,
  type ProfileAnswer,
  type ProfileRequest,
} from './flame/profile-request.js';
import type { Target } from './http-request.js';
import type { Service } from './kinds.js';

export const serverNames = [
  'bare',
  'azurite',
  'tabularium',
  'tabularium-relaxed',
  'tabularium-no-journal',
  'tabularium-workers',
  'tabularium-postgres',
] as const;
export type ServerName = (typeof serverNames)[number];

/** Whether a server only serves as a reference for comparison. */
export function isReference(server: ServerName): boolean {
  return server === 'bare' || server === 'azurite';
}

/** A server in a process of its own, listening on a free port. */
export interface ServerProcess {
  readonly name: ServerName;
  readonly target: Target;
  /** Where its services listen. */
  readonly ports: Ports;
  /** Where its data is. */
  readonly directory: string;
  /** Compiled scripts of this benchmark that work on such data: those of the server's own build. */
  readonly scripts: string;
  readonly usage: () => ProcessUsage;
  /** Asks a server of the benchmark's own for a number. */
  ask(message: string): Promise<number>;
  /** Begins or ends a profile of a server that was started with `profilingFlags`. */
  profile(request: ProfileRequest): Promise<ProfileAnswer>;
  /** Ends the process in order, then removes its data unless it was given their directory. */
  stop(): Promise<void>;
  /** Ends the process as a crash does. Its data stay. */
  kill(): Promise<void>;
}

/**
 * The resources that a process has used, read from /proc; absent where the system does not tell.
 */
export interface ProcessUsage {
  readonly cpuSeconds: number | undefined;
  readonly residentMb: number | undefined;
  /** The part of resident memory that no file backs: a mapped database is not in it. */
  readonly anonymousMb: number | undefined;
}

const host = '127.0.0.1';
const account = {
  name: developmentAccount.name,
  key: createSecretKey(Buffer.from(developmentAccount.keys[0] ?? '', 'base64')),
};
const startupMsMax = 20_000;
const shutdownMsMax = 15_000;
const connectRetryMs = 50;
/** Linux counts processor time in units of 1/100 s on every architecture that Node supports. */
export const ticksPerSecond = 100;

const stoppers = new Set<() => void>();

/** Stops what is still running when the benchmark ends, also when it is interrupted. */
export function stopServersAtEnd(): void {
  process.on('exit', stopAll);
  process.on('SIGINT', () => {
    stopAll();
    process.exit(130);
  });
}

function stopAll(): void {
  for (const stop of stoppers) stop();
}

/** A process and those that it started, and so on. */
function processTree(pid: number): readonly number[] {
  const tasks = `/proc/${pid}/task`;
  const children = readdirSync(tasks).flatMap((task) =>
    readFileSync(`${tasks}/${task}/children`, 'utf8').trim().split(' '),
  );
  return [
    pid,
    ...children.filter((each) => each !== '').flatMap((each) => processTree(Number(each))),
  ];
}

function readProcess(pid: number): Record<keyof ProcessUsage, number> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const megabytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  return { cpuSeconds, residentMb: megabytes('VmRSS'), anonymousMb: megabytes('RssAnon') };
}

/** Sums over the process and its workers. Pages that they share count for each of them. */
function readUsage(pid: number): ProcessUsage {
  try {
    const all = processTree(pid).map(readProcess);
    const sum = (field: keyof ProcessUsage): number =>
      all.reduce((total, each) => total + each[field], 0);
    return {
      cpuSeconds: sum('cpuSeconds'),
      residentMb: sum('residentMb'),
      anonymousMb: sum('anonymousMb'),
    };
  } catch {
    return { cpuSeconds: undefined, residentMb: undefined, anonymousMb: undefined };
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, host, () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, host);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

/** Resolves when something listens on the port; throws when the child ends or takes too long. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + startupMsMax;
  while (!(await canConnect(port))) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}.`);
    if (performance.now() > deadline) throw new Error('The server does not start to listen.');
    await new Promise((resolve) => setTimeout(resolve, connectRetryMs));
  }
}

/** The ports that a child of ours reports once it listens. */
function reportedPorts(child: ChildProcess): Promise<Ports> {
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve(message as Ports));
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`The server ended with ${code}.`)));
  });
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const impatience = setTimeout(() => child.kill('SIGKILL'), shutdownMsMax);
    child.on('exit', () => {
      clearTimeout(impatience);
      resolve();
    });
  });
}

/** How a server is started. */
export interface Launch {
  readonly args: (directory: string, ports: Ports) => readonly string[];
  /** Whether the child tells its ports itself. */
  readonly reportsPorts: boolean;
}

function script(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

function launchOf(name: ServerName, service: Service): Launch {
  switch (name) {
    case 'bare':
      return { args: (directory) => [script('bare-server.js'), directory], reportsPorts: true };
    case 'azurite':
      return azurite(service);
    case 'tabularium-workers':
      return withWorkers;
    case 'tabularium':
      return inOneProcess('journal');
    case 'tabularium-relaxed':
      return inOneProcess('relaxed');
    case 'tabularium-no-journal':
      return inOneProcess('no-journal');
    case 'tabularium-postgres':
      return inOneProcess('postgres');
    default:
      return unreachable(name);
  }
}

function inOneProcess(mode: 'journal' | 'no-journal' | 'relaxed' | 'postgres'): Launch {
  return {
    args: (directory) => [script('tabularium-server.js'), directory, mode],
    reportsPorts: true,
  };
}

/** The command line with two processes on the data directory. */
const withWorkers: Launch = {
  args: (directory, ports) => [
    script('../../bin/tabularium.js'),
    'start',
    `--location=${directory}`,
    `--table-port=${ports.table}`,
    `--queue-port=${ports.queue}`,
    `--blob-port=${ports.blob}`,
    '--workers=2',
    '--log-level=error',
  ],
  reportsPorts: false,
};

/**
 * Azurite as a user runs it: persistence in a directory, which is its default, and no access log.
 */
function azurite(service: Service): Launch {
  return {
    args: (directory, ports) => [
      script(`../../extras/node_modules/azurite/dist/src/${service}/main.js`),
      `--location=${directory}`,
      `--${service}Host=${host}`,
      `--${service}Port=${ports[service]}`,
      '--silent',
      '--skipApiVersionCheck',
      '--disableTelemetry',
    ],
    reportsPorts: false,
  };
}

export interface StartOptions {
  /** Absent: as servers of this name are started. */
  readonly launch?: Launch;
  readonly nodeFlags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The directory of its data, which stays; absent: a new one, removed with the server. */
  readonly directory?: string;
}

function spawnNode(
  args: readonly string[],
  environment: StartOptions['environment'] = {},
): ChildProcess {
  return spawn(process.execPath, [...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', ...environment },
  });
}

function ask(child: ChildProcess, question: string | object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.send(question, (error) => {
      if (error !== null) reject(error);
    });
  });
}

async function askForProfile(child: ChildProcess, request: ProfileRequest): Promise<ProfileAnswer> {
  const answer = await ask(child, request);
  if (!isProfileAnswer(answer)) throw new Error('The server answered something else.');
  if (answer.profile === 'failed') throw new Error(`No profile of the server: ${answer.reason}`);
  return answer;
}

/** Starts a server to measure one of its services. */
export async function startServer(
  name: ServerName,
  service: Service,
  options: StartOptions,
): Promise<ServerProcess> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), `tabularium-bench-${name}-`));
  const removeData = (): void => {
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  const launch = options.launch ?? launchOf(name, service);
  const asked = { table: await freePort(), queue: await freePort(), blob: await freePort() };
  const args = [...(options.nodeFlags ?? []), ...launch.args(directory, asked)];
  const child = spawnNode(args, options.environment);
  const abandon = (): void => {
    child.kill('SIGKILL');
    removeData();
  };
  stoppers.add(abandon);
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    child.kill(signal);
    await ended(child);
    stoppers.delete(abandon);
  };
  const stop = async (): Promise<void> => {
    await end('SIGTERM');
    removeData();
  };
  try {
    const ports = launch.reportsPorts ? await reportedPorts(child) : asked;
    await listening(child, ports[service]);
    const target = { host, port: ports[service], account };
    return {
      name,
      target,
      ports,
      directory,
      scripts: script('.'),
      usage: () => readUsage(child.pid ?? 0),
      ask: async (message) => Number(await ask(child, message)),
      profile: (request) => askForProfile(child, request),
      stop,
      kill: () => end('SIGKILL'),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
