import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import { RequestError, type TableGateway } from '../../src/modeling/index.js';
import { MapCopyError, moveShard } from '../../src/modeling/patterns/shard-map/index.js';
import { crashEverywhere } from './support/crash-points.js';
import { filledShards, Order, orderSchema, type MemoryShards } from './support/memory-shards.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

// Copies of the control table, which programs read while it cannot be reached.

/** A table of another region, and whether it can be reached. */
function region(rows: MemoryRows = new MemoryRows()) {
  const state = { isAway: false, requests: 0 };
  const table: TableGateway = new MemoryTable(rows, {
    table: 'control',
    before: async () => {
      state.requests += 1;
      const lost = { status: 503, code: 'ServerBusy' };
      if (state.isAway) throw new RequestError('the region is away', lost);
    },
  });
  return { rows, table, state };
}

async function world() {
  const { shards } = await filledShards();
  const control = region(shards.control);
  const copy = region();
  const settings = { control: control.table, controlCopies: [copy.table], refreshMs: 1000 };
  const clock = manualClock(0);
  const manager = shards.manager((port) => port, { ...settings, clock });
  await manager.publish();
  return { shards, control, copy, settings, clock, manager };
}

const one = { customer: 500, id: 1 };

describe('a program that cannot reach the control table', () => {
  it('opens its map and reads and writes by a copy, also one that starts now', async () => {
    const { control, manager, shards, settings, clock } = await world();
    control.state.isAway = true;
    const late = shards.manager((port) => port, { ...settings, clock: manualClock(0) });
    for (const each of [manager, late]) {
      const map = await each.open('orders', orderSchema);
      const orders = map.entities(Order);
      await orders.update(one, (order) => ({ ...order, amount: order.amount + 1 }));
      assert.equal(await map.shardOf(500), 'south');
      assert.equal(await orders.get({ customer: 123, id: 1 }), undefined);
    }
    assert.equal((await shardsRead(shards, settings, clock))?.amount, 3);
  });

  it('asks it again once each time that a map is kept, and goes back to it', async () => {
    const { control, manager, clock } = await world();
    const map = await manager.open('orders', orderSchema);
    const orders = map.entities(Order);
    await orders.get(one);
    control.state.isAway = true;
    clock.advanceMicros(1_001_000);
    const asked = control.state.requests;
    for (let turn = 0; turn < 5; turn += 1) await orders.get(one);
    // Once for the map, and once for what may be done with shards.
    assert.equal(control.state.requests - asked, 2);
    control.state.isAway = false;
    clock.advanceMicros(1_001_000);
    await manager.setShard('south', { status: 'offline' });
    await assert.rejects(orders.get(one), /offline/);
  });

  it('decides nothing by the copy: what was never opened waits for the control table', async () => {
    const { control, manager, shards } = await world();
    const map = await manager.open('orders', orderSchema);
    control.state.isAway = true;
    const orders = map.entities(Order);
    await assert.rejects(orders.insert({ customer: 400, id: 1, amount: 1 }), /region is away/);
    await assert.rejects(map.operations.begin(moveShard('south', 'west'), { title: 'no' }));
    control.state.isAway = false;
    await orders.insert({ customer: 400, id: 1, amount: 1 });
    const { rows, owners } = await shards.content();
    assert.deepEqual(rows.get('400:1'), ['south']);
    assert.deepEqual(owners.get('000400'), ['south']);
  });

  it('takes what a copy lacks for unknown, and not for absent', async () => {
    const { control, shards, settings, clock } = await world();
    const empty = { ...settings, controlCopies: [region().table], clock };
    const manager = shards.manager((port) => port, empty);
    const map = await manager.open('orders', orderSchema);
    // The map alone is there, as after a change of it, and no shard.
    await map.unguarded.publish();
    control.state.isAway = true;
    clock.advanceMicros(1_001_000);
    await assert.rejects(map.entities(Order).get(one), /region is away/);
    await assert.rejects(manager.open('orders', orderSchema), /region is away/);
  });

  it('throws as without copies when none of them can be reached, or none has the map', async () => {
    const { control, copy, manager } = await world();
    const map = await manager.open('orders', orderSchema);
    control.state.isAway = true;
    copy.state.isAway = true;
    await assert.rejects(map.entities(Order).get(one), /region is away/);
    copy.state.isAway = false;
    for (const { partitionKey, rowKey } of copy.rows.all) {
      if (partitionKey !== '!shard-map') continue;
      await copy.table.write({ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' });
    }
    await assert.rejects(map.shardOf(500), /region is away/);
  });
});

async function shardsRead(
  shards: MemoryShards,
  settings: object,
  clock: ReturnType<typeof manualClock>,
) {
  const map = await shards
    .manager((port) => port, { ...settings, clock })
    .open('orders', orderSchema);
  return map.entities(Order).get(one);
}

describe('a copy of the control table', () => {
  it('follows each change of the map, and keeps rows where its readers look for them', async () => {
    const { control, copy, manager, shards } = await world();
    const map = await manager.open('orders', orderSchema);
    copy.state.isAway = true;
    await map.unguarded.apply(moveShard('south', 'west'));
    // Readers of the copy still look on the former shard.
    await assert.rejects(map.unguarded.cleanUp(), MapCopyError);
    const { rows } = await shards.content();
    assert.deepEqual(rows.get('500:1'), ['south', 'west']);
    copy.state.isAway = false;
    await map.unguarded.cleanUp();
    control.state.isAway = true;
    const late = await manager.open('orders', orderSchema);
    assert.equal(await late.shardOf(500), 'west');
    assert.equal((await late.entities(Order).get(one))?.amount, 1);
  });

  it('is the control table after a publication that was killed and called again', async () => {
    await crashEverywhere<Awaited<ReturnType<typeof world>>>({
      prepare: async () => {
        const made = await world();
        await made.manager.addShard('west', { region: 'eu' });
        await made.manager.setShard('south', { status: 'read-only' });
        await made.manager.setShard('south', { status: 'online' });
        const map = await made.manager.open('orders', orderSchema);
        const { id } = await map.operations.begin(moveShard('north', 'west'), { title: 'it' });
        await map.operations.run(id);
        await made.manager.drop('orders', { rows: 'kept' });
        return made;
      },
      run: ({ shards, settings }, doomed) =>
        shards
          .manager((port) => port, {
            ...settings,
            control: doomed.wrap(settings.control),
            controlCopies: settings.controlCopies.map((each) => doomed.wrap(each)),
          })
          .publish(),
      recover: ({ manager }) => manager.publish(),
      check: async ({ shards, copy }) => {
        const of = (rows: MemoryRows) =>
          rows.all
            .filter(({ partitionKey }) => partitionKey !== '!shard-progress')
            .map(({ partitionKey, rowKey, properties }) => ({ partitionKey, rowKey, properties }));
        assert.deepEqual(of(copy.rows), of(shards.control));
      },
    });
  });
});
