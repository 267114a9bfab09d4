import { parseArgs } from 'node:util';
import { loadavg } from 'node:os';
import { runBench } from '../command.js';
import { machineLine } from '../figures.js';
import { benchMove } from './move-bench.js';
import { benchRouting } from './routing-bench.js';
import { benchDatabases, benchSpread } from './spread-bench.js';

// What the partition layer costs: docs/internals/partition.md.

const usage = `npm run bench:partition -- [--only routing|spread|databases|move] [--moves N]

  Measures routing over one store, throughput over several, also over databases, and moves under load.

  --only NAME  only this one
  --moves N    moves under load, 40 by default
  --help       shows this
`;

const benches = {
  routing: benchRouting,
  spread: benchSpread,
  databases: benchDatabases,
  move: benchMove,
} as const;

interface Choice {
  readonly only: string | undefined;
  readonly moves: number;
}

function parse(args: readonly string[]): Choice | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: 'string' }, moves: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help === true) return undefined;
  if (values.only !== undefined && !Object.hasOwn(benches, values.only)) {
    throw new Error(`--only must be one of ${Object.keys(benches).join(', ')}`);
  }
  const moves = Number(values.moves ?? 40);
  if (!Number.isSafeInteger(moves) || moves < 1) {
    throw new Error(`--moves must be a whole number above 0, not '${values.moves ?? ''}'`);
  }
  return { only: values.only, moves };
}

async function run({ only, moves }: Choice): Promise<void> {
  for (const [name, bench] of Object.entries(benches)) {
    if (only !== undefined && only !== name) continue;
    for (const line of await bench(moves)) process.stdout.write(`${line}\n`);
  }
  const [, fiveMinutes = 0] = loadavg();
  process.stdout.write(`${machineLine()} Load over five minutes: ${fiveMinutes.toFixed(1)}.\n`);
}

await runBench({ usage, parse, run });
