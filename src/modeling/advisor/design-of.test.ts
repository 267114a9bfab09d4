import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashRouting, listRouting } from '../../placement/shard-routing.js';
import { defineEntity } from '../definition/entity-definition.js';
import { key } from '../definition/key-template.js';
import { double, int32, string } from '../definition/scalar-types.js';
import { explain } from './explain.js';
import { counts, uniform } from './facts/distribution.js';
import { designOf, type PlacedDesign } from './design-of.js';
import { reviewPlacement } from './placement/review-placement.js';

const PricedOrder = defineEntity({
  type: 'Order',
  properties: { customer: string(), number: int32(), total: double(), status: string() },
  partitionKey: (p) => key`${p.customer}`,
  rowKey: (p) => key`${p.number.padded(6)}`,
});

const ofCustomer = { partition: { customer: 'contoso' } };
const workload = {
  rows: 1000,
  partitions: counts({ contoso: 700, fabrikam: 200, northwind: 100 }),
  operations: [
    { kind: 'insert', perSecond: 2 },
    { kind: 'merge', name: 'progress', perSecond: 40, changes: ['status'] },
    { kind: 'query', name: 'of a customer', perSecond: 20, query: ofCustomer, select: ['total'] },
    { kind: 'scan', name: 'all above', perSecond: 3 },
  ],
} as const;
const routing = listRouting({ contoso: 'one' }, 'two');

function idsOf(placed: PlacedDesign): readonly string[] {
  const design = designOf(explain(PricedOrder, workload), workload, placed);
  return reviewPlacement(design).map(({ id }) => id);
}

describe('a design from a definition and its workload', () => {
  it('has the shards, the queries and the fields that follow', () => {
    const design = designOf(explain(PricedOrder, workload), workload, { routing });
    assert.deepEqual(
      design.queries?.map(({ name, hasKey, readsRange }) => [name, hasKey, readsRange]),
      [
        ['of a customer', true, true],
        ['all above', false, true],
      ],
    );
    const [one, two] = design.shards ?? [];
    assert.ok(one !== undefined && two !== undefined);
    assert.deepEqual([one.name, one.largestTenant, two.name], ['one', 1, 'two']);
    assert.ok(Math.abs(one.requestsPerSecond / two.requestsPerSecond - 7 / 3) < 1e-9);
    assert.deepEqual(
      design.fields?.map((field) => [field.name, field.readsPerSecond, field.writesPerSecond]),
      [
        ['status', 3, 42],
        ['total', 23, 2],
      ],
    );
    assert.deepEqual(design.key, { type: 'text', values: 3, by: 'value', isOfOneEntity: false });
  });

  it('is reviewed without anything typed by hand, and asks only what is answered', () => {
    const ids = ['fan-out-query', 'split-foreseeable', 'vertical-split'];
    assert.deepEqual([...new Set(idsOf({ routing }))].toSorted(), ids);
    assert.ok(idsOf({ routing, answers: { backupPlan: 'no' } }).includes('no-backup-plan'));
    assert.ok(!idsOf({}).includes('fan-out-query'));
  });

  it('has more of a query where that is told by its name', () => {
    const critical = { name: 'of a customer', isCritical: true, targetMs: 5, expectedMs: 9 };
    const queries = [{ ...critical, perSecond: 20, hasKey: true }];
    assert.ok(idsOf({ queries }).includes('slow-critical-query'));
    const design = designOf(explain(PricedOrder, workload), workload, { queries });
    assert.equal(design.queries?.length, 2);
  });

  it('has the regions of its shards as a manager tells them', () => {
    const regions = { one: 'eu', two: 'us', unused: 'asia' };
    const query = { name: 'of a customer', perSecond: 20, hasKey: true };
    const queries = [{ ...query, region: 'asia' }];
    assert.ok(idsOf({ routing, regions, queries }).includes('geo-far'));
    assert.ok(
      !idsOf({ routing, regions, queries: [{ ...query, region: 'us' }] }).includes('geo-far'),
    );
    assert.ok(!idsOf({ routing, queries }).includes('geo-far'));
    const hashed = { ...workload, partitions: uniform(300) };
    const design = designOf(explain(PricedOrder, hashed), hashed, {
      routing: hashRouting(['one', 'two'], 4),
      regions,
    });
    assert.ok(reviewPlacement(design).some(({ id }) => id === 'geo-hash-mix'));
    const shards = [{ name: 'one', requestsPerSecond: 1, region: 'africa' }];
    const told = designOf(explain(PricedOrder, workload), workload, { shards, regions });
    assert.deepEqual(
      told.shards?.map(({ region }) => region),
      ['africa'],
    );
  });

  it('deals equal partitions to the shards of a hash, and none where they are not known', () => {
    const equal = { ...workload, partitions: uniform(300) };
    const rates = (placed: PlacedDesign) =>
      designOf(explain(PricedOrder, equal), equal, placed).shards?.map(
        (each) => each.requestsPerSecond,
      );
    const [a, b, ...more] = rates({ routing: hashRouting(['a', 'b'], 4) }) ?? [];
    assert.ok(a !== undefined && a > 0 && a === b && more.length === 0);
    assert.equal(rates({ routing }), undefined);
  });

  it('finds a partition for each entity by the transactions of its workload', () => {
    const single = {
      rows: 1000,
      partitions: uniform(1000),
      operations: [{ kind: 'transaction', writes: 3, perSecond: 1 }],
    } as const;
    const report = explain(PricedOrder, single);
    const ids = (
      given: typeof single | { rows: 1000; partitions: typeof single.partitions; operations: [] },
    ) => reviewPlacement(designOf(explain(PricedOrder, given), given)).map(({ id }) => id);
    assert.equal(designOf(report, single).key?.isOfOneEntity, true);
    assert.ok(ids(single).includes('partition-per-entity'));
    assert.ok(!ids({ ...single, operations: [] }).includes('partition-per-entity'));
  });
});
