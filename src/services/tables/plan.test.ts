import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { comparison, filterOver, trickyText } from '../../../test/support/edm-arbitraries.js';
import { isRead } from '../../../test/support/entity-ranges.js';
import { matches, type PlainRow } from '../../../test/support/filter-oracle.js';
import type { ComparisonOperator, Filter } from '../../model/edm/filter.js';
import type { EdmValue } from '../../model/edm/value.js';
import { intervalsMax } from './key-interval.js';
import { planQuery, type QueryPlan } from './plan.js';

const long = 'k'.repeat(512);
const keys = fc.oneof(trickyText, fc.constantFrom('', long, `${long.slice(1)}l`));
/** Literals that a filter may compare a key with, including some that are no valid keys. */
const keyLiterals = fc.oneof(
  { weight: 6, arbitrary: keys },
  fc.constantFrom('a\u0000', `${long}k`, `${long}\u0000`, `${long}zz`, '\u0000', `a\u0000b`),
);

function string(value: string): EdmValue {
  return { type: 'Edm.String', value };
}

function int(value: number): EdmValue {
  return { type: 'Edm.Int32', value };
}

function compare(property: string, operator: ComparisonOperator, value: string | number): Filter {
  const literal = typeof value === 'string' ? string(value) : int(value);
  return { kind: 'comparison', property, operator, literal };
}

const and = (...operands: readonly Filter[]): Filter => ({ kind: 'and', operands });
const or = (...operands: readonly Filter[]): Filter => ({ kind: 'or', operands });
const not = (operand: Filter): Filter => ({ kind: 'not', operand });
const partition = (value: string) => compare('PartitionKey', 'eq', value);
const row = (value: string) => compare('RowKey', 'eq', value);

/** The rows that a plan finds, in the order it reads them. */
function run({ intervals, residual }: QueryPlan, rows: readonly PlainRow[]): PlainRow[] {
  return intervals.flatMap((interval) =>
    rows.filter(
      (found) =>
        isRead(interval, found.partitionKey, found.rowKey) &&
        (residual === undefined || matches(residual, found)),
    ),
  );
}

function sortRows(rows: readonly PlainRow[]): PlainRow[] {
  const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return rows.toSorted(
    (a, b) => order(a.partitionKey, b.partitionKey) || order(a.rowKey, b.rowKey),
  );
}

