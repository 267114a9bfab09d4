import { setTimeout as pause } from 'node:timers/promises';
import { shortNumber } from './figures.js';
import { BlobData } from './blob-workloads.js';
import { blobsOf, createQueues, fillBlobs, fillTable, isMeasured, topUp } from './fill.js';
import {
  connectionsOf,
  isBlobKind,
  isQueueKind,
  isTableKind,
  isUnderWrites,
  type Service,
  type WorkloadKind,
} from './kinds.js';
import { profilingFlags, withFlame } from './flame/flames.js';
import { momentOf, othersShare } from './machine.js';
import { runLoads, type LoadPair, type PairResult } from './load.js';
import type { BenchOptions } from './options.js';
import { progress } from './progress.js';
import * as report from './report.js';
import { comesToRest } from './rest.js';
import {
  isReference,
  startServer,
  type ProcessUsage,
  type ServerName,
  type ServerProcess,
} from './server-process.js';
import { makeTableWorkload, TableData } from './table-workloads.js';
import { makeWorkload } from './workloads.js';

/** Warm-up before each measurement: code compiles and connections open outside the clock. */
const warmupMs = 700;
/** Above this share of a core the load generator may be what is measured. */
const loadShareMax = 0.9;

function describe(
  { units, seconds, p50Ms, p99Ms, loadCpuShare }: PairResult,
  others: number | undefined,
): string {
  const rate = shortNumber(units / seconds);
  const beside =
    others === undefined ? '' : `, others at ${Math.round(others * 100)} % of the machine`;
  const busy = loadCpuShare > loadShareMax ? ', LOAD GENERATOR SATURATED' : '';
  return (
    `${rate} /s, p50 ${shortNumber(p50Ms)} ms, p99 ${shortNumber(p99Ms)} ms, ` +
    `load at ${Math.round(loadCpuShare * 100)} % of a core${busy}${beside}`
  );
}

/** Processor time of a request, whichever of two loads it belongs to. */
function cpuPerRequest(
  before: ProcessUsage,
  after: ProcessUsage,
  { answered }: PairResult,
): number | undefined {
  if (before.cpuSeconds === undefined || after.cpuSeconds === undefined) return undefined;
  return answered === 0 ? undefined : ((after.cpuSeconds - before.cpuSeconds) * 1e6) / answered;
}

/** Measures one service of several servers. */
class Bench {
  readonly #options: BenchOptions;
  readonly #kinds: readonly WorkloadKind[];
  readonly #servers: readonly ServerProcess[];
  readonly #data: TableData;
  readonly #blobs: ReadonlyMap<ServerName, BlobData>;
  readonly measurements: report.Measurement[] = [];
  /** The findings of the profiles. */
  readonly flames: string[] = [];

  constructor(
    options: BenchOptions,
    kinds: readonly WorkloadKind[],
    servers: readonly ServerProcess[],
  ) {
    this.#options = options;
    this.#kinds = kinds;
    this.#servers = servers;
    this.#data = new TableData(options.rows);
    this.#blobs = new Map(
      servers.map(({ name }) => [name, new BlobData(blobsOf(name, options.blobs))]),
    );
  }

  async fill(): Promise<void> {
    const queueKinds = this.#kinds.filter(isQueueKind);
    for (const server of this.#servers) {
      if (this.#kinds.some(isTableKind)) {
        await fillTable(server, this.#data, this.#options.connections);
      }
      await createQueues(server, queueKinds);
      await fillBlobs(server, this.#kinds.filter(isBlobKind), this.#options);
    }
  }

  /** Kind by kind; in each round the servers take turns, and the first of a round changes. */
  async measureAll(): Promise<void> {
    for (const kind of this.#kinds) {
      const servers = this.#servers.filter(({ name }) => isMeasured(name, kind));
      for (let round = 0; round < this.#options.rounds; round += 1) {
        const first = round % Math.max(1, servers.length);
        const order = [...servers.slice(first), ...servers.slice(0, first)];
        for (const server of order) await this.#measure(server, kind, round);
      }
    }
  }

  async #measure(server: ServerProcess, kind: WorkloadKind, round: number): Promise<void> {
    const { seconds } = this.#options;
    const connections = connectionsOf(kind, this.#options.connections);
    if (isQueueKind(kind)) {
      await topUp(server, kind, { seconds: seconds + warmupMs / 1000, connections });
    }
    const loads = this.#loads(server, kind);
    await runLoads(server.target, loads, { connections, warmupMs: 0, durationMs: warmupMs });
    await this.#rest(server);
    const before = server.usage();
    const start = momentOf(before.cpuSeconds);
    const timed = { connections, warmupMs: 0, durationMs: seconds * 1000 };
    const run = (): Promise<PairResult> => runLoads(server.target, loads, timed);
    const result = await (this.#hasFlame(server, round) ? this.#flame(server, kind, run) : run());
    const after = server.usage();
    const others = othersShare(start, momentOf(after.cpuSeconds));
    const { name } = server;
    await this.#rest(server);
    const serverCpuMicros = cpuPerRequest(before, server.usage(), result);
    this.measurements.push({
      ...result,
      kind,
      server: name,
      round,
      serverCpuMicros,
      anonymousMb: after.anonymousMb,
      othersShare: others,
    });
    progress(`${kind} round ${round + 1}, ${name}: ${describe(result, others)}`);
  }

  async #rest(server: ServerProcess): Promise<void> {
    if (!(await comesToRest(server, pause))) progress(`${server.name} does not come to rest`);
  }

  /** The last round of a kind: its code has been compiled by then. */
  #hasFlame({ name }: ServerProcess, round: number): boolean {
    const { flameDirectory, rounds } = this.#options;
    return flameDirectory !== undefined && !isReference(name) && round === rounds - 1;
  }

  async #flame(
    server: ServerProcess,
    kind: WorkloadKind,
    run: () => Promise<PairResult>,
  ): Promise<PairResult> {
    const directory = this.#options.flameDirectory ?? '';
    const { result, report: flame } = await withFlame({ server, kind, directory }, run);
    this.flames.push(flame);
    return result;
  }

  #loads({ name, target }: ServerProcess, kind: WorkloadKind): LoadPair {
    const blobs = this.#blobs.get(name) ?? new BlobData(0);
    const measured = makeWorkload(kind, target, { table: this.#data, blobs });
    if (!isUnderWrites(kind)) return { measured };
    const writes = makeTableWorkload('insert', target, this.#data);
    return { measured, beside: { workload: writes, connections: this.#options.writers } };
  }
}

async function startAll(options: BenchOptions, service: Service): Promise<ServerProcess[]> {
  const servers: ServerProcess[] = [];
  for (const name of options.servers) {
    const isProfiled = options.flameDirectory !== undefined && !isReference(name);
    const nodeFlags = isProfiled ? profilingFlags : [];
    servers.push(await startServer(name, service, { nodeFlags }));
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

export interface ServiceResults {
  readonly service: Service;
  readonly measurements: readonly report.Measurement[];
  readonly memory: readonly report.MemoryReport[];
}

/** Starts servers for one service, measures it and stops them. */
export async function benchService(
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
    const tables = [
      report.loadTable(bench.measurements, service, kinds, options.servers),
      report.underWritesTable(bench.measurements, options.servers),
      report.memoryTable(memory),
      ...bench.flames,
    ].filter((table) => table !== '');
    process.stdout.write(`\n${tables.join('\n\n')}\n`);
    return { service, measurements: bench.measurements, memory };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}
