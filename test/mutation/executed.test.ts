import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { isExecuted, readExecuted } from './executed.js';

describe('what was executed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'executed-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const dist = join(folder, 'dist');
  const coverageOf = (ranges: readonly (readonly [number, number, number])[]) => ({
    url: pathToFileURL(join(dist, 'module.js')).href,
    functions: ranges.map(([startOffset, endOffset, count]) => ({
      ranges: [{ startOffset, endOffset, count }],
    })),
  });

  it('is what the innermost range says, in any of the processes', () => {
    const one = coverageOf([
      [0, 100, 1],
      [10, 50, 0],
      [20, 30, 2],
    ]);
    const other = coverageOf([
      [0, 100, 1],
      [10, 50, 1],
      [15, 50, 0],
    ]);
    const coverage = join(folder, 'coverage');
    for (const [index, script] of [one, other].entries()) {
      writeReport(coverage, index, script);
    }
    const { 'module.js': found } = readExecuted(coverage, dist, () => true);
    assert.deepEqual(found?.segments, [0, 15, 20, 30, 50, 100]);
    const at = (offset: number) => found !== undefined && isExecuted(found, offset);
    assert.deepEqual([0, 14, 15, 29, 30, 99, 100].map(at), [
      true,
      true,
      false,
      true,
      false,
      true,
      false,
    ]);
    assert.deepEqual(
      readExecuted(coverage, dist, () => false),
      {},
    );
  });

  function writeReport(coverage: string, index: number, script: unknown): void {
    mkdirSync(coverage, { recursive: true });
    mkdirSync(dist, { recursive: true });
    writeFileSync(join(dist, 'module.js'), 'text');
    writeFileSync(join(coverage, `${index}.json`), JSON.stringify({ result: [script] }));
  }
});
