import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runBench } from '../command.js';
import { machineLine, shortNumber } from '../figures.js';
import { connectionsOf, type WorkloadKind } from '../kinds.js';
import { progress } from '../progress.js';
import { titleOf } from '../report.js';
import { startBuild, type BuildProcess } from './build-process.js';
import { parseOptions, usage, type BuildsOptions } from './options.js';
import { bestOf, comparisonTable, type Stretches } from './stretches.js';

/** Stretches that are not counted, as a share of those that are: code is being compiled. */
const warmupShare = 1 / 3;

/** Requests of a stretch: some milliseconds of work. */
const stretchRequests: Readonly<Partial<Record<WorkloadKind, number>>> = {
  point: 200,
  range: 30,
  scan: 20,
  batch: 3,
  'blob-list': 8,
  'blob-put-block': 8,
  'blob-download': 4,
};
const stretchRequestsOfOthers = 100;

/** All builds under one kind, stretch by stretch in turn: only one of them works at a time. */
async function measureKind(
  builds: readonly BuildProcess[],
  kind: WorkloadKind,
  { stretches }: BuildsOptions,
): Promise<number[][]> {
  const requests = stretchRequests[kind] ?? stretchRequestsOfOthers;
  const warmup = Math.ceil(stretches * warmupShare);
  const micros = builds.map((): number[] => []);
  for (let stretch = -warmup; stretch < stretches; stretch += 1) {
    for (let turn = 0; turn < builds.length; turn += 1) {
      const index = (stretch + warmup + turn) % builds.length;
      const measured = (await builds[index]?.measure(requests)) ?? Number.NaN;
      if (stretch >= 0) micros[index]?.push(measured);
    }
  }
  return micros;
}

async function compare(kind: WorkloadKind, options: BuildsOptions): Promise<Stretches[]> {
  const own = fileURLToPath(new URL('../../..', import.meta.url));
  const repositories = [...options.repositories, resolve(own)];
  const all = repositories.map((repository): Stretches & { micros: number[] } => ({
    kind,
    repository,
    micros: [],
  }));
  for (let start = 0; start < options.starts; start += 1) {
    const builds: BuildProcess[] = [];
    try {
      for (const each of repositories) {
        const connections = connectionsOf(kind, options.connections);
        builds.push(await startBuild(each, kind, { ...options, connections }));
      }
      const measured = await measureKind(builds, kind, options);
      for (const [index, each] of all.entries()) each.micros.push(...(measured[index] ?? []));
    } finally {
      await Promise.all(builds.map((build) => build.stop()));
    }
    const bests = all.map((each) => shortNumber(bestOf(each))).join(', ');
    progress(`${titleOf(kind)}: ${bests} µs a request after ${start + 1} of ${options.starts}`);
  }
  return all;
}

async function run(options: BuildsOptions): Promise<void> {
  const rows: Stretches[] = [];
  for (const kind of options.kinds) rows.push(...(await compare(kind, options)));
  const [, fiveMinutes = 0] = loadavg();
  process.stdout.write(`\n${comparisonTable(rows)}\n\n`);
  process.stdout.write(`${machineLine()} Load over five minutes: ${fiveMinutes.toFixed(1)}.\n`);
}

await runBench({ usage, parse: parseOptions, run });
