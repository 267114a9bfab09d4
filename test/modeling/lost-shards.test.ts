import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import {
  moveShard,
  shardedEntitiesOf,
  splitRange,
} from '../../src/modeling/patterns/shard-map/index.js';
import type { ManagedMap } from '../../src/modeling/patterns/shard-map-manager/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { filledShards, Order, orderSchema, type MemoryShards } from './support/memory-shards.js';
import { MemoryTable } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Shards whose accounts are gone for good while an operation is under way.

interface Moving {
  readonly shards: MemoryShards;
  readonly id: string;
}

const open = (shards: MemoryShards): Promise<ManagedMap<'int'>> =>
  shards.manager().open('orders', orderSchema);

/** The amounts of the customers that have an order. */
async function amounts(shards: MemoryShards): Promise<ReadonlyMap<number, number>> {
  const orders = (await open(shards)).entities(Order);
  const found = new Map<number, number>();
  for (const customer of [7, 60, 99, 100, 500]) {
    const order = await orders.get({ customer, id: 1 });
    if (order !== undefined) found.set(customer, order.amount);
  }
  return found;
}

function empty(shards: MemoryShards, name: 'north' | 'south' | 'west'): void {
  const rows = shards.rows(name, 'orders');
  rows.apply(rows.all.map((row) => ({ kind: 'delete', key: row, etag: '*' })));
}

/** Programs change the order of a customer through the map. */
const change = async (shards: MemoryShards, customer: number, amount: number): Promise<unknown> =>
  (await open(shards)).entities(Order).update({ customer, id: 1 }, (o) => ({ ...o, amount }));

/** North moves to west: all is copied; then 7 is changed, and 60 handed over and changed. */
async function handingOver(): Promise<Moving> {
  const { shards, map } = await filledShards();
  const { id } = await map.operations.begin(moveShard('north', 'west'), { title: 'away' });
  await map.unguarded.backfill();
  await change(shards, 7, 2);
  let partitions = 0;
  const dying = shards.manager((port) =>
    wrappedMethods(port, async (method, send, given) => {
      const isOpening = JSON.stringify(given).includes('!shard:owner') && method === 'transact';
      const isToWest = port instanceof MemoryTable && isOpening && given.length > 0;
      if (isToWest && JSON.stringify(given).includes('insert') && (partitions += 1) > 2) {
        throw new Error('killed');
      }
      return send();
    }),
  );
  const mover = await dying.open('orders', orderSchema);
  await assert.rejects(mover.unguarded.cutOver({ concurrency: 1 }), /killed/);
  return { shards, id };
}

const detached = async ({ shards, id }: Moving, name: 'north' | 'west'): Promise<Moving> => {
  await shards.manager().detach(name);
  empty(shards, name);
  return { shards, id };
};

describe('an operation whose former shard is gone for good', () => {
  it('says what to do, and goes on with what was copied', async () => {
    const { shards, id } = await handingOver();
    await change(shards, 60, 3);
    await detached({ shards, id }, 'north');
    const { operations } = await open(shards);
    await assert.rejects(operations.run(id), /gone for good, give it up \(operations.giveUp\)/);
    await assert.rejects(operations.cancel(id), /gone for good, give it up \(operations.giveUp\)/);
    assert.deepEqual((await operations.giveUp(id, 'north')).lost, ['north']);
    // Was only copied: the copy counts, and the empty table is not copied over it, also by a
    // program that does not know yet that the shard is detached.
    const early = shardedEntitiesOf(Order, (await open(shards)).unguarded);
    await early.update({ customer: 99, id: 1 }, (order) => ({ ...order, amount: 4 }));
    const ended = await operations.run(id);
    assert.deepEqual([ended.status, ended.lost], ['completed', ['north']]);
    assert.deepEqual(
      await amounts(shards),
      new Map([
        [7, 2],
        [60, 3],
        [99, 4],
        [100, 1],
        [500, 1],
      ]),
    );
    const { unguarded } = await open(shards);
    assert.deepEqual((await unguarded.recovery.plan('map')).differences, []);
  });

  for (const mode of ['online', 'offline'] as const) {
    it(`goes on from where it was lost before anything was handed over (${mode})`, async () => {
      const { shards, map } = await filledShards();
      const { id } = await map.operations.begin(moveShard('north', 'west'), {
        title: 'away',
        mode,
      });
      if (mode === 'offline') await map.unguarded.close(mode);
      await map.unguarded.backfill();
      await detached({ shards, id }, 'north');
      const { operations } = await open(shards);
      await operations.giveUp(id, 'north');
      assert.equal((await operations.run(id)).status, 'completed');
      assert.equal((await amounts(shards)).size, 5);
    });
  }

  it('does so though it was being taken back', async () => {
    const { shards, id } = await handingOver();
    await change(shards, 60, 3);
    const dying = shards.manager((port) =>
      wrappedMethods(port, async (method, send, given) => {
        const isOpening = method === 'transact' && JSON.stringify(given).includes('!shard:owner');
        if (isOpening && port instanceof MemoryTable) throw new Error('killed');
        return send();
      }),
    );
    await assert.rejects((await dying.open('orders', orderSchema)).operations.cancel(id), /killed/);
    await detached({ shards, id }, 'north');
    const { operations } = await open(shards);
    await operations.giveUp(id, 'north');
    assert.equal((await operations.run(id)).status, 'completed');
    assert.equal((await amounts(shards)).get(60), 3);
    assert.equal((await amounts(shards)).size, 5);
  });

  it('is given up wherever that was killed before', async () => {
    const giveUp = async ({ shards, id }: Moving, doomed: Doomed): Promise<unknown> => {
      const map = await shards.manager((port) => doomed.wrap(port)).open('orders', orderSchema);
      await map.operations.giveUp(id, 'north');
      return map.operations.run(id);
    };
    await crashEverywhere<Moving>({
      prepare: async () => detached(await handingOver(), 'north'),
      run: giveUp,
      recover: async (world, doomed) => {
        const { operations } = await open(world.shards);
        if ((await operations.run(world.id).catch(() => undefined)) === undefined) {
          await giveUp(world, doomed);
        }
      },
      check: async ({ shards, id }) => {
        const operation = await shards.manager().operation(id);
        assert.deepEqual([operation?.status, operation?.lost], ['completed', ['north']]);
        assert.equal((await amounts(shards)).size, 5);
      },
    });
  });
});

