import { parseArgs } from 'node:util';
import { row, shortNumber } from '../figures.js';
import { positive } from '../options.js';
import { designs, insertsPerSecond, measuredCosts } from './simulation.js';

// What several processes would make of more cores than there are here:
// docs/decisions/0014-journal-of-one-process.md.

const coreCounts = [1, 2, 3, 4, 6, 8];

const { values } = parseArgs({
  options: { connections: { type: 'string', default: '32' } },
});
const connections = positive('connections', values.connections);
const lines = [row(['cores', ...designs]), row(['---:', ...designs.map(() => '---:')])];
for (const cores of coreCounts) {
  const rates = designs.map((design) => {
    const plan = { design, cores, connections, costs: measuredCosts };
    const each = coreCounts.map((workers) => insertsPerSecond({ ...plan, workers }));
    return Math.max(...each);
  });
  lines.push(row([String(cores), ...rates.map(shortNumber)]));
}
process.stdout.write(`${lines.join('\n')}\n`);
