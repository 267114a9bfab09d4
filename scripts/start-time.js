// How long a server in memory takes to listen, and to be set back. Prints the median of 20 runs in
// a process that has started one before, and the first of all.
import { TableClient } from '@azure/data-tables';
import { createServer } from '../dist/src/app/index.js';

const runs = 20;
const rows = 100;

async function timed(work) {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}

function median(values) {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)];
}

const first = await timed(() => createServer({ inMemory: true }));
await first.result.close();

const starts = [];
for (let run = 0; run < runs; run += 1) {
  const { ms, result } = await timed(() => createServer({ inMemory: true }));
  starts.push(ms);
  await result.close();
}

const server = await createServer({ inMemory: true });
const client = TableClient.fromConnectionString(server.connectionString(), 'people', {
  allowInsecureConnection: true,
});
await client.createTable();
for (let row = 0; row < rows; row += 1) {
  await client.createEntity({ partitionKey: 'p', rowKey: String(row) });
}
await server.snapshot('base');
const restores = [];
for (let run = 0; run < runs; run += 1)
  restores.push((await timed(() => server.restore('base'))).ms);
await server.close();

const shown = (ms) => `${ms.toFixed(2)} ms`;
console.log(`first start    ${shown(first.ms)}`);
console.log(`start          ${shown(median(starts))}, median of ${runs}`);
console.log(`restore        ${shown(median(restores))}, median of ${runs}, ${rows} entities`);
