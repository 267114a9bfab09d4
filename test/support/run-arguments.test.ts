import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { leftOut, seedOr, wholeNumber } from './run-arguments.js';
import { costly } from './run-length.js';

describe('the arguments of runs by hand', () => {
  it('are whole numbers from 0, and refused by name otherwise', () => {
    assert.equal(wholeNumber('seeds', '300'), 300);
    assert.equal(seedOr('0'), 0);
    for (const text of ['', '-1', '1.5', 'ten', '9007199254740993']) {
      assert.throws(() => wholeNumber('seeds', text), {
        message: `--seeds must be a whole number, not '${text}'`,
      });
    }
  });

  it('draw a seed where none is given', () => {
    assert.ok(Number.isSafeInteger(seedOr(undefined)));
  });

  it('leave out what there is, and tell what that is', () => {
    assert.equal(leftOut(undefined, ['a', 'b']), undefined);
    assert.equal(leftOut('b', ['a', 'b']), 'b');
    assert.throws(() => leftOut('c', ['a', 'b']), {
      message: `--without must be one of a, b, not 'c'`,
    });
  });

  const run = (...given: string[]) => {
    const program = new URL('../power-loss/main.js', import.meta.url).pathname;
    return spawnSync(process.execPath, [program, ...given], { encoding: 'utf8' });
  };

  it('that make no sense end a run with 2, with its usage on standard error', costly(), () => {
    for (const [given, message] of [
      ['--images=x', "--images must be a whole number, not 'x'"],
      ['--disks=1', "Unknown option '--disks'"],
    ] as const) {
      const { status, stdout, stderr } = run(given);
      assert.deepEqual([status, stdout], [2, '']);
      assert.ok(stderr.startsWith(message), stderr);
      assert.match(stderr, /\n\nnpm run sim:journal -- /);
    }
  });

  it('show the usage when they ask for it', () => {
    const { status, stdout, stderr } = run('--help');
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^npm run sim:journal -- /);
  });
});