const rowsOf = fc
  .uniqueArray(fc.record({ partitionKey: keys, rowKey: keys, n: fc.integer({ min: 0, max: 2 }) }), {
    selector: ({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`,
    maxLength: 30,
  })
  .map((found) =>
    sortRows(
      found.map(({ partitionKey, rowKey, n }) => {
        const properties = n === 0 ? [] : [{ name: 'N', value: int(n) }];
        return { partitionKey, rowKey, version: 1, properties };
      }),
    ),
  );

const conditions: fc.Arbitrary<Filter> = fc.oneof(
  { weight: 4, arbitrary: comparison(fc.constant('PartitionKey'), keyLiterals.map(string)) },
  { weight: 4, arbitrary: comparison(fc.constant('RowKey'), keyLiterals.map(string)) },
  comparison(fc.constantFrom('PartitionKey', 'RowKey'), fc.constant(int(1))),
  comparison(fc.constant('N'), fc.constantFrom(int(1), int(2))),
  fc.constantFrom('PartitionKey', 'N').map((property) => ({ kind: 'property' as const, property })),
  fc.boolean().map((value) => ({ kind: 'constant' as const, value })),
);

describe('the planner', () => {
  it('finds exactly the rows that the filter matches, in order, each once', () => {
    fc.assert(
      fc.property(filterOver(conditions), rowsOf, (filter, rows) => {
        const expected = rows.filter((found) => matches(filter, found));
        assert.deepEqual(run(planQuery(filter), rows), expected);
      }),
      { numRuns: 600 },
    );
  });

  it('leaves nothing to test when a filter speaks of keys alone and of whole partitions', () => {
    const onKeys = comparison(fc.constant('PartitionKey'), keyLiterals.map(string));
    fc.assert(
      fc.property(filterOver(onKeys), (filter) => {
        assert.equal(planQuery(filter).residual, undefined);
      }),
    );
  });

  const classes: readonly (readonly [string, Filter | undefined, string, number])[] = [
    ['no filter', undefined, 'table-scan', 1],
    ['both keys', and(partition('Sales'), row('2')), 'point', 1],
    ['both keys, any order', and(row('2'), partition('Sales')), 'point', 1],
    ['or over rows', and(partition('Sales'), or(row('121'), row('322'))), 'point', 2],
    [
      'or of points',
      or(
        and(partition('a'), row('1')),
        and(partition('b'), row('1')),
        and(partition('a'), row('1')),
      ),
      'point',
      2,
    ],
    [
      'a row range',
      and(partition('Sales'), compare('RowKey', 'ge', 'S'), compare('RowKey', 'lt', 'T')),
      'range',
      1,
    ],
    [
      'a partition',
      and(partition('Sales'), compare('LastName', 'eq', 'Smith')),
      'partition-scan',
      1,
    ],
    ['two partitions', or(partition('a'), partition('b')), 'partition-scan', 2],
    [
      'a partition range',
      and(compare('PartitionKey', 'ge', 'a'), compare('PartitionKey', 'lt', 'b')),
      'partition-range-scan',
      1,
    ],
    ['a property', compare('LastName', 'eq', 'Jones'), 'table-scan', 1],
    [
      'rows on both sides of a bound',
      and(partition('a'), or(compare('RowKey', 'lt', 'm'), compare('RowKey', 'ge', 'm'))),
      'partition-scan',
      1,
    ],
    ['a row alone', row('1'), 'table-scan', 1],
    ['a negated inequality', and(partition('a'), not(compare('RowKey', 'ne', 'x'))), 'point', 1],
    ['a contradiction', and(partition('a'), partition('b')), 'none', 0],
    ['an empty range', and(partition('a'), compare('RowKey', 'lt', '')), 'none', 0],
    ['false', { kind: 'constant', value: false }, 'none', 0],
    ['a key that cannot exist', partition('x'.repeat(513)), 'none', 0],
    [
      'bounds around one key',
      and(partition('a'), compare('RowKey', 'ge', 'x'), compare('RowKey', 'le', 'x')),
      'point',
      1,
    ],
  ];
  for (const [name, filter, planClass, intervals] of classes) {
    it(`classifies ${name} as ${planClass} in ${intervals}`, () => {
      const plan = planQuery(filter);
      assert.equal(plan.planClass, planClass);
      assert.equal(plan.intervals.length, intervals);
    });
  }

  it('keeps only what the intervals do not guarantee', () => {
    const age = compare('Age', 'gt', 5);
    const range = [compare('RowKey', 'ge', 'S'), compare('RowKey', 'lt', 'T')];
    assert.equal(planQuery(and(partition('a'), ...range)).residual, undefined);
    assert.deepEqual(planQuery(and(partition('a'), ...range, age)).residual, age);
    assert.deepEqual(planQuery(and(compare('PartitionKey', 'gt', 'a'), row('1'), age)).residual, {
      kind: 'and',
      operands: [row('1'), age],
    });
    assert.deepEqual(planQuery(not(partition('a'))).residual, undefined);
  });

  it('reads at most a bounded number of intervals and still finds every row', () => {
    const names = Array.from({ length: 3 * intervalsMax + 7 }, (_, index) => `r${index}`);
    const many = and(or(partition('a'), partition('b')), or(...names.map(row)));
    const plan = planQuery(many);
    assert.ok(plan.intervals.length <= intervalsMax && plan.intervals.length > 1);
    const rows = sortRows(
      ['a', 'b', 'c'].flatMap((partitionKey) =>
        ['r0', 'r1', 'r3006', 'r3007', 'q', 'r00'].map((rowKey) => ({
          partitionKey,
          rowKey,
          version: 1,
          properties: [],
        })),
      ),
    );
    assert.deepEqual(
      run(plan, rows),
      rows.filter((found) => matches(many, found)),
    );
  });

  it('reads whole partitions when there are too many of them', () => {
    const names = Array.from({ length: 2 * intervalsMax }, (_, index) => `p${index}`);
    const many = or(...names.map((name) => and(partition(name), row('r'))));
    const plan = planQuery(many);
    assert.ok(plan.intervals.length <= intervalsMax && plan.intervals.length > 1);
    assert.equal(plan.planClass, 'partition-range-scan');
    const rows = sortRows(
      ['p0', 'p1', 'p1999', 'p55', 'p55x', 'q'].flatMap((partitionKey) =>
        ['r', 's'].map((rowKey) => ({ partitionKey, rowKey, version: 1, properties: [] })),
      ),
    );
    assert.deepEqual(
      run(plan, rows),
      rows.filter((found) => matches(many, found)),
    );
  });

  it('answers a product of keys that is too large with whole intervals', () => {
    const names = Array.from({ length: 300 }, (_, index) => `k${index}`);
    const product = and(or(...names.map(partition)), or(...names.map(row)));
    const plan = planQuery(product);
    assert.equal(plan.planClass, 'range');
    assert.equal(plan.intervals.length, 300);
    assert.deepEqual(plan.residual, product.kind === 'and' ? product.operands[1] : undefined);
  });

  it('plans a thousand overlapping ranges without working long', () => {
    const ranges = Array.from({ length: 1000 }, (_, index) =>
      and(
        compare('PartitionKey', 'ge', `a${String(index).padStart(4, '0')}`),
        compare('PartitionKey', 'le', `b${String(2000 - index)}`),
        row(`r${index}`),
      ),
    );
    const plan = planQuery(or(...ranges));
    assert.equal(plan.intervals.length, 1);
    assert.notEqual(plan.residual, undefined);
  });
});
