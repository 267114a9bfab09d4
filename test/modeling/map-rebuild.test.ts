import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity, entitiesOf, int32, key } from '../../src/modeling/index.js';
import { moveShard, StaleMapError } from '../../src/modeling/patterns/shard-map/index.js';
import {
  ManagerError,
  MapSchemaError,
  sharded,
  ShardClosedError,
  type LostMap,
  type MapRebuild,
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { crashEverywhere } from './support/crash-points.js';
import type { MemoryRows } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import {
  filledShards,
  MemoryShards,
  Order,
  orderSchema,
  shardNames,
} from './support/memory-shards.js';

// Every row of the control table, lost or as it was in an earlier copy.

const lostOrders: LostMap<'int'> = {
  name: 'orders',
  table: 'orders',
  schema: orderSchema,
  routing: { kind: 'range', first: 'north' },
};

/** Orders on north and west; south is empty since its orders were moved. */
async function movedShards(): Promise<MemoryShards> {
  const { shards, map } = await filledShards();
  await map.unguarded.apply(moveShard('south', 'west'));
  await map.entities(Order).update({ customer: 500, id: 1 }, (o) => ({ ...o, amount: 5 }));
  return shards;
}

/** Loses the rows of the control table with these keys. */
function lose(shards: MemoryShards, isLost: (rowKey: string) => boolean): void {
  for (const row of shards.control.all) {
    const { partitionKey, rowKey } = row;
    if (!isLost(rowKey)) continue;
    shards.control.apply([{ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' }]);
  }
}

const shown = ({ shards, isUnregistered, routing, plan }: MapRebuild) => ({
  shards,
  isUnregistered,
  routing: routing?.kind,
  differences: plan?.differences.length,
});
const whole = { shards: [], isUnregistered: false, routing: undefined, differences: 0 };

/** Brings the map back, and every shard that is not online. */
async function bringBack(manager: ShardMapManager): Promise<void> {
  await manager.rebuild(lostOrders, { write: true });
  const map = await manager.open('orders', orderSchema);
  for (const { name, status } of await manager.shards()) {
    if (status === 'detached') await manager.attach(name, [map], { keep: 'shards', write: true });
  }
}

async function checkOrders(shards: MemoryShards): Promise<void> {
  const map = await shards.manager().open('orders', orderSchema);
  const amounts = [];
  for (const customer of [7, 60, 99, 100, 500]) {
    amounts.push((await map.entities(Order).get({ customer, id: 1 }))?.amount);
  }
  assert.deepEqual(amounts, [1, 1, 1, 1, 5]);
  assert.deepEqual([await map.shardOf(99), await map.shardOf(100)], ['north', 'west']);
  await map.entities(Order).merge({ customer: 100, id: 1 }, { amount: 1 }, { ifMatch: 'any' });
  assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
}

const losses: Readonly<Record<string, readonly [(rowKey: string) => boolean, object]>> = {
  'the row of a shard': [(key) => key === 'shard_west', { ...whole, shards: ['west'] }],
  'the registration of the map': [
    (key) => key === 'map_orders',
    { ...whole, isUnregistered: true },
  ],
  'the routing of the map': [
    (key) => key === 'orders',
    { ...whole, routing: 'range', differences: undefined },
  ],
  everything: [
    () => true,
    {
      shards: ['north', 'south', 'west'],
      isUnregistered: true,
      routing: 'range',
      differences: undefined,
    },
  ],
};

describe('a map that the control table has lost', () => {
  for (const [name, [isLost, expected]] of Object.entries(losses)) {
    it(`is made again: ${name}`, async () => {
      await crashEverywhere<MemoryShards>({
        prepare: async () => {
          const shards = await movedShards();
          lose(shards, isLost);
          const before = shards.control.all;
          const found = await shards.manager().rebuild(lostOrders);
          assert.deepEqual(shown(found), expected);
          assert.deepEqual(shards.control.all, before);
          return shards;
        },
        run: (shards, doomed) => bringBack(shards.manager((port) => doomed.wrap(port))),
        recover: (shards) => bringBack(shards.manager()),
        check: async (shards) => {
          assert.deepEqual(shown(await shards.manager().rebuild(lostOrders)), whole);
          await checkOrders(shards);
        },
      });
    });
  }

  it('has its shards detached until they are attached', async () => {
    const shards = await movedShards();
    lose(shards, () => true);
    const manager = shards.manager();
    await manager.rebuild(lostOrders, { write: true });
    const map = await manager.open('orders', orderSchema);
    await assert.rejects(map.entities(Order).get({ customer: 7, id: 1 }), ShardClosedError);
    await bringBack(manager);
    await checkOrders(shards);
  });

  it('has partitions that were closed while they moved where they were', async () => {
    const { shards, map } = await filledShards();
    await map.unguarded.start(moveShard('south', 'west'));
    await map.unguarded.close('read-only');
    await map.unguarded.backfill();
    lose(shards, () => true);
    await bringBack(shards.manager());
    const again = await shards.manager().open('orders', orderSchema);
    assert.deepEqual([await again.shardOf(100), await again.shardOf(500)], ['south', 'south']);
    await again.entities(Order).merge({ customer: 500, id: 1 }, { amount: 3 }, { ifMatch: 'any' });
  });

  it('has partitions that no program has opened where their rows are', async () => {
    const shards = new MemoryShards();
    const manager = shards.manager();
    for (const name of shardNames) await manager.addShard(name);
    for (const [name, customer] of [
      ['north', 7],
      ['south', 500],
    ] as const) {
      await entitiesOf(Order, shards.table(name)).insert({ customer, id: 1, amount: 1 });
    }
    const routing = {
      kind: 'range',
      ranges: [{ shard: 'north' }, { from: 100, shard: 'south' }],
    } as const;
    const map = await manager.create({
      name: 'orders',
      table: 'orders',
      schema: orderSchema,
      routing,
    });
    await map.unguarded.apply(moveShard('south', 'west'));
    lose(shards, () => true);
    const before = shards.control.all;
    const dry = await manager.rebuild(lostOrders);
    assert.deepEqual(shards.control.all, before);
    assert.deepEqual(dry.routing, (await manager.rebuild(lostOrders, { write: true })).routing);
    await bringBack(manager);
    const again = await shards.manager().open('orders', orderSchema);
    assert.deepEqual([await again.shardOf(7), await again.shardOf(500)], ['north', 'west']);
    for (const customer of [7, 500]) {
      assert.equal((await again.entities(Order).get({ customer, id: 1 }))?.amount, 1);
    }
  });

  it('tells which shard has a part of a partition whose first opening was killed', async () => {
    const shards = new MemoryShards();
    const manager = shards.manager();
    for (const name of shardNames) await manager.addShard(name);
    const south = entitiesOf(Order, shards.table('south'));
    for (let id = 1; id <= 150; id += 1) await south.insert({ customer: 500, id, amount: id });
    await manager.create({
      name: 'orders',
      table: 'orders',
      schema: orderSchema,
      routing: { kind: 'range', ranges: [{ shard: 'north' }, { from: 100, shard: 'south' }] },
    });
    let copies = 0;
    const dying = shards.manager((port) =>
      wrappedMethods(port, async (method, send, [writes]) => {
        const hasRows = method === 'transact' && Array.isArray(writes) && writes.length > 1;
        if (hasRows && (copies += 1) > 1) throw new Error('killed');
        return send();
      }),
    );
    const map = await dying.open('orders', orderSchema);
    // Copied in the handover alone: a backfill opens a partition before it copies it.
    await map.unguarded.start(moveShard('south', 'west'));
    await assert.rejects(map.unguarded.cutOver(), /killed/);
    const rowsOf = (shard: 'south' | 'west') =>
      shards.rows(shard, 'orders').all.filter(({ rowKey }) => !rowKey.startsWith('!'));
    assert.ok(rowsOf('west').length > 1 && rowsOf('west').length < rowsOf('south').length);
    lose(shards, () => true);
    await assert.rejects(manager.rebuild(lostOrders), {
      name: 'ModelError',
      message: /'000500' .* to bring it to 'west', which may have a part .* if 'south' has all/,
    });
    for (const { partitionKey, rowKey } of rowsOf('west')) {
      const key = { partitionKey, rowKey };
      shards.rows('west', 'orders').apply([{ kind: 'delete', key, etag: '*' }]);
    }
    await bringBack(manager);
    const again = await manager.open('orders', orderSchema);
    assert.equal(await again.shardOf(500), 'south');
    assert.equal((await again.entities(Order).get({ customer: 500, id: 150 }))?.amount, 150);
  });

  it('is refused by the dry run too where two shards have rows that nobody has opened', async () => {
    const shards = await movedShards();
    lose(shards, () => true);
    for (const name of ['north', 'south'] as const) {
      await entitiesOf(Order, shards.table(name)).insert({ customer: 8, id: 1, amount: 1 });
    }
    for (const write of [false, true]) {
      await assert.rejects(shards.manager().rebuild(lostOrders, { write }), {
        name: 'ModelError',
        message: /is on 'north' and on 'south'; bring it to one of them first/,
      });
      assert.deepEqual(shards.control.all, []);
    }
  });

  it('is not made without shards that have its tables, nor with another schema', async () => {
    const shards = await movedShards();
    const manager = shards.manager();
    assert.deepEqual(shown(await manager.rebuild(lostOrders, { write: true })), whole);
    const other = { ...lostOrders, schema: { ...orderSchema, version: 2 } };
    await assert.rejects(manager.rebuild(other), MapSchemaError);
    await assert.rejects(manager.rebuild({ ...lostOrders, table: 'others' }), ManagerError);
    lose(shards, () => true);
    await assert.rejects(manager.rebuild({ ...lostOrders, name: 'words' }), ManagerError);
    await assert.rejects(manager.rebuild({ ...lostOrders, table: 'others' }), ManagerError);
    assert.deepEqual(shards.control.all, []);
  });
});

const Wider = defineEntity({
  type: 'Order',
  properties: { customer: int32(), id: int32(), amount: int32(), discount: int32().default(0) },
  partitionKey: (p) => key`${p.customer.padded(6)}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const wider = { version: 2, sharded: [sharded(Wider, 'customer')] } as const;

describe('a row of the control table that is old', () => {
  /** Only the rows with these keys are as they were before. */
  function restore(shards: MemoryShards, before: MemoryRows, isOld: (rowKey: string) => boolean) {
    lose(shards, isOld);
    for (const { partitionKey, rowKey, properties } of before.all.filter((row) =>
      isOld(row.rowKey),
    ))
      shards.control.apply([{ kind: 'insert', row: { partitionKey, rowKey, properties } }]);
  }

  it('is told by a plan, and both sides can be kept: the routing', async () => {
    for (const keep of ['map', 'shards'] as const) {
      const { shards, map } = await filledShards();
      const before = shards.control.copy();
      await map.unguarded.apply(moveShard('south', 'west'));
      await map.unguarded.cleanUp();
      restore(shards, before, (rowKey) => rowKey === 'orders');
      const manager = shards.manager();
      const { plan } = await manager.rebuild(lostOrders);
      assert.equal(plan?.differences.length, 2);
      const old = await manager.open('orders', orderSchema);
      const { recovery } = old.unguarded;
      await recovery.recover(await recovery.plan(keep));
      assert.equal(await old.shardOf(500), keep === 'map' ? 'south' : 'west');
      assert.equal((await old.entities(Order).get({ customer: 500, id: 1 }))?.amount, 1);
      assert.deepEqual(shown(await manager.rebuild(lostOrders)), whole);
      await assert.rejects(recovery.recover({ ...plan, keep }), StaleMapError);
    }
  });

  it('refuses newer programs until it is upgraded again: the registration', async () => {
    const { shards } = await filledShards();
    const before = shards.control.copy();
    await shards.manager().upgrade('orders', wider);
    restore(shards, before, (rowKey) => rowKey === 'map_orders');
    const manager = shards.manager();
    await assert.rejects(manager.open('orders', wider), MapSchemaError);
    await assert.rejects(manager.rebuild({ ...lostOrders, schema: wider }), MapSchemaError);
    const map = await manager.upgrade('orders', wider);
    assert.equal((await map.entities(Wider).get({ customer: 7, id: 1 }))?.discount, 0);
  });

  it('is what programs follow until it is set again: the status of a shard', async () => {
    const { shards } = await filledShards();
    const before = shards.control.copy();
    await shards.manager().setShard('south', { status: 'offline', region: 'eu' });
    restore(shards, before, (rowKey) => rowKey === 'shard_south');
    const manager = shards.manager();
    assert.deepEqual(shown(await manager.rebuild(lostOrders)), whole);
    await manager.detach('south');
    const map = await manager.open('orders', orderSchema);
    await manager.attach('south', [map], { keep: 'map', write: true });
    await map.entities(Order).get({ customer: 500, id: 1 });
  });
});
