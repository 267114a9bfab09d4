import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bulk, entitiesOf, writesOf } from '../../src/modeling/index.js';
import {
  archiveEntities,
  deleteWhere,
} from '../../src/modeling/patterns/high-volume-delete/index.js';
import type { ManagedMap } from '../../src/modeling/patterns/shard-map-manager/index.js';
import { splitRange } from '../../src/modeling/patterns/shard-map/index.js';
import { costly } from '../support/run-length.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { filledShards, Order, orderSchema, type MemoryShards } from './support/memory-shards.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Data that are loaded into shards, purged there and archived from there.

const customers = [7, 99, 500] as const;
const ordersOfCustomer = 198;

const loaded = () =>
  customers.flatMap((customer) =>
    Array.from({ length: ordersOfCustomer }, (_, at) =>
      writesOf(Order, { stamp: false }).upsertReplace({ customer, id: at + 1, amount: at }),
    ),
  );

/** A program, and the sizes of the transactions that it sends to shards. */
async function observed(shards: MemoryShards) {
  const sizes: number[] = [];
  const manager = shards.manager((port) =>
    wrappedMethods(port, (name, send, [writes]) => {
      if (name === 'transact' && Array.isArray(writes)) sizes.push(writes.length);
      return send();
    }),
  );
  return { sizes, map: await manager.open('orders', orderSchema) };
}

const rowsOf = async ({ map }: ManagedMap<'int'>): Promise<number> => {
  let rows = 0;
  for await (const _ of entitiesOf(Order, map.table).scanTable()) rows += 1;
  return rows;
};

describe('data over shards', () => {
  it('are loaded in transactions as large as shards take them', costly(), async () => {
    const { shards } = await filledShards();
    const { sizes, map } = await observed(shards);
    const report = await bulk(map.map.table, loaded());
    assert.deepEqual([report.applied, report.failed], [loaded().length, 0]);
    // A row of each transaction is that of the map.
    assert.deepEqual([report.requests, sizes.filter((size) => size > 2)], [6, Array(6).fill(100)]);
    const { rows } = await shards.content();
    for (const customer of customers) {
      const expected = customer < 100 ? ['north'] : ['south'];
      for (const id of [1, ordersOfCustomer]) {
        assert.deepEqual(rows.get(`${customer}:${id}`), expected);
      }
    }
  });

  it('are loaded from where a load stopped, also where a range moves', costly(), async () => {
    const { shards, map } = await filledShards();
    const before = await rowsOf(map);
    const stopped = new AbortController();
    const first = await bulk(map.map.table, loaded(), {
      concurrency: 1,
      signal: stopped.signal,
      onPosition: (position) => {
        if (position >= ordersOfCustomer / 2) stopped.abort();
      },
    });
    assert.ok(first.position > 0 && first.position < loaded().length, String(first.position));
    const { id } = await map.operations.begin(
      splitRange({ from: map.textOf(50), before: map.textOf(100) }, 'west'),
      { title: 'during a load' },
    );
    await map.operations.run(id);
    const second = await bulk(map.map.table, loaded(), { from: first.position });
    assert.deepEqual([second.failed, second.position], [0, loaded().length]);
    const { rows } = await shards.content();
    assert.ok([...rows.values()].every((places) => places.length === 1));
    assert.deepEqual([rows.get('99:1'), rows.get('99:198')], [['west'], ['west']]);
    // The first order of each customer was there before.
    assert.equal(rows.size, before + loaded().length - customers.length);
  });

  it('are purged in transactions as large as shards take them', costly(), async () => {
    const { shards, map } = await filledShards();
    await bulk(map.map.table, loaded());
    const { sizes, map: purged } = await observed(shards);
    const { deleted } = await deleteWhere(purged.entities(Order), {
      scan: 'table',
      where: (p) => p.amount.ge(0),
    });
    assert.equal(deleted, loaded().length + 2);
    assert.deepEqual(
      sizes.filter((size) => size > 2),
      Array(6).fill(100),
    );
    assert.equal(await rowsOf(map), 0);
  });

  it('are archived from all shards into one table', costly(), async () => {
    const { map } = await filledShards();
    const archive = entitiesOf(Order, new MemoryTable(new MemoryRows()));
    await map.entities(Order).insert({ customer: 8, id: 1, amount: 9 });
    const { archived } = await archiveEntities({
      from: map.entities(Order),
      query: { where: (p) => p.amount.lt(9) },
      to: archive,
      convert: ({ customer, id, amount }) => ({ customer, id, amount }),
    });
    const found = await archive.scanTable().toArray({ max: 9 });
    assert.deepEqual(
      found.map(({ customer }) => customer),
      [7, 60, 99, 100, 500],
    );
    assert.deepEqual([archived, await rowsOf(map)], [5, 1]);
  });
});
