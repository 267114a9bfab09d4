import { createSecretKey } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { developmentAccount } from '../src/services/accounts/directory.js';
import type { Target } from './http-request.js';

export const serverNames = ['bare', 'azurite', 'tabularium', 'tabularium-relaxed'] as const;
export type ServerName = (typeof serverNames)[number];

/** A server in a process of its own, listening on a free port. */
export interface ServerProcess {
  readonly name: ServerName;
  readonly target: Target;
  readonly usage: () => ProcessUsage;
  /** Ends the process in order, then removes its data. */
  stop(): Promise<void>;
}

/** What a process has used; absent where the system does not tell (it is read from /proc). */
export interface ProcessUsage {
  readonly cpuSeconds: number | undefined;
  readonly residentMb: number | undefined;
  /** The part of resident memory that no file backs: a mapped database is not in it. */
  readonly privateMb: number | undefined;
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
const ticksPerSecond = 100;

/** Stops everything that is still running; called when the benchmark is interrupted. */
const stoppers = new Set<() => void>();

export function abandonServers(): void {
  for (const stop of stoppers) stop();
}

function readUsage(pid: number): ProcessUsage {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const megabytes = (field: string): number | undefined => {
      const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
      return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
    };
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
    return { cpuSeconds, residentMb: megabytes('VmRSS'), privateMb: megabytes('RssAnon') };
  } catch {
    return { cpuSeconds: undefined, residentMb: undefined, privateMb: undefined };
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

/** The port that a child of ours reports once it listens. */
function reportedPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve(Number(message)));
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

interface Launch {
  readonly args: (directory: string, port: number) => readonly string[];
  /** Whether the child tells its port itself. */
  readonly reportsPort: boolean;
}

function script(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

function launchOf(name: ServerName): Launch {
  if (name === 'bare') return { args: () => [script('bare-server.js')], reportsPort: true };
  if (name === 'azurite') return azurite;
  const durability = name === 'tabularium' ? 'durable' : 'relaxed';
  return {
    args: (directory) => [script('tabularium-server.js'), directory, durability],
    reportsPort: true,
  };
}

/** Azurite as a user runs it: persistence in a directory, which is its default, and no access log. */
const azurite: Launch = {
  args: (directory, port) => [
    script('../../node_modules/azurite/dist/src/table/main.js'),
    `--location=${directory}`,
    `--tableHost=${host}`,
    `--tablePort=${port}`,
    '--silent',
    '--skipApiVersionCheck',
    '--disableTelemetry',
  ],
  reportsPort: false,
};

export interface StartOptions {
  /** Where to write a processor profile when the server ends; none when absent. */
  readonly profileDirectory?: string;
}

/** What `npm start` gives to node, here given to every server alike: fewer, cheaper collections. */
const nodeFlags = ['--max-semi-space-size=64'];

function spawnNode(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...nodeFlags, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
}

export async function startServer(name: ServerName, options: StartOptions): Promise<ServerProcess> {
  const directory = mkdtempSync(join(tmpdir(), `tabularium-bench-${name}-`));
  const launch = launchOf(name);
  const asked = launch.reportsPort ? 0 : await freePort();
  const profile = options.profileDirectory;
  const profiling = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const child = spawnNode([...profiling, ...launch.args(directory, asked)]);
  const abandon = (): void => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  };
  stoppers.add(abandon);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended(child);
    stoppers.delete(abandon);
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const port = launch.reportsPort ? await reportedPort(child) : asked;
    await listening(child, port);
    const target = { host, port, account };
    return { name, target, usage: () => readUsage(child.pid ?? 0), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
