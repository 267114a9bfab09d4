import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moveShard, splitRange } from '../../src/modeling/patterns/shard-map/index.js';
import { backedUpShards, hourMs, intervals } from './support/backed-up-shards.js';
import {
  filledShards,
  Order,
  orderSchema,
  type MemoryShards,
  type ShardName,
} from './support/memory-shards.js';

// A shard whose rows are gone while the row is left that tells its map.

function emptyButForBinding(shards: MemoryShards, name: ShardName = 'south'): void {
  const rows = shards.rows(name, 'orders');
  const lost = rows.all.filter(({ partitionKey }) => partitionKey !== '!shard-binding');
  rows.apply(lost.map((row) => ({ kind: 'delete', key: row, etag: '*' })));
}

const lost = {
  name: 'ModelError',
  message: /the table orders of the shard 'south' has lost the rows of the map 'orders'/,
};

describe('a shard that has lost its rows, but for its binding', () => {
  it('is told by a plan of recovery and by attach, and comes back when it is taken as it is', async () => {
    const { shards, map } = await filledShards();
    const { recovery } = map.unguarded;
    assert.deepEqual((await recovery.plan('map')).emptied, []);
    emptyButForBinding(shards);
    assert.deepEqual((await recovery.plan('map')).emptied, ['south']);
    assert.deepEqual((await recovery.plan('map', { only: 'north' })).emptied, []);
    const manager = shards.manager();
    await manager.detach('south');
    const report = await manager.attach('south', [map], { keep: 'map' });
    assert.deepEqual(report.unbound, ['orders']);
    const write = { keep: 'map', write: true } as const;
    await assert.rejects(manager.attach('south', [map], write), /knows nothing of it/);
    await manager.attach('south', [map], { ...write, unbound: 'taken' });
    assert.deepEqual((await recovery.plan('map')).emptied, []);
    await map.entities(Order).insert({ customer: 500, id: 1, amount: 9 });
    emptyButForBinding(shards);
    assert.deepEqual((await recovery.plan('map')).emptied, ['south']);
  });

  it('is left by no change, and an operation under way stops', async () => {
    const { shards, map } = await filledShards();
    const { operations, unguarded } = map;
    const away = moveShard('south', 'west');
    const { id } = await operations.begin(away, { title: 'away' });
    await unguarded.backfill();
    const whole = shards.rows('south', 'orders').copy();
    emptyButForBinding(shards);
    await assert.rejects(operations.run(id), lost);
    shards.restore('south', 'orders', whole);
    const again = await shards.manager().open('orders', orderSchema);
    assert.equal((await again.operations.run(id)).status, 'completed');
    emptyButForBinding(shards, 'north');
    await assert.rejects(again.operations.begin(moveShard('north', 'west'), { title: 'all' }), {
      message: /'north' has lost the rows of .*rebuildLocal of recovery/,
    });
    assert.equal((await shards.manager().operations()).length, 1);
  });

  for (const step of ['handing-over', 'handed-over'] as const) {
    it(`is found where an operation has brought partitions to it, ${step}`, async () => {
      const { shards, map } = await filledShards();
      const { operations, unguarded } = map;
      const { id } = await operations.begin(moveShard('south', 'west'), { title: 'away' });
      await unguarded.cutOver();
      if (step === 'handing-over') {
        const row = shards.control.all.find(({ properties }) => {
          return properties['Phase']?.value === 'handed-over';
        });
        assert.ok(row !== undefined);
        const properties = { ...row.properties, Phase: { type: 'String', value: step } } as const;
        shards.control.apply([{ kind: 'merge', row: { ...row, properties }, etag: '*' }]);
      }
      emptyButForBinding(shards, 'west');
      const other = await shards.manager().open('orders', orderSchema);
      await assert.rejects(other.operations.run(id), /'west' has lost the rows of the map/);
      await shards.manager().detach('west');
      assert.deepEqual((await other.operations.giveUp(id, 'west')).lost, ['west']);
      assert.equal((await other.operations.run(id)).status, 'completed');
      await shards.manager().attach('west', [other], { keep: 'map', write: true });
      const order = await other.entities(Order).get({ customer: 500, id: 1 });
      assert.equal(order?.amount, 1);
    });
  }

  it('is backed up no more, and its backups stay', async () => {
    const { shards, store, clock, manager } = await backedUpShards();
    const schedule = { to: store, intervals, keep: 1 };
    assert.deepEqual((await manager().backups.makeDue(schedule)).failed, []);
    const files = [...store.files.keys()].filter((name) => name.startsWith('south/'));
    emptyButForBinding(shards);
    clock.advanceMicros(24 * hourMs * 1000);
    const { failed } = await manager().backups.makeDue(schedule);
    assert.deepEqual(
      failed.map(({ shard }) => shard),
      ['south'],
    );
    assert.deepEqual(
      [...store.files.keys()].filter((name) => name.startsWith('south/')),
      files,
    );
  });

  it('takes no partition of a program that writes there', async () => {
    const { shards, map } = await filledShards();
    const later = await shards
      .manager(undefined, { refreshMs: 3_600_000 })
      .open('orders', orderSchema);
    await later.entities(Order).insert({ customer: 300, id: 1, amount: 1 });
    emptyButForBinding(shards);
    const rows = shards.rows('south', 'orders').all;
    const insert = (program: typeof map, customer: number) =>
      program.entities(Order).insert({ customer, id: 2, amount: 1 });
    for (const customer of [600, 100]) await assert.rejects(insert(map, customer), lost);
    // That shard was looked at lately; its witness is looked at in any case.
    await assert.rejects(insert(later, 100), lost);
    const content = shards.rows('south', 'orders').all.filter(({ rowKey }) => rowKey === '0002');
    assert.deepEqual([content, rows.length], [[], 1]);
    // So is one that knows nothing of the map at all.
    shards.rows('south', 'orders').apply(rows.map((key) => ({ kind: 'delete', key, etag: '*' })));
    await assert.rejects(insert(map, 600), /'south' knows nothing of the map 'orders' any more/);
  });
});

