import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { runBench } from '../command.js';
import { machineLine } from '../figures.js';
import { stopServersAtEnd } from '../server-process.js';
import { benchHttp } from './http-bench.js';
import type { EngineMeasurement, EngineName, EnginePlan } from './kinds.js';
import { parseOptions, usage, type EngineOptions } from './options.js';
import { engineTable } from './report.js';

// What engines do without HTTP: docs/internals/benchmark.md.

const script = fileURLToPath(new URL('engine-process.js', import.meta.url));

async function benchEngine(
  engine: EngineName,
  plan: EnginePlan,
): Promise<readonly EngineMeasurement[]> {
  if (engine === 'http') return benchHttp(plan);
  // The file takes commits alone.
  const kinds = engine === 'journal-file' ? plan.kinds.filter(isCommit) : plan.kinds;
  if (kinds.length === 0) return [];
  const measurements: EngineMeasurement[] = [];
  const child = fork(script, [engine, JSON.stringify({ ...plan, kinds })]);
  child.on('message', (message) => measurements.push(message as EngineMeasurement));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`The benchmark of ${engine} ended with ${code}.`);
  return measurements;
}

function isCommit(kind: EnginePlan['kinds'][number]): boolean {
  return kind === 'commit' || kind === 'commit-one';
}

async function run(options: EngineOptions): Promise<void> {
  const measurements: EngineMeasurement[] = [];
  for (const engine of options.engines) measurements.push(...(await benchEngine(engine, options)));
  const [, fiveMinutes = 0] = loadavg();
  process.stdout.write(
    `\n${engineTable(measurements, options)}\n\n${options.rows} rows. ${machineLine()} ` +
      `Load over five minutes: ${fiveMinutes.toFixed(1)}.\n`,
  );
}

stopServersAtEnd();

await runBench({ usage, parse: parseOptions, run });
