import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { partitionRows } from './dataset.js';
import { connectionsOf, isUnderWrites, tableKinds, tablePlan } from './kinds.js';
import { dataLoading, makeTableWorkload, TableData } from './table-workloads.js';

const target = {
  host: '127.0.0.1',
  port: 1,
  account: { name: 'a', key: createSecretKey(Buffer.from('k')) },
};

function keysIn(request: Buffer | undefined): readonly string[] {
  const pairs = /"PartitionKey":"(?<partition>\w+)","RowKey":"(?<row>\w+)"/g;
  return [...(request?.toString() ?? '').matchAll(pairs)].map(
    ({ groups }) => `${groups?.['partition']}/${groups?.['row']}`,
  );
}

describe('the load of tables', () => {
  it('inserts each row once, over all partitions, in lengths that never change', () => {
    const partitions = 3000;
    const inserts = makeTableWorkload('insert', target, new TableData(partitions * partitionRows));
    const requests = Array.from({ length: 12_000 }, () => String(inserts.next(0)?.toString()));
    const keys = requests.flatMap((request) => keysIn(Buffer.from(request)));
    assert.equal(new Set(keys).size, requests.length);
    const seen = new Set(keys.map((key) => key.split('/')[0]));
    assert.ok(seen.size > 0.9 * partitions, `rows went to ${seen.size} partitions`);
    assert.ok(seen.has('p02999') || seen.has('p02998'));
    assert.equal(new Set(requests.map(({ length }) => length)).size, 1);
  });

  it('loads as many different rows as it was asked for, and tells of them', () => {
    const told: number[] = [];
    const loading = dataLoading(target, new TableData(2 * partitionRows), (rows) =>
      told.push(rows),
    );
    const keys = new Set<string>();
    for (let request = loading.next(0); request !== undefined; request = loading.next(0)) {
      for (const key of keysIn(request)) keys.add(key);
    }
    assert.equal(keys.size, 2 * partitionRows);
    assert.equal(told.at(-1), 2 * partitionRows);
  });

  it('reads more different rows of a larger table', () => {
    const different = (rows: number): number => {
      const reads = makeTableWorkload('point', target, new TableData(rows));
      const paths = Array.from({ length: 10_000 }, () => reads.next(0)?.toString('latin1', 0, 80));
      return new Set(paths).size;
    };
    assert.ok(different(20 * partitionRows) <= 2000);
    assert.ok(different(80 * partitionRows) > 5000);
  });

  it('merges into entities that are there, a different one for every tenth', () => {
    const data = new TableData(20 * partitionRows);
    const merges = makeTableWorkload('merge', target, data);
    const requests = Array.from({ length: 2000 }, () => String(merges.next(0)?.toString()));
    const keys = requests.flatMap((request) => keysIn(Buffer.from(request)));
    assert.equal(keys.length, requests.length);
    assert.ok(new Set(keys).size > 0.9 * keys.length, `${new Set(keys).size} different`);
    for (const [index, request] of requests.entries()) {
      const [partition, row] = keys[index]?.split('/') ?? [];
      assert.match(request, /^PATCH /);
      assert.ok(request.includes(`(PartitionKey='${partition}',RowKey='${row}')`), request);
      assert.match(`${partition}/${row}`, /^p000[01]\d\/r0000000\d{3}$/);
    }
  });

  it('has a plan for every kind', () => {
    const plans = tableKinds.map((kind) => {
      const { operation } = tablePlan(kind);
      return `${kind}: ${operation} ${connectionsOf(kind, 32)} ${isUnderWrites(kind)}`;
    });
    assert.deepEqual(plans, [
      'point: point 32 false',
      'range: range 32 false',
      'scan: scan 32 false',
      'insert: insert 32 false',
      'insert-one: insert 1 false',
      'merge: merge 32 false',
      'point-under-writes: point 32 true',
      'batch: batch 32 false',
    ]);
  });
});
