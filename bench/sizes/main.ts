import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBench } from '../command.js';
import { machineLine, row, shortNumber } from '../figures.js';
import { momentOf, othersShare } from '../machine.js';
import { progress } from '../progress.js';
import { titleOf } from '../report.js';
import { stopServersAtEnd } from '../server-process.js';
import type { TableOperation } from '../kinds.js';
import { parseOptions, usage, type SizesOptions } from './options.js';
import { isWrite, SizedServer } from './sized-server.js';

// How the size of a table affects the cost of requests: docs/internals/benchmark.md.

const warmupSeconds = 0.7;
/**
 * The seconds of inserts before a measurement, so that the journal has rows that the data file
 * lacks.
 */
const fillSeconds = 1;
/** Shorter than the time for which a journal keeps rows from the data file. */
const undrainedSecondsMax = 3;

/** Whether the data file has everything when the clock starts. */
type Journal = 'drained' | 'with rows';

interface Measurement {
  readonly kind: TableOperation;
  readonly journal: Journal;
  readonly rows: number;
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMicros: number;
  readonly anonymousMb: number;
  readonly others: number;
}

async function measure(
  server: SizedServer,
  { kind, journal }: Pick<Measurement, 'kind' | 'journal'>,
  seconds: number,
): Promise<Measurement> {
  await server.run(kind, warmupSeconds);
  if (journal === 'drained') await server.drained();
  else await server.run('insert', fillSeconds);
  const cpu = (): number => server.process.usage().cpuSeconds ?? Number.NaN;
  const before = cpu();
  const start = momentOf(before);
  const isShort = journal === 'with rows' && !isWrite(kind);
  const result = await server.run(kind, isShort ? Math.min(seconds, undrainedSecondsMax) : seconds);
  const { cpuSeconds, anonymousMb } = server.process.usage();
  const others = othersShare(start, momentOf(cpuSeconds));
  if (isWrite(kind)) await server.drained();
  const measured: Measurement = {
    kind,
    journal,
    rows: server.rows,
    rate: result.units / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuMicros: ((cpu() - before) * 1e6) / result.requests,
    anonymousMb: anonymousMb ?? Number.NaN,
    others: others ?? Number.NaN,
  };
  progress(
    `${kind} at ${server.rows}, journal ${journal}: ${shortNumber(measured.rate)} /s, ` +
      `p99 ${shortNumber(measured.p99Ms)} ms, ${shortNumber(measured.cpuMicros)} µs, ` +
      `others at ${Math.round(measured.others * 100)} %`,
  );
  return measured;
}

type Best = Pick<Measurement, 'rate' | 'p50Ms' | 'p99Ms' | 'cpuMicros' | 'anonymousMb'>;

/**
 * The best of each figure, because other work of the machine only adds to it; of memory the most.
 */
function bestOf(rounds: readonly Measurement[]): Best {
  const least = (of: (each: Measurement) => number): number => Math.min(...rounds.map(of));
  return {
    rate: -least(({ rate }) => -rate),
    p50Ms: least(({ p50Ms }) => p50Ms),
    p99Ms: least(({ p99Ms }) => p99Ms),
    cpuMicros: least(({ cpuMicros }) => cpuMicros),
    anonymousMb: -least(({ anonymousMb }) => -anonymousMb),
  };
}

