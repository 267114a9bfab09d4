import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { costly } from './support/run-length.js';

const script = fileURLToPath(new URL('../../scripts/test.js', import.meta.url));

/** Runs the tests of a short file, with a seed of the draws. */
function runWith(seed: string) {
  return spawnSync(process.execPath, [script, 'base/nearest-name.test'], {
    encoding: 'utf8',
    // Otherwise the runner takes itself for a file of this one.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, TABULARIUM_TEST_DRAW: seed },
  });
}

describe('the seed of what a run of the tests draws', () => {
  it('is refused when it is no whole number, before any test runs', costly(), () => {
    for (const seed of ['x', '-1', '1.5', '1e3', ' ', '9007199254740993']) {
      const { status, stdout, stderr } = runWith(seed);
      assert.deepEqual([status, stdout], [1, ''], seed);
      assert.equal(
        stderr,
        'TABULARIUM_TEST_DRAW must be a whole number, as a run of the tests prints it, ' +
          `not '${seed}'.\n`,
      );
    }
  });

  it('is the one that was asked for', costly(), () => {
    const { status, stderr } = runWith('17');
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^Tests draw by TABULARIUM_TEST_DRAW=17\.\n/);
  });
});
