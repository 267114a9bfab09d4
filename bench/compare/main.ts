import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createQueues, fillTable, topUp } from '../fill.js';
import { isQueueKind, isTableKind, services, type Service, type WorkloadKind } from '../kinds.js';
import { runLoad, type Workload } from '../load.js';
import { progress } from '../progress.js';
import { makeQueueWorkload } from '../queue-workloads.js';
import { machineLine, shortNumber } from '../report.js';
import { abandonServers, ofBuild, startServer, type ServerProcess } from '../server-process.js';
import { makeTableWorkload, RowNumbers } from '../table-workloads.js';
import { parseOptions, usage, type CompareOptions } from './options.js';
import { comparisonTable, type Pair } from './pairs.js';

/** Before each measurement of a kind that has just been changed to. */
const warmupMs = 700;

const rows = new RowNumbers();

function workloadOf(kind: WorkloadKind, { target }: ServerProcess): Workload {
  if (isQueueKind(kind)) return makeQueueWorkload(kind, target);
  return makeTableWorkload(kind, target, rows);
}

/** Processor time per request, in microseconds. */
async function measure(
  server: ServerProcess,
  kind: WorkloadKind,
  { seconds, connections }: CompareOptions,
): Promise<number> {
  if (isQueueKind(kind)) await topUp(server, kind, { seconds, connections });
  const workload = workloadOf(kind, server);
  const before = server.usage().cpuSeconds ?? Number.NaN;
  const load = { connections, warmupMs: 0, durationMs: seconds * 1000 };
  const { requests } = await runLoad(server.target, workload, load);
  return (((server.usage().cpuSeconds ?? Number.NaN) - before) * 1e6) / requests;
}

/** Both builds under one kind, in turn; each round begins with the one that the last ended with. */
async function measureKind(
  builds: { readonly own: ServerProcess; readonly other: ServerProcess },
  kind: WorkloadKind,
  options: CompareOptions,
): Promise<readonly Pair[]> {
  const { own, other } = builds;
  const warm = { ...options, seconds: warmupMs / 1000 };
  for (const server of [own, other]) await measure(server, kind, warm);
  const pairs: Pair[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const ownIsFirst = round % 2 === 0;
    const early = await measure(ownIsFirst ? own : other, kind, options);
    const late = await measure(ownIsFirst ? other : own, kind, options);
    const [ownMicros, otherMicros] = ownIsFirst ? [early, late] : [late, early];
    pairs.push({ kind, ownMicros, otherMicros });
    progress(`${kind}: ${shortNumber(ownMicros)} and ${shortNumber(otherMicros)} µs a request`);
  }
  return pairs;
}

async function measureService(service: Service, options: CompareOptions): Promise<Pair[]> {
  const kinds = options.kinds.filter(service === 'queue' ? isQueueKind : isTableKind);
  if (kinds.length === 0) return [];
  const own = await startServer('tabularium', service, {
    launch: ofBuild(fileURLToPath(new URL('..', import.meta.url))),
  });
  const other = await startServer('tabularium', service, { launch: ofBuild(options.otherBench) });
  try {
    for (const server of [own, other]) {
      if (service === 'table') await fillTable(server, options.connections);
      else await createQueues(server, kinds.filter(isQueueKind));
    }
    const pairs: Pair[] = [];
    for (const kind of kinds) pairs.push(...(await measureKind({ own, other }, kind, options)));
    return pairs;
  } finally {
    await Promise.all([own.stop(), other.stop()]);
  }
}

async function run(options: CompareOptions): Promise<void> {
  const pairs: Pair[] = [];
  for (let start = 0; start < options.starts; start += 1) {
    for (const service of services) pairs.push(...(await measureService(service, options)));
  }
  const [, fiveMinutes = 0] = loadavg();
  process.stdout.write(`\n${comparisonTable(pairs, options.kinds)}\n\n`);
  process.stdout.write(`${machineLine()} Load over five minutes: ${fiveMinutes.toFixed(1)}.\n`);
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
