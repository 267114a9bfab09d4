import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { costly } from '../../test/support/run-length.js';

const module = new URL('pretenuring.js', import.meta.url).href;

/** The output of V8 about expressions whose objects have survived. */
function decisions(first: string): string {
  const program = `
    import { allocateInYoungGeneration } from ${JSON.stringify(module)};
    ${first}
    const kept = [];
    const make = (made) => [{ made }, [made]];
    for (let made = 0; made < 500_000; made += 1) kept.push(make(made));
  `;
  const args = ['--trace-pretenuring-statistics', '--input-type=module', '--eval', program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(stderr, '');
  assert.equal(status, 0);
  return stdout;
}

describe('allocation in the young generation', () => {
  it('keeps V8 from deciding otherwise by what has survived', costly(), () => {
    assert.match(decisions(''), /AllocationSite/, 'it decides by default');
    assert.doesNotMatch(decisions('allocateInYoungGeneration();'), /AllocationSite/);
  });
});
