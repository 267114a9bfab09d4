import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { comparison, filterOver, trickyText } from '../../../test/support/edm-arbitraries.js';
import { entityRanges, isInside, isRead } from '../../../test/support/entity-ranges.js';
import { matches } from '../../../test/support/filter-oracle.js';
import { account, entity, int, openService, text } from '../../../test/support/table-services.js';
import type { Filter } from '../../model/edm/filter.js';
import { contains, type EntityRange } from '../../model/edm/entity-range.js';
import { intervalsMax } from './key-interval.js';
import { planQuery } from './plan.js';
import { defaultQueryBudget } from './query.js';
import type { EntityPosition, EntityQuery } from './types.js';
import { costly } from '../../../test/support/run-length.js';

const long = 'k'.repeat(512);
const keys = fc.oneof(trickyText, fc.constantFrom('', 'a', 'b', long, `${long.slice(1)}l`));
/** Bounds that a token may name, including some that are no valid keys. */
const bounds = fc.oneof(
  { weight: 6, arbitrary: keys },
  fc.constantFrom('a\u0000', `${long}k`, `${long}\u0000`, '\u0000', `a\u0000b`, '\uffff'),
);
const ranges = entityRanges(bounds);
const filters: fc.Arbitrary<Filter> = filterOver(
  fc.oneof(
    comparison(fc.constantFrom('PartitionKey', 'RowKey'), bounds.map(text)),
    comparison(fc.constant('n'), fc.integer({ min: 0, max: 2 }).map(int)),
    fc.boolean().map((value) => ({ kind: 'constant' as const, value })),
  ),
);

