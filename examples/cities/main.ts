// Imports every city of GeoNames with at least 1,000 inhabitants into a server of its own and asks
// four questions, from the cheapest kind to the dearest. Uses nothing but the official client.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TableClient } from '@azure/data-tables';
import { createServer } from '../../src/app/index.js';
import { readCities } from './city.js';
import { importCities } from './import-cities.js';
import { ask, questions, type Answer, type Question } from './questions.js';

const cities = readCities();
const shownRowsMax = 4;

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Overwrites its line on a terminal; elsewhere only the last state is printed. */
function showProgress(rows: number, startedMs: number): void {
  const done = rows === cities.length;
  if (!done && !process.stdout.isTTY) return;
  const seconds = (performance.now() - startedMs) / 1000;
  const line = `  ${whole(rows)} rows in ${seconds.toFixed(1)} s, ${whole(rows / seconds)} rows/s`;
  process.stdout.write(`${process.stdout.isTTY ? '\r' : ''}${line}${done ? '\n' : ''}`);
}

function show(question: Question, answer: Answer): void {
  const { cities, pages, plan, milliseconds } = answer;
  const count = `${whole(cities.length)} ${cities.length === 1 ? 'row' : 'rows'}`;
  const paged = pages === 1 ? '' : ` in ${pages} pages`;
  console.log(`\n${question.title}`);
  console.log(`  filter  ${question.filter}`);
  console.log(`  plan    ${plan}`);
  console.log(`  answer  ${count}${paged}, ${milliseconds.toFixed(1)} ms`);
  const largest = cities.toSorted((left, right) => right.population - left.population);
  for (const { country, name, population } of largest.slice(0, shownRowsMax)) {
    console.log(`          ${country}  ${name.padEnd(28)} ${whole(population).padStart(11)}`);
  }
  if (cities.length > shownRowsMax) console.log(`          … ${cities.length - shownRowsMax} more`);
}

async function run(location: string): Promise<void> {
  await using server = await createServer({ location });
  const client = TableClient.fromConnectionString(server.connectionString(), 'cities', {
    allowInsecureConnection: true,
  });
  await client.createTable();
  const countries = new Set(cities.map((city) => city.country)).size;
  console.log(`Importing ${whole(cities.length)} cities of ${countries} countries`);
  const startedMs = performance.now();
  await importCities(client, cities, (rows) => showProgress(rows, startedMs));
  for (const question of questions) show(question, await ask(client, question));
}

const location = await mkdtemp(join(tmpdir(), 'tabularium-cities-'));
try {
  await run(location);
} finally {
  await rm(location, { recursive: true, force: true });
}
