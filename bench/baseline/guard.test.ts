import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Measurement } from '../report.js';
import type { ServerName } from '../server-process.js';
import { BaselineGuard } from './guard.js';

const plan = {
  connections: 32,
  writers: 32,
  rows: 20_000,
  blobs: 20_000,
  kinds: ['point'],
  servers: ['bare', 'tabularium'],
} as const;

function runWith(cpu: number, othersShare = 0): readonly Measurement[] {
  return [['bare', 10] as const, ['tabularium', cpu] as const].map(
    ([server, serverCpuMicros]: readonly [ServerName, number]) => ({
      kind: 'point',
      server,
      round: 0,
      requests: 100,
      answered: 100,
      requestsBeside: 0,
      units: 100,
      seconds: 1,
      p50Ms: 1,
      p99Ms: 1,
      loadCpuShare: 0,
      serverCpuMicros,
      anonymousMb: 1,
      othersShare,
    }),
  );
}

describe('the guard of a baseline', () => {
  let folder = '';
  let file = '';

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tabularium-baseline-'));
    file = join(folder, 'baseline.json');
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  function conclude(
    use: 'compare' | 'write',
    cpu: number,
    othersShare = 0,
  ): { outcome: string; told: string } {
    const told: string[] = [];
    const outcome = new BaselineGuard(file, use, plan).conclude(runWith(cpu, othersShare), (text) =>
      told.push(text),
    );
    return { outcome, told: told.join('') };
  }

  it('refuses to compare with none, then with what it wrote finds what is worse', () => {
    assert.throws(() => new BaselineGuard(file, 'compare', plan), /--write-baseline writes it/);
    assert.match(conclude('write', 20).told, /2 of 2 ratios of this run are in .*baseline\.json/);
    const before = readFileSync(file, 'utf8');
    assert.equal(conclude('compare', 23).outcome, 'good');
    const { outcome, told } = conclude('compare', 25);
    assert.equal(outcome, 'worse');
    assert.match(told, /\| point read \| tabularium \| .* \| 2 \| 2.5 \| \+25.0 % \| worse \|/);
    assert.equal(readFileSync(file, 'utf8'), before);
  });

  it('keeps what it had where the machine was too busy', () => {
    conclude('write', 20);
    const { outcome, told } = conclude('write', 30, 0.3);
    assert.equal(outcome, 'unknown');
    assert.match(told, /1 of 2 ratios .*too busy for the others/s);
    const { entries } = JSON.parse(readFileSync(file, 'utf8')) as { entries: { ratios: object }[] };
    assert.deepEqual(entries[0]?.ratios, { cpuOfBare: 3, rateOfBare: 1 });
  });

  it('refuses a run that the file does not fit, before it is measured', () => {
    conclude('write', 20);
    const guard = (more: object) => () => new BaselineGuard(file, 'compare', { ...plan, ...more });
    assert.throws(guard({ rows: 1_000_000 }), /with --rows 20000, this run has 1000000/);
    assert.throws(guard({ kinds: ['scan'] }), /it has no scan of tabularium/);
    assert.throws(guard({ servers: ['tabularium'] }), /needs bare or azurite/);
    writeFileSync(file, '{"rows": 1}');
    assert.throws(guard({}), /is no baseline: .*connections/s);
    rmSync(file);
  });
});
