import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

interface DrawnFiles {
  readonly drawnFiles: (
    files: readonly string[],
    seed: string,
  ) => { readonly drawn: readonly string[]; readonly others: readonly string[] };
}

const script = new URL('../../scripts/drawn-files.js', import.meta.url);
const { drawnFiles } = (await import(script.href)) as DrawnFiles;

const always = ['src/base/own.test.js', 'test/wire/tables/etags.test.js'];
const drawnFrom = Array.from({ length: 101 }, (_, at) =>
  at % 2 === 0 ? `test/modeling/${at}.test.js` : `test/crash/${at}.test.js`,
);
const files = [...always, ...drawnFrom].toSorted();

void describe('the files that a run of all tests draws', () => {
  void it('are half of those that are drawn from, and all others', () => {
    const { drawn, others } = drawnFiles(files, '17');
    assert.deepEqual([...drawn, ...others].toSorted(), files);
    assert.equal(others.length, 50);
    assert.ok(always.every((file) => drawn.includes(file)));
    assert.deepEqual(drawn, drawn.toSorted());
  });

  void it('are the same again by the same seed, and others by another', () => {
    const { others } = drawnFiles(files, '17');
    assert.deepEqual(drawnFiles(files, '17').others, others);
    assert.notDeepEqual(drawnFiles(files, '18').others, others);
  });

  void it('leave none out for good', () => {
    const runs = Array.from({ length: 40 }, (_, seed) => drawnFiles(files, `${seed}`).drawn);
    assert.deepEqual([...new Set(runs.flat())].toSorted(), files);
  });
});
