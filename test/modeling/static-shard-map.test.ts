import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { entitiesOf } from '../../src/modeling/index.js';
import {
  hashRouting,
  listRouting,
  moveShard,
  rangeRouting,
  routedBy,
  shardedEntitiesOf,
  shardMapOf,
  staticShardMapOf,
} from '../../src/modeling/patterns/shard-map/index.js';
import { startTables } from './support/observed-tables.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { Order } from './support/sharded-orders.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

async function newShards() {
  const [a, b] = [await started.newTable(), await started.newTable()];
  return { a, b, shards: { a: a.gateway, b: b.gateway } };
}

const alphabet = rangeRouting([
  { from: '', shard: 'a' },
  { from: 'h', shard: 'b' },
]);

describe('a static shard map', () => {
  it('writes and reads as one table, with no rows of its own and no requests more', async () => {
    const { a, b, shards } = await newShards();
    const map = staticShardMapOf({ name: 'orders', shards, routing: alphabet });
    const orders = shardedEntitiesOf(Order, map);
    await orders.insert({ tenant: 'fabrikam', id: 1, amount: 5 });
    assert.deepEqual([a.takeKinds(), b.takeKinds()], [['insert'], []]);
    await orders
      .transaction()
      .insert(Order, { tenant: 'northwind', id: 1, amount: 1 })
      .insert(Order, { tenant: 'northwind', id: 2, amount: 2 })
      .run();
    assert.deepEqual([a.takeKinds(), b.takeKinds()], [[], ['transaction']]);
    const northwind = { tenant: 'northwind' };
    const ids = (await orders.query({ partition: northwind }).toArray({ max: 9 })).map(
      ({ id }) => id,
    );
    assert.deepEqual(ids, [1, 2]);
    assert.equal((await orders.get({ tenant: 'fabrikam', id: 1 }))?.amount, 5);
    assert.equal(await orders.get({ tenant: 'fabrikam', id: 9 }), undefined);
    assert.deepEqual([a.takeKinds(), b.takeKinds()], [['point-read', 'point-read'], ['query']]);
    const all = await orders.queryAll({ where: (p) => p.amount.ge(2) }).toArray({ max: 9 });
    assert.deepEqual(
      all.map(({ tenant, id }) => `${tenant} ${id}`),
      ['fabrikam 1', 'northwind 2'],
    );
    const rows = [...(await a.gateway.page({})).rows, ...(await b.gateway.page({})).rows];
    assert.equal(rows.length, 3);
    const again = orders.insert({ tenant: 'fabrikam', id: 1, amount: 6 });
    await assert.rejects(again, { name: 'EntityExistsError' });
    const twice = orders.transaction().insert(Order, { tenant: 'fabrikam', id: 1, amount: 6 });
    await assert.rejects(twice.run(), { name: 'TransactionFailedError' });
  });

  it('finds what a program with another routing has written elsewhere', async () => {
    const { shards } = await newShards();
    const map = staticShardMapOf({ name: 'orders', shards, routing: alphabet });
    await shardedEntitiesOf(Order, map).insert({ tenant: 'fabrikam', id: 1, amount: 5 });
    await entitiesOf(Order, shards.b).insert({ tenant: 'adatum', id: 1, amount: 5 });
    await entitiesOf(Order, shards.b).insert({ tenant: 'adatum', id: 2, amount: 5 });
    const found = [];
    for await (const misplaced of map.misplaced()) found.push(misplaced);
    assert.deepEqual(found, [{ partitionKey: 'adatum', shard: 'b', home: 'a' }]);
    const adatum = { tenant: 'adatum', id: 1 };
    assert.equal(await shardedEntitiesOf(Order, map).get(adatum), undefined);
  });

  it('takes as many writes at once as each of its shards, as other maps do', async () => {
    const memory = () => new MemoryTable(new MemoryRows());
    const options = { name: 'orders', shards: { a: memory(), b: memory() }, routing: alphabet };
    const stored = { ...options, control: memory() };
    assert.equal(staticShardMapOf(options).table.writesMax, 100);
    assert.equal(shardMapOf(stored).table.writesMax, 99);
    Object.assign(options.shards.b, { writesMax: 40 });
    const { table } = staticShardMapOf(options);
    assert.equal(table.writesMax, 40);
    assert.equal(shardMapOf(stored).table.writesMax, 39);
    const writes = Array.from({ length: 41 }, (_, id) => ({
      kind: 'insert' as const,
      row: { partitionKey: 'a', rowKey: `${id}`, properties: {} },
    }));
    await assert.rejects(table.transact(writes), /at most 40 writes, not 41/);
  });

  it('is taken over, with its rows, by a map that can change', async () => {
    const { shards } = await newShards();
    const routing = hashRouting(['a', 'b']);
    const routeBy = routedBy(Order, 'tenant');
    const fixed = staticShardMapOf({ name: 'orders', shards, routing, routeBy });
    for (let id = 0; id < 12; id += 1) {
      await shardedEntitiesOf(Order, fixed).insert({ tenant: `t${id}`, id, amount: id });
    }
    const control = (await started.newTable()).gateway;
    const map = shardMapOf({ name: 'orders', control, shards, routeBy, settleMs: 0 });
    await map.create(routing);
    const orders = shardedEntitiesOf(Order, map);
    assert.equal((await orders.queryAll().toArray({ max: 99 })).length, 12);
    await map.apply(moveShard('a', 'b'));
    await map.cleanUp();
    assert.equal((await orders.queryAll().toArray({ max: 99 })).length, 12);
    const left = (await shards.a.page({})).rows.map(({ partitionKey }) => partitionKey);
    assert.deepEqual(left, ['!shard-binding']);
  });

  it('refuses routings and shards that do not fit each other', async () => {
    const nothing = started.gatewayOfNothing;
    const shards = { a: nothing };
    const options = { name: 'orders', shards };
    const alone = () => staticShardMapOf({ ...options, routing: alphabet });
    assert.throws(alone, /has no table for the shard 'b'/);
    const twice = { ...options, shards: { a: nothing, b: nothing }, routing: alphabet };
    assert.throws(() => staticShardMapOf(twice), /the same table/);
    const routing = listRouting({ fabrikam: 'a' });
    const map = staticShardMapOf({ ...options, routing });
    assert.equal(map.shardOf('fabrikam'), 'a');
    const stray = shardedEntitiesOf(Order, map).get({ tenant: 'adatum', id: 1 });
    await assert.rejects(stray, /no shard for 'adatum'/);
  });
});
