import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Filter } from '../../model/edm/filter.js';
import { FilterParts } from './filter-parts.js';

function condition(value: number): Filter {
  const literal = { type: 'Edm.Int32', value } as const;
  return { kind: 'comparison', property: 'n', operator: 'eq', literal };
}

const some = (values: readonly number[], kind: 'and' | 'or' = 'or'): Filter => ({
  kind,
  operands: values.map(condition),
});

describe('the parts of a filter', () => {
  it('are the same in any order of their operands', () => {
    const [up, mixed] = [some([1, 2, 3, 4, 5]), some([4, 1, 5, 3, 2])];
    const all = some([1, 2, 3, 4, 5], 'and');
    const parts = new FilterParts({ kind: 'or', operands: [up, mixed, all] });
    assert.equal(parts.numberOf(up), parts.numberOf(mixed));
    assert.notEqual(parts.numberOf(up), parts.numberOf(all));
    assert.deepEqual(parts.distinct([mixed, up, all]), [mixed, all]);
  });

  it('are known to occur in several places before anybody asks for them', () => {
    const [twice, once] = [condition(1), condition(2)];
    const parts = new FilterParts({
      kind: 'or',
      operands: [twice, { kind: 'and', operands: [condition(1), once] }],
    });
    assert.deepEqual([parts.isShared(twice), parts.isShared(once)], [true, false]);
  });
});
