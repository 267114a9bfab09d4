import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entitiesOf, type StoredRow } from '../../src/modeling/index.js';
import {
  moveShard,
  ShardTakenError,
  UnknownShardError,
} from '../../src/modeling/patterns/shard-map/index.js';
import {
  ManagerError,
  type ManagedMap,
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import {
  filledShards,
  Order,
  orderSchema,
  type MemoryShards,
  type ShardName,
} from './support/memory-shards.js';
import { manualTime } from './support/manual-timers.js';
import { MemoryRows } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Shards that were restored from earlier copies, brought back one after the other.

interface Damaged {
  readonly shards: MemoryShards;
  readonly manager: ShardMapManager;
  readonly map: ManagedMap<'int'>;
}

/** North and south were restored to when they had all orders, which are on west since, changed. */
async function bothRestored(): Promise<Damaged> {
  const { shards, map } = await filledShards();
  const manager = shards.manager();
  const copies = (['north', 'south'] as const).map(
    (name) => [name, shards.rows(name, 'orders').copy()] as const,
  );
  for (const [name] of copies) await map.unguarded.apply(moveShard(name, 'west'));
  for (const customer of [7, 500]) {
    await map.entities(Order).update({ customer, id: 1 }, (o) => ({ ...o, amount: 5 }));
  }
  await map.unguarded.cleanUp();
  for (const [name, copy] of copies) {
    await manager.detach(name);
    shards.restore(name, 'orders', copy);
  }
  // A program that has the restored tables.
  const after = shards.manager();
  return { shards, manager: after, map: await after.open('orders', orderSchema) };
}

const disputed = async (map: ManagedMap<'int'>): Promise<readonly string[]> =>
  (await map.unguarded.recovery.plan('map')).differences.map(
    ({ partitionKey, shard }) => `${shard} ${Number(partitionKey)}`,
  );

const rowsOf = (shards: MemoryShards, name: ShardName): readonly StoredRow[] =>
  shards.rows(name, 'orders').all;

describe('the connection of a key', () => {
  const partition = (customer: number) => ({ partitionKey: String(customer).padStart(6, '0') });
  const connected = async (map: ManagedMap<'int'>, customer: number) => {
    const plain = await map.connection(customer);
    const validated = await map.connection(customer, { validate: partition(customer) });
    return [plain.shard, validated.shard];
  };

  it('is that of its shard, with and without validation', async () => {
    const { map } = await filledShards();
    assert.deepEqual(await connected(map, 99), ['north', 'north']);
    assert.deepEqual(await connected(map, 100), ['south', 'south']);
  });

  it('follows a program that moved it, and with validation is refused by an old map', async () => {
    const { shards, map } = await filledShards();
    const open = (refreshMs: number) =>
      shards.manager(undefined, { refreshMs }).open('orders', orderSchema);
    const [fresh, old] = [await open(0), await open(60_000)];
    assert.deepEqual(await connected(old, 500), ['south', 'south']);
    await map.unguarded.apply(moveShard('south', 'west'));
    assert.deepEqual(await connected(fresh, 500), ['west', 'west']);
    assert.equal((await old.connection(500)).shard, 'south');
    await assert.rejects(old.connection(500, { validate: partition(500) }), {
      name: 'ManagerError',
      message: /'south' does not have '000500'/,
    });
  });

  it('is refused with validation where the shard lost it or it was never written', async () => {
    const { shards } = await filledShards();
    shards.restore('south', 'orders', new MemoryRows());
    const map = await shards.manager().open('orders', orderSchema);
    for (const [customer, shard] of [[500, 'south'] as const, [8, 'north'] as const]) {
      assert.equal((await map.connection(customer)).shard, shard);
      const validated = map.connection(customer, { validate: partition(customer) });
      await assert.rejects(validated, new RegExp(`'${shard}' does not have`));
    }
  });
});

describe('a shard that is attached', () => {
  it('comes back by another call wherever the first one was killed', async () => {
    const attach = async ({ shards }: Damaged, doomed: Doomed): Promise<unknown> => {
      const manager = shards.manager((port) => doomed.wrap(port));
      const map = await manager.open('orders', orderSchema);
      return manager.attach('south', [map], { keep: 'map', write: true });
    };
    await crashEverywhere<Damaged>({
      prepare: bothRestored,
      run: attach,
      recover: attach,
      check: async ({ manager, map }) => {
        assert.deepEqual(await disputed(map), ['north 7', 'north 60', 'north 99']);
        assert.equal((await manager.describe('south'))?.status, 'online');
        assert.equal((await map.entities(Order).get({ customer: 500, id: 1 }))?.amount, 5);
      },
    });
  });

  it('is compared as this manager has it, and not as the maps of another one', async () => {
    const { shards, map } = await filledShards();
    const manager = shards.manager();
    const copy = shards.rows('south', 'orders').copy();
    await map.unguarded.apply(moveShard('south', 'west'));
    await map.unguarded.cleanUp();
    await manager.detach('south');
    // The map has the tables of before.
    shards.restore('south', 'orders', copy);
    await shards.manager().attach('south', [map], { keep: 'map', write: true });
    const after = await shards.manager().open('orders', orderSchema);
    assert.deepEqual(await disputed(after), []);
  });

  it('stays detached when it is detached again and restored meanwhile', async () => {
    const { shards, map } = await filledShards();
    const manager = shards.manager();
    await manager.detach('south');
    let isDetached = false;
    const slow = shards.manager((port) =>
      wrappedMethods(port, async (name, send) => {
        if (name === 'transact' || name === 'page') {
          if (!isDetached) await manager.detach('south');
          isDetached = true;
        }
        return send();
      }),
    );
    const attached = slow.attach('south', [map], { keep: 'map', write: true });
    await assert.rejects(attached, /'south' was changed while it was attached/);
    assert.equal((await manager.shards())[1]?.status, 'detached');
    await manager.attach('south', [map], { keep: 'map', write: true });
    assert.equal((await manager.shards())[1]?.status, 'online');
  });
});

describe('a shard that is attached while another one is damaged as well', () => {
  for (const keep of ['map', 'shards'] as const) {
    it(`decides its own differences alone, keeping the ${keep}`, async () => {
      const { shards, manager, map } = await bothRestored();
      const north = rowsOf(shards, 'north');
      const { plans } = await manager.attach('south', [map], { keep, write: true });
      assert.deepEqual(
        plans.flatMap(({ plan }) => plan.differences.map(({ partitionKey }) => partitionKey)),
        ['000100', '000500'],
      );
      assert.deepEqual(rowsOf(shards, 'north'), north);
      assert.deepEqual(await disputed(map), ['north 7', 'north 60', 'north 99']);
      const found = await map.unguarded.shardOf('000500');
      assert.equal(found, keep === 'map' ? 'west' : 'south');
      const { amount } = (await map.entities(Order).get({ customer: 500, id: 1 })) ?? {};
      assert.equal(amount, keep === 'map' ? 5 : 1);
      // The other one is decided by itself, and otherwise.
      await manager.attach('north', [map], { keep: 'map', write: true });
      assert.deepEqual(await disputed(map), []);
      assert.equal((await map.entities(Order).get({ customer: 7, id: 1 }))?.amount, 5);
    });
  }

  it('takes the rows of the shard that owns a partition, not those of one that never opened it', async () => {
    const { shards, map } = await filledShards();
    const control = shards.control.copy();
    await map.unguarded.apply(moveShard('north', 'west'));
    await map.entities(Order).update({ customer: 7, id: 1 }, (o) => ({ ...o, amount: 5 }));
    await map.unguarded.cleanUp();
    // Of an earlier backup without the rows of the map.
    const row = { customer: 7, id: 1, amount: 99 };
    await entitiesOf(Order, shards.table('north')).insert(row);
    shards.control = control;
    const restored = await shards.manager().open('orders', orderSchema);
    const { recovery } = restored.unguarded;
    await recovery.recover(await recovery.plan('map'));
    assert.equal(await restored.shardOf(7), 'north');
    assert.equal((await restored.entities(Order).get({ customer: 7, id: 1 }))?.amount, 5);
  });

  it('is refused when it is not registered, or nobody knows it', async () => {
    const { manager, map } = await bothRestored();
    await assert.rejects(manager.attach('east', [map], { keep: 'map' }), ManagerError);
    const { recovery } = map.unguarded;
    await assert.rejects(recovery.plan('map', { only: 'east' }), UnknownShardError);
  });
});

/** A program that finds shards in these accounts. */
function moved(shards: MemoryShards, accounts: Partial<Record<ShardName, string>>) {
  const manager = shards.manager((port) => port, {}, accounts);
  return { manager, open: () => manager.open('orders', orderSchema) };
}

describe('a shard whose account has another name', () => {
  it('keeps its name, and is attached from there', async () => {
    const { shards, map } = await filledShards();
    await shards.manager().detach('south');
    shards.restore('africa', 'orders', shards.rows('south', 'orders').copy());
    shards.restore('south', 'orders', new MemoryRows());
    const { manager, open } = moved(shards, { south: 'africa' });
    const there = await open();
    const dry = await manager.attach('south', [there], { keep: 'map' });
    assert.deepEqual([dry.unbound, dry.plans[0]?.plan.differences], [[], []]);
    await manager.attach('south', [there], { keep: 'map', write: true });
    assert.equal((await there.entities(Order).get({ customer: 500, id: 1 }))?.amount, 1);
    await there.entities(Order).insert({ customer: 501, id: 1, amount: 1 });
    assert.equal(await map.shardOf(501), 'south');
  });

  it('is refused in the account of another shard', async () => {
    const { shards } = await filledShards();
    await shards.manager().detach('south');
    const before = [...rowsOf(shards, 'north'), ...rowsOf(shards, 'south')];
    for (const accounts of [{ south: 'north', north: 'south' }, { south: 'north' }]) {
      const { manager, open } = moved(shards, accounts);
      const map = await open();
      const options = { keep: 'map', write: true } as const;
      await assert.rejects(manager.attach('south', [map], options), {
        name: 'ShardTakenError',
        message: /give its account under/,
      });
      const { recovery } = map.unguarded;
      await assert.rejects(recovery.plan('map'), ShardTakenError);
      await assert.rejects(recovery.rebuildLocal('south', { write: true }), ShardTakenError);
      await assert.rejects(recovery.rebuiltRouting({ kind: 'list' }), ShardTakenError);
      await assert.rejects(map.unguarded.cleanUp(), ShardTakenError);
      await assert.rejects(map.unguarded.start(moveShard('north', 'south')), ShardTakenError);
      const lost = { name: 'orders', table: 'orders', schema: orderSchema } as const;
      const rebuilt = manager.rebuild({ ...lost, routing: { kind: 'list' } });
      await assert.rejects(rebuilt, ShardTakenError);
    }
    // Nor is it dropped or registered under another name.
    const { manager } = moved(shards, { west: 'north' });
    await assert.rejects(manager.dropShard('west', { rows: 'kept' }), ShardTakenError);
    await shards.manager().dropShard('west');
    await assert.rejects(manager.addShard('west'), ShardTakenError);
    assert.deepEqual([...rowsOf(shards, 'north'), ...rowsOf(shards, 'south')], before);
    assert.equal((await shards.manager().shards())[1]?.status, 'detached');
  });

  it('does not come back online, nor is added, where maps lead to it and it knows nothing', async () => {
    const { shards } = await filledShards();
    const { manager } = moved(shards, { south: 'empty' });
    await manager.setShard('south', { status: 'offline' });
    await assert.rejects(manager.setShard('south', { status: 'online' }), {
      name: 'ManagerError',
      message: /knows nothing of it: give the right account, or detach the shard, and attach it/,
    });
    assert.equal((await manager.shards())[1]?.status, 'offline');
    assert.deepEqual(shards.rows('empty', 'orders').all, []);
    // The control table has lost the row of the shard.
    const key = { partitionKey: '!shard-manager', rowKey: 'shard_south' };
    shards.control.apply([{ kind: 'delete', key, etag: '*' }]);
    await assert.rejects(shards.manager().addShard('south'), {
      name: 'ManagerError',
      message: /leads to the shard 'south'; its row was lost: rebuild the map/,
    });
    assert.equal((await manager.shards()).length, 2);
  });

  it('is refused in an account without its maps, unless the caller asks for that', async () => {
    const { shards } = await filledShards();
    await shards.manager().detach('south');
    const { manager, open } = moved(shards, { south: 'empty' });
    const map = await open();
    const dry = await manager.attach('south', [map], { keep: 'map' });
    assert.deepEqual([dry.unbound, dry.isOnline], [['orders'], false]);
    const write = { keep: 'map', write: true } as const;
    await assert.rejects(manager.attach('south', [map], write), {
      name: 'ManagerError',
      message: /knows nothing of it/,
    });
    assert.deepEqual(shards.rows('empty', 'orders').all, []);
    assert.equal((await manager.shards())[1]?.status, 'detached');
    const taken = await manager.attach('south', [map], { ...write, unbound: 'taken' });
    assert.equal(taken.isOnline, true);
    const one = { customer: 500, id: 1 };
    assert.equal(await map.entities(Order).get(one), undefined);
    await map.entities(Order).insert({ ...one, amount: 3 });
    assert.deepEqual((await manager.attach('south', [map], { keep: 'map' })).unbound, []);
  });
});

describe('a shard that is detached', () => {
  it('is so for all programs with that refresh time when the call resolves', async () => {
    const { shards } = await filledShards();
    const time = manualTime();
    const options = { refreshMs: 5000, clock: time.clock };
    const writer = await shards.manager(undefined, options).open('orders', orderSchema);
    const orders = writer.entities(Order);
    await orders.update({ customer: 500, id: 1 }, (order) => ({ ...order, amount: 2 }));
    const manager = shards.manager(undefined, { ...options, timers: time });
    for (const call of [
      () => manager.detach('south'),
      // As after a kill.
      () => manager.detach('south'),
      () => manager.setShard('south', { status: 'detached' }),
    ]) {
      let isOver = false;
      const detached = call().then(() => (isOver = true));
      for (let turns = 0; turns < 1000 && time.waiting.length === 0; turns += 1) {
        await new Promise(setImmediate);
      }
      await time.pass(4999);
      assert.deepEqual([isOver, time.waiting], [false, [1]]);
      await time.pass(1);
      await detached;
      await assert.rejects(orders.deleteIfExists({ customer: 500, id: 1 }), /'south' is detached/);
    }
  });
});