/** One row for each kind and size; multiples are of the first size. */
function resultTable(measurements: readonly Measurement[], sizes: readonly number[]): string {
  const head = ['kind', 'journal', 'rows', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'anon MB'];
  const lines = [
    row([...head, 'of µs', 'of rate']),
    row(['---', '---', ...head.map(() => '---:')]),
  ];
  const groupOf = ({ kind, journal }: Measurement): string => `${titleOf(kind)} | ${journal}`;
  for (const group of new Set(measurements.map(groupOf))) {
    const own = measurements.filter((each) => groupOf(each) === group);
    const best = sizes.map((size) => bestOf(own.filter(({ rows }) => rows === size)));
    const [first] = best;
    for (const [index, { rate, p50Ms, p99Ms, cpuMicros, anonymousMb }] of best.entries()) {
      lines.push(
        row([
          group,
          (sizes[index] ?? 0).toLocaleString('en-US'),
          ...[rate, p50Ms, p99Ms, cpuMicros, anonymousMb].map(shortNumber),
          `${shortNumber(cpuMicros / (first?.cpuMicros ?? 0))} ×`,
          `${shortNumber(rate / (first?.rate ?? 0))} ×`,
        ]),
      );
    }
  }
  return lines.join('\n');
}

/** Writes go through the journal in any state. */
function states(kinds: SizesOptions['kinds']): readonly (readonly [Journal, typeof kinds])[] {
  return [
    ['drained', kinds.filter((kind) => !isWrite(kind))],
    ['with rows', kinds],
  ];
}

async function measureKinds(
  servers: readonly SizedServer[],
  { kinds, rounds, seconds }: SizesOptions,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  // Drained first: what the others insert makes the partitions of a small table larger.
  for (const [journal, state] of states(kinds)) {
    for (const kind of state) {
      for (let round = 0; round < rounds; round += 1) {
        const order = round % 2 === 0 ? servers : servers.toReversed();
        for (const server of order) {
          measurements.push(await measure(server, { kind, journal }, seconds));
        }
      }
    }
  }
  return measurements;
}

async function startTable(servers: readonly SizedServer[], options: SizesOptions): Promise<string> {
  const lines = [row(['rows', 'start after a kill, ms']), row(['---:', '---:'])];
  for (const server of servers) {
    const starts: number[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      await server.run('insert', options.seconds);
      starts.push(await server.startAfterKill());
      await server.drained();
    }
    const times = starts.map((ms) => shortNumber(ms)).join(', ');
    lines.push(row([server.rows.toLocaleString('en-US'), times]));
  }
  return lines.join('\n');
}

/** The figures of the first seconds when the system's cache holds no page of the data file. */
async function coldTable(
  servers: readonly SizedServer[],
  { kinds, rounds, seconds }: SizesOptions,
): Promise<string> {
  const head = ['first seconds of a cold start', 'rows', 'req/s', 'p50 ms', 'p99 ms'];
  const lines = [row(head), row(['---', ...head.slice(1).map(() => '---:')])];
  for (const kind of kinds.filter((each) => !isWrite(each))) {
    for (const server of servers) {
      for (let round = 0; round < rounds; round += 1) {
        await server.startCold();
        const found = await server.run(kind, seconds);
        const figures = [found.units / found.seconds, found.p50Ms, found.p99Ms].map(shortNumber);
        lines.push(row([titleOf(kind), server.rows.toLocaleString('en-US'), ...figures]));
        progress(lines.at(-1) ?? '');
      }
    }
  }
  return lines.join('\n');
}

async function run(options: SizesOptions): Promise<void> {
  const temporary = options.directory ?? mkdtempSync(join(tmpdir(), 'tabularium-sizes-'));
  mkdirSync(temporary, { recursive: true });
  const servers = options.rows.map((rows) => new SizedServer(rows, temporary, options.connections));
  try {
    for (const server of servers) await server.open();
    if (options.isCold) {
      process.stdout.write(`\n${await coldTable(servers, options)}\n\n${machineLine()}\n`);
      return;
    }
    const measurements = await measureKinds(servers, options);
    process.stdout.write(`\n${resultTable(measurements, options.rows)}\n`);
    process.stdout.write(`\n${await startTable(servers, options)}\n\n${machineLine()}\n`);
  } finally {
    for (const server of servers) await server.stop();
    if (options.directory === undefined) rmSync(temporary, { recursive: true, force: true });
  }
}

stopServersAtEnd();

await runBench({ usage, parse: parseOptions, run });