describe('a shard whose partitions have moved away', () => {
  it('has lost nothing, also when others have come and the first ones come back', async () => {
    const { shards, map } = await filledShards();
    const { unguarded } = map;
    const emptied = async () => (await unguarded.recovery.plan('map')).emptied;
    const orders = map.entities(Order);
    const range = (from: number, before: number) => ({
      from: map.textOf(from),
      before: map.textOf(before),
    });
    for (const to of ['west', 'south', 'west', 'south']) {
      await unguarded.apply(splitRange(range(100, 300), to));
      assert.deepEqual(await emptied(), []);
      await unguarded.cleanUp();
      assert.deepEqual(await emptied(), []);
    }
    await unguarded.apply(splitRange(range(100, 1000), 'west'));
    await unguarded.cleanUp();
    assert.deepEqual(await emptied(), []);
    await orders.insert({ customer: 2000, id: 1, amount: 1 });
    assert.deepEqual(await emptied(), []);
    emptyButForBinding(shards);
    assert.deepEqual(await emptied(), ['south']);
  });

  it('gets nothing by a change that begins when it has lost its rows', async () => {
    const { shards, map } = await filledShards();
    emptyButForBinding(shards);
    const into = moveShard('north', 'south');
    await assert.rejects(map.operations.begin(into, { title: 'into' }), lost);
    await assert.rejects(map.unguarded.start(into), lost);
    assert.equal((await map.unguarded.state()).phase, 'settled');
  });

  it('is told by a partition that stays, when the one that told it has moved', async () => {
    const { shards, map } = await filledShards();
    const { operations, unguarded } = map;
    const range = { from: map.textOf(100), before: map.textOf(300) };
    await unguarded.apply(splitRange(range, 'west'));
    await unguarded.cleanUp();
    emptyButForBinding(shards);
    assert.deepEqual((await unguarded.recovery.plan('map')).emptied, ['south']);
    await assert.rejects(operations.begin(moveShard('south', 'west'), { title: 'all' }), lost);
  });
});