describe('a range of entities', () => {
  it('has the keys that the protocol says, its bounds included', () => {
    fc.assert(
      fc.property(ranges, keys, keys, (range, pk, rk) => {
        assert.equal(contains(range, pk, rk), isInside(range, pk, rk));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is the same for bounds that are keys of the data', () => {
    const few = fc.constantFrom('', 'a', 'b', 'c');
    fc.assert(
      fc.property(entityRanges(few), few, few, (range, pk, rk) => {
        assert.equal(contains(range, pk, rk), isInside(range, pk, rk));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a plan within a range', () => {
  const few = fc.oneof(fc.constantFrom('', 'a', 'b', 'c'), keys);

  it('reads every key of the range, and no other, when there is no filter', () => {
    fc.assert(
      fc.property(fc.oneof(ranges, entityRanges(few)), few, few, (range, pk, rk) => {
        const { intervals, residual } = planQuery(undefined, range);
        assert.equal(residual, undefined);
        const read = intervals.filter((interval) => isRead(interval, pk, rk)).length;
        assert.equal(read, isInside(range, pk, rk) ? 1 : 0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads no key outside, and finds what the filter matches inside', () => {
    const rows = fc.record({ pk: few, rk: few, n: fc.integer({ min: 0, max: 2 }) });
    fc.assert(
      fc.property(filters, fc.oneof(ranges, entityRanges(few)), rows, (filter, range, row) => {
        const { pk, rk, n } = row;
        const { intervals, residual } = planQuery(filter, range);
        const read = intervals.filter((interval) => isRead(interval, pk, rk)).length;
        const inside = isInside(range, pk, rk);
        assert.ok(read <= (inside ? 1 : 0));
        const properties = [{ name: 'n', value: int(n) }];
        const stored = { partitionKey: pk, rowKey: rk, version: 1, properties };
        const found = read === 1 && (residual === undefined || matches(residual, stored));
        assert.equal(found, inside && matches(filter, stored));
      }),
      { numRuns: 1_000 },
    );
  });

  it('stays inside when there are too many intervals to read each', () => {
    const compare = (property: string, value: string): Filter => ({
      kind: 'comparison',
      property,
      operator: 'eq',
      literal: text(value),
    });
    const names = Array.from({ length: 3 * intervalsMax }, (_, index) => `p${index}`);
    const operands = names.map((name): Filter => ({
      kind: 'and',
      operands: [compare('PartitionKey', name), compare('RowKey', 'r')],
    }));
    const range = {
      startPartitionKey: 'p1',
      startRowKey: 'm',
      endPartitionKey: 'p999',
      endRowKey: 's',
    };
    const { intervals } = planQuery({ kind: 'or', operands }, range);
    assert.ok(intervals.length > 1 && intervals.length <= intervalsMax + 4);
    const areRead = (pk: string, rk: string) => intervals.some((each) => isRead(each, pk, rk));
    for (const [pk, rk] of [
      ['p0', 'r'],
      ['p1', ''],
      ['p1', 'l'],
      ['p999', 'ss'],
      ['p999', 't'],
      ['p9990', ''],
    ] as const) {
      assert.ok(!areRead(pk, rk), `${pk}/${rk}`);
    }
    for (const pk of ['p1', 'p10', 'p1999', 'p2', 'p2998']) assert.ok(areRead(pk, 'r'), pk);
    assert.ok(areRead('p1', 'm') && areRead('p999', 's'), 'so many partitions are read in whole');
  });
});

const texts = ['', 'a', 'b', 'c', '\ue000', '😀'];

async function openGrid(t: TestContext, engine: 'memory' | 'lmdb') {
  const budget = { ...defaultQueryBudget, lookaheadRowsMax: 2 };
  const { service } = await openService[engine](t, { budget });
  await service.createTable(account, 'data');
  const rows = texts.flatMap((pk, p) => texts.map((rk, r) => ({ pk, rk, n: (p + r) % 3 })));
  for (const { pk, rk, n } of rows) {
    await service.write(account, 'data', { kind: 'insert', entity: entity(pk, rk, { n }) });
  }
  const query = (given: EntityQuery) => service.queryEntities(account, 'data', given);
  return { rows, query };
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`a query within a range over ${engine}`, () => {
    const key = fc.constantFrom(...texts);
    const position: fc.Arbitrary<EntityPosition> = fc.record({ partitionKey: key, rowKey: key });

    it('pages through the rows of the range; no token names a key outside', costly(), async (t) => {
      const { rows, query } = await openGrid(t, engine);
      const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
      const sorted = rows.toSorted((a, b) => order(a.pk, b.pk) || order(a.rk, b.rk));
      const sample = fc.record({
        within: entityRanges(key),
        filter: fc.option(filters, { nil: undefined }),
        top: fc.integer({ min: 1, max: 7 }),
        start: fc.option(position, { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(sample, async ({ within, filter, top, start }) => {
          const found: string[] = [];
          let from: EntityPosition | undefined = start;
          for (let pages = 0; pages === 0 || from !== undefined; pages += 1) {
            assert.ok(pages <= rows.length, 'a query without end');
            const page = await query({ within, top, ...optional({ filter, from }) });
            found.push(...page.entities.map((row) => `${row.partitionKey}/${row.rowKey}`));
            from = page.next;
            if (page.next === undefined) break;
            const { partitionKey, rowKey = '' } = page.next;
            assert.ok(isInside(within, partitionKey, rowKey), `${partitionKey}/${rowKey}`);
          }
          const expected = sorted.filter(
            ({ pk, rk, n }) =>
              isInside(within, pk, rk) &&
              isFrom(start, pk, rk) &&
              (filter === undefined ||
                matches(filter, {
                  partitionKey: pk,
                  rowKey: rk,
                  version: 1,
                  properties: [{ name: 'n', value: int(n) }],
                })),
          );
          assert.deepEqual(
            found,
            expected.map(({ pk, rk }) => `${pk}/${rk}`),
          );
        }),
        { numRuns: engine === 'memory' ? 500 : 60 },
      );
    });

    it('looks at no row outside, so that its cost tells nothing about them', async (t) => {
      const { query } = await openGrid(t, engine);
      const within: EntityRange = { startPartitionKey: 'b', endPartitionKey: 'b' };
      const { report } = await query({ within });
      assert.equal(report.rowsScanned, texts.length);
      assert.equal(report.planClass, 'partition-scan');
      const outside = await query({ within, from: { partitionKey: 'c', rowKey: 'a' } });
      assert.deepEqual(
        [outside.entities, outside.next, outside.report.rowsScanned],
        [[], undefined, 0],
      );
    });
  });
}

function isFrom(start: EntityPosition | undefined, pk: string, rk: string): boolean {
  if (start === undefined || pk > start.partitionKey) return true;
  return pk === start.partitionKey && rk >= (start.rowKey ?? '');
}

function optional(given: {
  readonly filter: Filter | undefined;
  readonly from: EntityPosition | undefined;
}): EntityQuery {
  return {
    ...(given.filter === undefined ? {} : { filter: given.filter }),
    ...(given.from === undefined ? {} : { from: given.from }),
  };
}
