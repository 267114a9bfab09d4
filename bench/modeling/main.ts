// What tabularium/modeling costs over the bare client; see docs/internals/modeling-benchmark.md.
import { parseArgs } from 'node:util';
import { machineLine, shortNumber } from '../figures.js';
import { stopServersAtEnd, startServer } from '../server-process.js';
import { compare, type Block } from './comparison.js';
import { operationNames, type OperationName } from './operations.js';
import { runRounds } from './rounds.js';

const ratioMax = 1.1;

function resultTable(blocks: readonly Block[], names: readonly OperationName[]): string {
  const lines = [
    '| operation | client µs | entities µs | ratio | CPU ratio | client again | CPU again |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
  ];
  for (const operation of names) {
    const client = compare(blocks, operation, 'client');
    const again = compare(blocks, operation, 'client again');
    const entities = compare(blocks, operation, 'entities');
    const ratios = [entities.timeRatio, entities.cpuRatio, again.timeRatio, again.cpuRatio];
    const cells = [
      operation,
      shortNumber(client.micros),
      shortNumber(entities.micros),
      ...ratios.map((ratio) => ratio.toFixed(2)),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return lines.join('\n');
}

async function run(names: readonly OperationName[], rounds: number): Promise<void> {
  // Commits do not wait for the disk, because that wait would hide the cost of the client.
  const server = await startServer('tabularium-relaxed', 'table', {});
  try {
    const blocks = await runRounds(server, names, rounds);
    const ratios = names.map((name) => compare(blocks, name, 'entities').timeRatio);
    const reached = ratios.filter((ratio) => ratio <= ratioMax).length;
    process.stdout.write(
      `${resultTable(blocks, names)}\n\nAt most ${ratioMax}: ${reached} of ${ratios.length} ` +
        `operations. ${rounds} rounds. ${machineLine()}\n`,
    );
  } finally {
    await server.stop();
  }
}

stopServersAtEnd();

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '21' },
    only: { type: 'string', default: '' },
  },
});
const rounds = Number(values.rounds);
const names = operationNames.filter((name) => name.includes(values.only));
if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write(`--rounds wants a whole number above 0, not '${values.rounds}'.\n`);
  process.exitCode = 1;
} else if (names.length === 0) {
  process.stderr.write(`--only wants a part of one of: ${operationNames.join('; ')}.\n`);
  process.exitCode = 1;
} else await run(names, rounds);
