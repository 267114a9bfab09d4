import { mkdirSync, writeFileSync } from 'node:fs';
import { tableName } from './dataset.js';
import { runLoad, type LoadResult } from './load.js';
import { parseOptions, usage, type BenchOptions } from './options.js';
import { profileTable } from './profile.js';
import * as report from './report.js';
import {
  abandonServers,
  startServer,
  type ProcessUsage,
  type ServerName,
  type ServerProcess,
} from './server-process.js';
import {
  dataLoading,
  makeWorkload,
  RowNumbers,
  tableCreation,
  type WorkloadKind,
} from './workloads.js';

/** Warm-up before each measurement: code compiles and connections open outside the clock. */
const warmupMs = 700;
/** Above this share of a core the load generator may be what is measured. */
const loadShareMax = 0.9;
const profileRows = 40;

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function describe({ requests, seconds, p50Ms, p99Ms, loadCpuShare }: LoadResult): string {
  const rate = report.shortNumber(requests / seconds);
  const busy = loadCpuShare > loadShareMax ? ', LOAD GENERATOR SATURATED' : '';
  return (
    `${rate} req/s, p50 ${report.shortNumber(p50Ms)} ms, p99 ${report.shortNumber(p99Ms)} ms, ` +
    `load at ${Math.round(loadCpuShare * 100)} % of a core${busy}`
  );
}

/** Creates the table and its rows: the same bytes for every server. */
async function fill(server: ServerProcess, connections: number): Promise<void> {
  const untimed = { warmupMs: 0, durationMs: Infinity };
  if (server.name === 'bare') return;
  await runLoad(server.target, tableCreation(server.target), { connections: 1, ...untimed });
  await runLoad(server.target, dataLoading(server.target), { connections, ...untimed });
  progress(`${server.name}: table ${tableName} is filled`);
}

function cpuPerRequest(
  before: ProcessUsage,
  after: ProcessUsage,
  requests: number,
): number | undefined {
  if (before.cpuSeconds === undefined || after.cpuSeconds === undefined) return undefined;
  return ((after.cpuSeconds - before.cpuSeconds) * 1e6) / requests;
}

class Bench {
  readonly #options: BenchOptions;
  readonly #servers: readonly ServerProcess[];
  readonly #rows = new RowNumbers();
  readonly measurements: report.Measurement[] = [];

  constructor(options: BenchOptions, servers: readonly ServerProcess[]) {
    this.#options = options;
    this.#servers = servers;
  }

  async fill(): Promise<void> {
    for (const server of this.#servers) await fill(server, this.#options.connections);
  }

  /** Kind by kind; in each round the servers take turns, and the first of a round changes. */
  async measureAll(): Promise<void> {
    const { kinds, rounds } = this.#options;
    for (const kind of kinds) {
      for (let round = 0; round < rounds; round += 1) {
        const first = round % this.#servers.length;
        const order = [...this.#servers.slice(first), ...this.#servers.slice(0, first)];
        for (const server of order) await this.#measure(server, kind, round);
      }
    }
  }

  async #measure(server: ServerProcess, kind: WorkloadKind, round: number): Promise<void> {
    const { connections, seconds } = this.#options;
    const workload = makeWorkload(kind, server.target, this.#rows);
    const warm = { connections, warmupMs: 0, durationMs: warmupMs };
    await runLoad(server.target, workload, warm);
    const before = server.usage();
    const timed = { connections, warmupMs: 0, durationMs: seconds * 1000 };
    const result = await runLoad(server.target, workload, timed);
    const serverCpuMicros = cpuPerRequest(before, server.usage(), result.requests);
    this.measurements.push({ kind, server: server.name, round, serverCpuMicros, ...result });
    progress(`${kind} round ${round + 1}, ${server.name}: ${describe(result)}`);
  }
}

async function startAll(options: BenchOptions): Promise<ServerProcess[]> {
  const servers: ServerProcess[] = [];
  for (const name of options.servers) {
    const profiled = options.profileDirectory !== undefined && name.startsWith('tabularium');
    const start = profiled ? { profileDirectory: options.profileDirectory ?? '' } : {};
    servers.push(await startServer(name, start));
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

function print(options: BenchOptions, bench: Bench, memory: report.MemoryReport[]): void {
  const { kinds, servers, jsonFile } = options;
  const table = report.loadTable(bench.measurements, kinds, servers);
  process.stdout.write(`\n${table}\n\n${report.memoryTable(memory)}\n\n${report.machineLine()}\n`);
  if (jsonFile === undefined) return;
  const everything = { options, measurements: bench.measurements, memory };
  writeFileSync(jsonFile, `${JSON.stringify(everything, undefined, 2)}\n`);
}

async function run(options: BenchOptions): Promise<void> {
  if (options.profileDirectory !== undefined) {
    mkdirSync(options.profileDirectory, { recursive: true });
  }
  const servers = await startAll(options);
  try {
    const bench = new Bench(options, servers);
    await bench.fill();
    const loaded = new Map(servers.map((server) => [server.name, server.usage()]));
    await bench.measureAll();
    print(options, bench, memoryReports(servers, loaded));
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  if (options.profileDirectory !== undefined) {
    process.stdout.write(`\n${profileTable(options.profileDirectory, profileRows)}`);
  }
}

process.on('SIGINT', () => {
  abandonServers();
  process.exit(130);
});
process.on('exit', abandonServers);

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(usage);
  else await run(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
