// Three stores, the cities of GeoNames as a table that grows, a move under load, a mover that is
// killed, and the proof that nothing is lost: npm run example:scaling
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TableEntity } from '@azure/data-tables';
import { readCities } from '../cities/city.js';
import { spread } from './spread.js';

/** The cities, drawn from all countries alike so that the table grows everywhere. */
function* rows(): Generator<TableEntity> {
  const cities = readCities();
  const step = 7_919;
  for (let count = 0; count < cities.length; count += 1) {
    const city = cities[(count * step) % cities.length];
    if (city === undefined) continue;
    const { country, cityId, name, population } = city;
    yield { partitionKey: country, rowKey: String(cityId), name, population };
  }
}

const folder = await mkdtemp(join(tmpdir(), 'tabularium-scaling-'));
try {
  const tell = (text: string): void => console.log(text);
  const { wrong } = await spread({ folder, rows: rows(), growMs: 10_000, kills: true, tell });
  if (wrong > 0) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
