import { parseArgs } from 'node:util';
import { runBench } from '../command.js';
import { row, shortNumber } from '../figures.js';
import { positive } from '../options.js';
import {
  designs,
  insertsPerSecond,
  measuredCosts,
  readsPerSecond,
  type Plan,
} from './simulation.js';

// Simulates several processes on more cores than this machine has:
// docs/decisions/0014-journal-of-one-process.md.

const coreCounts = [1, 2, 3, 4, 6, 8];

const usage = `npm run bench:processes -- [options]

Simulates how many requests a second several processes would answer on more cores than there are
here: inserts, point reads and ranges of 100.

  --connections N   (default 32)
`;

function parseOptions(args: readonly string[]): number | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      connections: { type: 'string', default: '32' },
      help: { type: 'boolean', default: false },
    },
  });
  return values.help ? undefined : positive('connections', values.connections);
}

const kinds: Readonly<Record<string, (plan: Plan) => number>> = {
  insert: insertsPerSecond,
  point: (plan) => readsPerSecond('point', plan),
  range: (plan) => readsPerSecond('range', plan),
};

async function run(connections: number): Promise<void> {
  const lines = [
    row(['kind', 'cores', ...designs]),
    row(['---', '---:', ...designs.map(() => '---:')]),
  ];
  for (const [kind, perSecond] of Object.entries(kinds)) {
    for (const cores of coreCounts) {
      const rates = designs.map((design) => {
        const plan = { design, cores, connections, costs: measuredCosts };
        return Math.max(...coreCounts.map((workers) => perSecond({ ...plan, workers })));
      });
      lines.push(row([kind, String(cores), ...rates.map(shortNumber)]));
    }
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

await runBench({ usage, parse: parseOptions, run });
