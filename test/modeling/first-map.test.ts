import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entitiesOf } from '../../src/modeling/index.js';
import { reservedPartitionKeys } from '../../src/modeling/definition/reserved-keys.js';
import {
  hashRouting,
  listRouting,
  MisplacedRowsError,
  moveShard,
  rangeRouting,
  shardedEntitiesOf,
  shardMapOf,
  type ShardMap,
} from '../../src/modeling/patterns/shard-map/index.js';
import { MemoryShards, Order, orderSchema, shardNames } from './support/memory-shards.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

// A map over tables that have rows already.

const customers = [7, 60, 99, 100, 500] as const;

interface World {
  readonly control: MemoryRows;
  readonly tables: Readonly<Record<'a' | 'b' | 'c', MemoryTable>>;
  readonly map: ShardMap;
}

/** All orders are on a. */
async function grown(): Promise<World> {
  const table = (name: string) => new MemoryTable(new MemoryRows(), { table: name });
  const control = table('control');
  const tables = { a: table('a'), b: table('b'), c: table('c') };
  const map = shardMapOf({ name: 'orders', control, shards: tables, settleMs: 0 });
  for (const customer of customers) {
    await entitiesOf(Order, tables.a).insert({ customer, id: 1, amount: 1 });
  }
  return { control: control.rows, tables, map };
}

describe('the first map over tables with rows', () => {
  const wanted = rangeRouting([
    { from: '', shard: 'a' },
    { from: '000100', shard: 'b' },
  ]);

  it('is refused where it would look for them elsewhere, and nothing is written', async () => {
    const { control, tables, map } = await grown();
    const before = tables.a.rows.all;
    await assert.rejects(map.create(wanted), (error) => {
      assert.ok(error instanceof MisplacedRowsError);
      assert.deepEqual([error.partitionKey, error.shard, error.home], ['000100', 'a', 'b']);
      assert.match(error.message, /look for '000100' on 'b', but its rows are on 'a'/);
      return true;
    });
    const nowhere = listRouting({ '000007': 'a' });
    await assert.rejects(map.create(nowhere), /look for '000060' on no shard/);
    await assert.rejects(map.create(hashRouting(['a', 'b'])), MisplacedRowsError);
    assert.deepEqual([control.all, tables.a.rows.all, tables.b.rows.all], [[], before, []]);
  });

  it('is refused where rows are on a shard that it does not lead to', async () => {
    const { control, map } = await grown();
    await assert.rejects(map.create(hashRouting(['b', 'c'])), (error) => {
      assert.ok(error instanceof MisplacedRowsError);
      assert.equal(error.shard, 'a');
      return true;
    });
    assert.deepEqual(control.all, []);
  });

  it('is refused where another shard accepts writes of what its home does not know', async () => {
    const { control, map } = await grown();
    await map.create(listRouting({}, 'a'));
    await shardedEntitiesOf(Order, map).insert({ customer: 500, id: 2, amount: 1 });
    for (const { partitionKey, rowKey } of control.all) {
      control.apply([{ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' }]);
    }
    await assert.rejects(map.create(listRouting({ '000500': 'b' }, 'a')), MisplacedRowsError);
  });

  it('does not delete what somebody else has on a shard, and tells it', async () => {
    const { tables, map } = await grown();
    await map.create(listRouting({}, 'a'));
    await map.apply(wanted);
    await entitiesOf(Order, tables.c).insert({ customer: 500, id: 2, amount: 1 });
    const [before, kept] = [tables.c.rows.all, [] as string[]];
    await map.cleanUp({ onKept: ({ shard, reason }) => kept.push(`${shard}: ${reason}`) });
    assert.deepEqual(tables.c.rows.all, before);
    assert.deepEqual(kept, ['c: no map has opened it here']);
  });

  it('deletes the copies of a change that was rolled back at any time', async () => {
    const { tables, map } = await grown();
    await map.create(listRouting({}, 'a'));
    await map.start(wanted);
    await map.backfill();
    const stopped = new AbortController();
    stopped.abort();
    await assert.rejects(map.cutOver({ signal: stopped.signal }));
    await map.rollBack();
    const kept: string[] = [];
    await map.cleanUp({ onKept: ({ reason }) => kept.push(reason) });
    assert.deepEqual(kept, []);
    assert.deepEqual(
      tables.b.rows.all.filter((row) => !row.partitionKey.startsWith('!')),
      [],
    );
  });

  it('leads to them first, and moves them where it is changed', async () => {
    const { map } = await grown();
    await map.create(listRouting({}, 'a'));
    await map.apply(wanted);
    await map.cleanUp();
    const orders = shardedEntitiesOf(Order, map);
    assert.equal((await orders.queryAll().toArray({ max: 99 })).length, customers.length);
    assert.equal(await map.shardOf('000500'), 'b');
    assert.equal((await orders.get({ customer: 500, id: 1 }))?.amount, 1);
  });

  it('may be made again over what an earlier one has left elsewhere', async () => {
    const { control, map } = await grown();
    await map.create(listRouting({}, 'a'));
    // The rows that moved are still on a, and copies of those that came back on c.
    await map.apply(wanted);
    await map.start(moveShard('a', 'c'));
    await map.backfill();
    await map.rollBack();
    for (const { partitionKey, rowKey } of control.all) {
      control.apply([{ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' }]);
    }
    await map.create(await map.recovery.rebuiltRouting({ kind: 'range', first: 'a' }));
    const orders = shardedEntitiesOf(Order, map);
    assert.equal((await orders.queryAll().toArray({ max: 99 })).length, customers.length);
  });

  it('is refused where a program has a row under the key that tells the map of a table', async () => {
    const { tables, map } = await grown();
    const key = { partitionKey: reservedPartitionKeys.shardBinding, rowKey: 'map' };
    const properties = { EntityType: { type: 'String', value: 'Other' } } as const;
    await tables.a.write({ kind: 'insert', row: { ...key, properties } });
    await assert.rejects(map.create(listRouting({}, 'a')), {
      name: 'ShardTakenError',
      message: /that no shard map has written; delete it/,
    });
  });

  it('is not registered by a manager that refuses it', async () => {
    const shards = new MemoryShards();
    const manager = shards.manager();
    for (const name of shardNames) await manager.addShard(name);
    await entitiesOf(Order, shards.table('north')).insert({ customer: 500, id: 1, amount: 1 });
    const create = (from: number) =>
      manager.create({
        name: 'orders',
        table: 'orders',
        schema: orderSchema,
        routing: { kind: 'range', ranges: [{ shard: 'north' }, { from, shard: 'south' }] },
      });
    await assert.rejects(create(100), MisplacedRowsError);
    await entitiesOf(Order, shards.table('west')).insert({ customer: 7, id: 1, amount: 1 });
    await assert.rejects(create(501), /on 'north', but its rows are on 'west'/);
    assert.deepEqual(await manager.maps(), []);
    shards.restore('west', 'orders', new MemoryRows());
    const map = await create(501);
    assert.equal((await map.entities(Order).get({ customer: 500, id: 1 }))?.amount, 1);
  });
});
