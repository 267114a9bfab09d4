import { parseArgs } from 'node:util';
import { loadavg } from 'node:os';
import { runBench } from '../command.js';
import { machineLine } from '../figures.js';
import { benchMove } from './move-bench.js';
import { benchRouting } from './routing-bench.js';
import { benchSpread } from './spread-bench.js';

// What the partition layer costs: docs/internals/partition.md.

const usage = `npm run bench:partition -- [--only routing|spread|move]

  Measures routing over one store, throughput over four, and a move under load.
`;

const benches = { routing: benchRouting, spread: benchSpread, move: benchMove } as const;

interface Choice {
  readonly only: string | undefined;
}

function parse(args: readonly string[]): Choice | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help === true) return undefined;
  if (values.only !== undefined && !Object.hasOwn(benches, values.only)) {
    throw new Error(`--only must be one of ${Object.keys(benches).join(', ')}`);
  }
  return { only: values.only };
}

async function run({ only }: Choice): Promise<void> {
  for (const [name, bench] of Object.entries(benches)) {
    if (only !== undefined && only !== name) continue;
    for (const line of await bench()) process.stdout.write(`${line}\n`);
  }
  const [, fiveMinutes = 0] = loadavg();
  process.stdout.write(`${machineLine()} Load over five minutes: ${fiveMinutes.toFixed(1)}.\n`);
}

await runBench({ usage, parse, run });
