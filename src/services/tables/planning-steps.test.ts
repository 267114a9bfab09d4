import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Filter } from '../../model/edm/filter.js';
import { intersectKeysWithin, keyProduct, uniteKeys } from './key-set.js';
import { planQuery } from './plan.js';
import { PlanningSteps } from './planning-steps.js';
import { stringRange } from './string-set.js';

function differs(property: string, value: string): Filter {
  return {
    kind: 'comparison',
    property,
    operator: 'ne',
    literal: { type: 'Edm.String', value },
  };
}

describe('the steps of planning', () => {
  it('end, and with them what needs more', () => {
    const steps = new PlanningSteps(10);
    assert.equal(steps.take(10), true);
    assert.equal(steps.take(1), false);
    const [left, right] = ['a', 'b'].map((start) =>
      keyProduct(stringRange(start, 'z'), stringRange(start)),
    );
    assert.ok(left !== undefined && right !== undefined);
    assert.equal(intersectKeysWithin(left, right, steps), undefined);
    assert.equal(uniteKeys([left, right], steps), undefined);
  });

  it('suffice for the longest chain of keys to leave out', () => {
    const operands = Array.from({ length: 3_000 }, (_, place) =>
      differs('PartitionKey', `p${place}`),
    );
    const { intervals, planClass } = planQuery({ kind: 'and', operands });
    assert.equal(planClass, 'partition-range-scan');
    assert.ok(intervals.length > 100);
  });

  it('are few for keys and rows left out in turn, which would be millions', () => {
    const operands = Array.from({ length: 3_000 }, (_, place) =>
      differs(place % 2 === 0 ? 'PartitionKey' : 'RowKey', `k${place}`),
    );
    const { residual } = planQuery({ kind: 'and', operands });
    assert.equal(residual?.kind, 'and');
  });
});
