import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readCities, type City } from '../../../examples/cities/city.js';

// The cities example, run like a user runs it. The expected results are counted from the same data.

const cities = readCities();

const program = fileURLToPath(new URL('../../../examples/cities/main.js', import.meta.url));

interface PrintedAnswer {
  readonly plan: string;
  readonly rows: number;
  /** Name and population of the largest city. */
  readonly largest: string;
}

/** Reads one block of the output, found by the first word of its title. */
function answerOf(output: string, title: string): PrintedAnswer {
  const block = output.slice(output.indexOf(`\n${title}`));
  const [, plan = '', rows = '', name = '', population = ''] =
    /plan +(\S+)\n +answer +([\d,]+) rows?.*\n +[A-Z]{2} {2}(.+?) +([\d,]+)\n/.exec(block) ?? [];
  return { plan, rows: Number(rows.replaceAll(',', '')), largest: `${name} ${population}` };
}

function largestOf(found: readonly City[]): string {
  const [city] = found.toSorted((left, right) => right.population - left.population);
  return `${city?.name} ${city?.population.toLocaleString('en-US')}`;
}

describe('the cities example', () => {
  let output = '';

  before(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    output = stdout;
  });

  it('imports every city', () => {
    assert.match(output, new RegExp(`  ${cities.length.toLocaleString('en-US')} rows in `));
  });

  it('answers a point question with one read', () => {
    const found = cities.filter((city) => city.cityId === 2988507);
    assert.deepEqual(answerOf(output, 'Point:'), {
      plan: 'class=point;intervals=1;scanned=1;returned=1',
      rows: 1,
      largest: largestOf(found),
    });
  });

  it('reads no more than the range that was asked for', () => {
    const found = cities.filter((city) => city.country === 'ES' && city.name.startsWith('Santa'));
    assert.deepEqual(answerOf(output, 'Range:'), {
      plan: `class=range;intervals=1;scanned=${found.length};returned=${found.length}`,
      rows: found.length,
      largest: largestOf(found),
    });
  });

  it('scans one partition for a question about one country', () => {
    const country = cities.filter((city) => city.country === 'JP');
    const found = country.filter((city) => city.population > 1_500_000);
    const { plan, rows, largest } = answerOf(output, 'Partition scan:');
    assert.equal(plan.split(';', 1)[0], 'class=partition-scan');
    assert.ok(Number(/scanned=(\d+)/.exec(plan)?.[1]) <= country.length);
    assert.deepEqual({ rows, largest }, { rows: found.length, largest: largestOf(found) });
  });

  it('finds rows of all partitions by scanning the table', () => {
    const found = cities.filter((city) => city.population > 12_000_000);
    const { plan, rows, largest } = answerOf(output, 'Table scan:');
    assert.equal(plan.split(';', 1)[0], 'class=table-scan');
    assert.deepEqual({ rows, largest }, { rows: found.length, largest: largestOf(found) });
  });
});