describe('an operation whose new shard is gone for good', () => {
  for (const step of ['handing-over', 'handed-over'] as const) {
    for (const end of ['run', 'cancel'] as const) {
      it(`takes the rows of the former shard, ${step}, and then ${end}`, async () => {
        const { shards, id } = await handingOver();
        if (step === 'handed-over') await (await open(shards)).unguarded.cutOver();
        await detached({ shards, id }, 'west');
        const { operations } = await open(shards);
        await operations.giveUp(id, 'west');
        const { status } = await operations[end](id);
        assert.equal(status, end === 'run' ? 'completed' : 'cancelled');
        const map = await open(shards);
        await shards.manager().attach('west', [map], { keep: 'map', write: true });
        assert.equal((await amounts(shards)).size, 5);
        assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
      });
    }
  }
});

describe('a shard that is given up', () => {
  it('is one of an operation under way, and detached', async () => {
    const { shards, map } = await filledShards();
    const { operations } = map;
    const range = { from: map.textOf(50), before: map.textOf(100) };
    const { id } = await operations.begin(splitRange(range, 'west'), { title: 'split' });
    await assert.rejects(operations.giveUp(id, 'south'), /nothing from or to the shard 'south'/);
    await assert.rejects(operations.giveUp(id, 'north'), /'north' is online: detach it before/);
    await shards.manager().detach('north');
    const before = shards.control.all;
    // Its table knows the map: nothing is lost.
    assert.deepEqual((await operations.giveUp(id, 'north')).lost, []);
    assert.deepEqual(shards.control.all, before);
    await operations.cancel(id);
    await assert.rejects(operations.giveUp(id, 'north'), /is not under way on the map 'orders'/);
  });
});

describe('copies of a shard that is gone for good', () => {
  const rangeOf = (map: ManagedMap<'int'>, from: number, before: number) => ({
    from: map.textOf(from),
    before: map.textOf(before),
  });

  for (const isCopied of [true, false]) {
    it(`count above what a third shard has of earlier handovers (copied: ${isCopied})`, async () => {
      const { shards, map } = await filledShards();
      for (const to of ['south', 'north', 'south', 'north']) {
        await map.unguarded.apply(splitRange(rangeOf(map, 0, 50), to));
      }
      const { id } = await map.operations.begin(moveShard('north', 'west'), { title: 'away' });
      if (isCopied) await map.unguarded.backfill();
      await detached({ shards, id }, 'north');
      const { operations } = await open(shards);
      await operations.giveUp(id, 'north');
      await operations.run(id, { cleanUp: false });
      const again = await open(shards);
      assert.deepEqual((await again.unguarded.recovery.plan('map')).differences, []);
      const back = { title: 'back', target: 'replaced' } as const;
      const next = await again.operations.begin(splitRange(rangeOf(again, 0, 50), 'south'), back);
      await again.unguarded.backfill();
      await again.entities(Order).upsertReplace({ customer: 7, id: 1, amount: 99 });
      assert.equal((await again.operations.run(next.id)).status, 'completed');
      assert.equal((await amounts(shards)).get(7), 99);
    });
  }

  it('are kept by a program that copies while the shard is emptied', async () => {
    const { shards, map } = await filledShards();
    const { id } = await map.operations.begin(moveShard('north', 'west'), { title: 'away' });
    await map.unguarded.backfill();
    const late = shards.manager((port) =>
      wrappedMethods(port, async (method, send, given) => {
        const isClaim = method === 'write' && inspect(given, { depth: 4 }).includes('!shard:claim');
        if (isClaim) empty(shards, 'north');
        return send();
      }),
    );
    const { unguarded } = await late.open('orders', orderSchema);
    await assert.rejects(unguarded.backfill(), /'north' knows nothing of the map 'orders' any/);
    await shards.manager().detach('north');
    const { operations } = await open(shards);
    await operations.giveUp(id, 'north');
    assert.equal((await operations.run(id)).status, 'completed');
    assert.equal((await amounts(shards)).size, 5);
  });

  it('are given up only by a change of an operation', async () => {
    const { shards, map } = await filledShards();
    const { unguarded } = map;
    await unguarded.start(moveShard('north', 'west'));
    const before = await unguarded.state();
    empty(shards, 'north');
    await assert.rejects(unguarded.recovery.giveUp('north'), /no operation makes the change/);
    assert.deepEqual(await unguarded.state(), before);
  });
});
