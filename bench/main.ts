import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createQueues, fillTable, isMeasured, topUp } from './fill.js';
import { isQueueKind, isTableKind, services, type Service, type WorkloadKind } from './kinds.js';
import { runLoad, type LoadResult, type Workload } from './load.js';
import { parseOptions, usage, type BenchOptions } from './options.js';
import { profileTable } from './profile.js';
import { progress } from './progress.js';
import { makeQueueWorkload } from './queue-workloads.js';
import * as report from './report.js';
import {
  stopServersAtEnd,
  startServer,
  type ProcessUsage,
  type ServerName,
  type ServerProcess,
} from './server-process.js';
import { makeTableWorkload, RowNumbers } from './table-workloads.js';

/** Warm-up before each measurement: code compiles and connections open outside the clock. */
const warmupMs = 700;
/** Above this share of a core the load generator may be what is measured. */
const loadShareMax = 0.9;
const profileRows = 40;

function describe({ units, seconds, p50Ms, p99Ms, loadCpuShare }: LoadResult): string {
  const rate = report.shortNumber(units / seconds);
  const busy = loadCpuShare > loadShareMax ? ', LOAD GENERATOR SATURATED' : '';
  return (
    `${rate} /s, p50 ${report.shortNumber(p50Ms)} ms, p99 ${report.shortNumber(p99Ms)} ms, ` +
    `load at ${Math.round(loadCpuShare * 100)} % of a core${busy}`
  );
}

function cpuPerRequest(
  before: ProcessUsage,
  after: ProcessUsage,
  requests: number,
): number | undefined {
  if (before.cpuSeconds === undefined || after.cpuSeconds === undefined) return undefined;
  return ((after.cpuSeconds - before.cpuSeconds) * 1e6) / requests;
}

/** Measures one service of several servers. */
class Bench {
  readonly #options: BenchOptions;
  readonly #kinds: readonly WorkloadKind[];
  readonly #servers: readonly ServerProcess[];
  readonly #rows = new RowNumbers();
  readonly measurements: report.Measurement[] = [];

  constructor(
    options: BenchOptions,
    kinds: readonly WorkloadKind[],
    servers: readonly ServerProcess[],
  ) {
    this.#options = options;
    this.#kinds = kinds;
    this.#servers = servers;
  }

  async fill(): Promise<void> {
    const queueKinds = this.#kinds.filter(isQueueKind);
    for (const server of this.#servers) {
      if (this.#kinds.some(isTableKind)) await fillTable(server, this.#options.connections);
      await createQueues(server, queueKinds);
    }
  }

  /** Kind by kind; in each round the servers take turns, and the first of a round changes. */
  async measureAll(): Promise<void> {
    for (const kind of this.#kinds) {
      const servers = this.#servers.filter(
        ({ name }) => !isQueueKind(kind) || isMeasured(name, kind),
      );
      for (let round = 0; round < this.#options.rounds; round += 1) {
        const first = round % Math.max(1, servers.length);
        const order = [...servers.slice(first), ...servers.slice(0, first)];
        for (const server of order) await this.#measure(server, kind, round);
      }
    }
  }

  async #measure(server: ServerProcess, kind: WorkloadKind, round: number): Promise<void> {
    const { connections, seconds } = this.#options;
    if (isQueueKind(kind)) {
      await topUp(server, kind, { seconds: seconds + warmupMs / 1000, connections });
    }
    const workload = this.#workload(server, kind);
    const warm = { connections, warmupMs: 0, durationMs: warmupMs };
    await runLoad(server.target, workload, warm);
    const before = server.usage();
    const timed = { connections, warmupMs: 0, durationMs: seconds * 1000 };
    const result = await runLoad(server.target, workload, timed);
    const serverCpuMicros = cpuPerRequest(before, server.usage(), result.requests);
    this.measurements.push({ kind, server: server.name, round, serverCpuMicros, ...result });
    progress(`${kind} round ${round + 1}, ${server.name}: ${describe(result)}`);
  }

  #workload({ target }: ServerProcess, kind: WorkloadKind): Workload {
    if (isQueueKind(kind)) return makeQueueWorkload(kind, target);
    return makeTableWorkload(kind, target, this.#rows);
  }
}

async function startAll(options: BenchOptions, service: Service): Promise<ServerProcess[]> {
  const servers: ServerProcess[] = [];
  for (const name of options.servers) {
    const profiled = options.profileDirectory !== undefined && name.startsWith('tabularium');
    const start = profiled ? { profileDirectory: options.profileDirectory ?? '' } : {};
    servers.push(await startServer(name, service, start));
  }
  return servers;
}

function memoryReports(
  servers: readonly ServerProcess[],
  afterLoading: ReadonlyMap<ServerName, ProcessUsage>,
): report.MemoryReport[] {
  return servers.map((server) => {
    const atEnd = server.usage();
    return { server: server.name, afterLoading: afterLoading.get(server.name) ?? atEnd, atEnd };
  });
}

interface ServiceResults {
  readonly service: Service;
  readonly measurements: readonly report.Measurement[];
  readonly memory: readonly report.MemoryReport[];
}

/** Starts servers for one service, measures it and stops them. */
async function benchService(
  options: BenchOptions,
  service: Service,
  kinds: readonly WorkloadKind[],
): Promise<ServiceResults> {
  const servers = await startAll(options, service);
  try {
    const bench = new Bench(options, kinds, servers);
    await bench.fill();
    const loaded = new Map(servers.map((server) => [server.name, server.usage()]));
    await bench.measureAll();
    const memory = memoryReports(servers, loaded);
    const table = report.loadTable(bench.measurements, service, kinds, options.servers);
    process.stdout.write(`\n${table}\n\n${report.memoryTable(memory)}\n`);
    return { service, measurements: bench.measurements, memory };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function run(options: BenchOptions): Promise<void> {
  const { profileDirectory, jsonFile } = options;
  if (profileDirectory !== undefined) mkdirSync(profileDirectory, { recursive: true });
  const results: ServiceResults[] = [];
  for (const service of services) {
    const isAsked = service === 'queue' ? isQueueKind : isTableKind;
    const kinds = options.kinds.filter((kind) => isAsked(kind));
    if (kinds.length > 0) results.push(await benchService(options, service, kinds));
  }
  process.stdout.write(`\n${report.machineLine()}\n`);
  if (jsonFile !== undefined) {
    writeFileSync(jsonFile, `${JSON.stringify({ options, results }, undefined, 2)}\n`);
  }
  if (profileDirectory !== undefined) {
    process.stdout.write(`\n${profileTable(profileDirectory, profileRows)}`);
  }
}

/** Azurite is no part of the root install. Shows its progress; throws when it fails. */
function installExtras(): void {
  const script = fileURLToPath(new URL('../../scripts/extras.js', import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' });
  if (status !== 0) throw new Error('Without it: --servers bare,tabularium');
}

stopServersAtEnd();

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usage);
  else {
    if (options.servers.includes('azurite')) installExtras();
    await run(options);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
