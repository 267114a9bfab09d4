import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseOptions } from './options.js';

describe('the options of the benchmark', () => {
  it('takes rows by whole partitions', () => {
    assert.equal(parseOptions([])?.rows, 20_000);
    assert.equal(parseOptions(['--rows', '1000000'])?.rows, 1_000_000);
    assert.throws(() => parseOptions(['--rows', '1500']), /a multiple of 1000.*not '1500'/);
    assert.throws(() => parseOptions(['--rows', '0']), /above 0/);
  });

  it('takes groups of kinds and single ones, in the order in which they are measured', () => {
    const kinds = parseOptions(['--kinds', 'insert-one,point,queue-put'])?.kinds;
    assert.deepEqual(kinds, ['point', 'insert-one', 'queue-put']);
    assert.ok(parseOptions(['--kinds', 'tables'])?.kinds.includes('point-under-writes'));
    assert.throws(() => parseOptions(['--kinds', 'points']), /does not know 'points'/);
  });

  it('compares with the baseline of this repository, or writes it, never both', () => {
    const compared = parseOptions(['--compare']);
    assert.equal(compared?.baselineUse, 'compare');
    assert.ok(compared.baselineFile.endsWith(join('bench', 'baseline.json')));
    assert.ok(!compared.baselineFile.includes('dist'));
    assert.equal(parseOptions(['--write-baseline'])?.baselineUse, 'write');
    assert.equal(parseOptions([])?.baselineUse, undefined);
    assert.throws(() => parseOptions(['--compare', '--write-baseline']), /exclude each other/);
  });

  it('profiles one process, beside nothing that it is compared with', () => {
    assert.deepEqual(parseOptions(['--flame', 'x'])?.servers, ['tabularium']);
    assert.throws(() => parseOptions(['--flame', 'x', '--compare']), /without a baseline/);
    const workers = ['--flame', 'x', '--servers', 'bare,tabularium-workers'];
    assert.throws(() => parseOptions(workers), /leave out tabularium-workers/);
  });
});
