import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { deferred } from '../../src/base/async/deferred.js';
import {
  moveShard,
  shardedEntitiesOf,
  splitRange,
} from '../../src/modeling/patterns/shard-map/index.js';
import { RequestError } from '../../src/modeling/index.js';
import type {
  ManagedMap,
  ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { halfRestored, restoreRow } from './support/emptied-shard.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import {
  filledShards,
  Order,
  orderSchema,
  type MemoryShards,
  type ShardName,
} from './support/memory-shards.js';
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

  for (const kept of ['tables', 'no tables'] as const) {
    it(`is given up wherever that was killed before (${kept})`, () => killedGivingUp(kept));
  }
});

async function killedGivingUp(kept: 'tables' | 'no tables'): Promise<void> {
  const giveUp = async ({ shards, id }: Moving, doomed: Doomed): Promise<unknown> => {
    const map = await shards.manager((port) => doomed.wrap(port)).open('orders', orderSchema);
    await map.operations.giveUp(id, 'north');
    return map.operations.run(id);
  };
  await crashEverywhere<Moving>({
    prepare: async () => {
      const moving = await detached(await handingOver(), 'north');
      if (kept === 'no tables') moving.shards.exchange('north');
      return moving;
    },
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
}

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

/**
 * A program copies customer 99 from north by a map that it has read before. While it waits for the
 * rows, another one gives north up, until any of its requests; the former goes on then, and the
 * latter after it.
 */
async function givenUpMeanwhile(
  step: 'copying' | 'handing-over',
  kept: 'tables' | 'no tables',
): Promise<void> {
  for (let until = 0, hasEnded = false; !hasEnded; until += 1) {
    const { shards, map } = await filledShards();
    const { id } = await map.operations.begin(moveShard('north', 'west'), { title: 'away' });
    await map.unguarded.backfill();
    let isReading = false;
    const reading = deferred();
    const goesOn = deferred();
    const late = await shards
      .manager((port) =>
        wrappedMethods(port, async (method, send, given) => {
          const isContent = method === 'page' && inspect(given).includes("partitionKey: '000099'");
          if (isReading || !isContent) return send();
          isReading = true;
          reading.resolve();
          await goesOn.promise;
          return send();
        }),
      )
      .open('orders', orderSchema);
    const copied =
      step === 'copying'
        ? late.unguarded.backfill({ concurrency: 1 })
        : late.unguarded.cutOver({ concurrency: 1 });
    const ended = copied.then(
      () => undefined,
      () => undefined,
    );
    await reading.promise;
    await shards.manager().detach('north');
    if (kept === 'tables') empty(shards, 'north');
    else shards.exchange('north');
    let requests = 0;
    let paused: Promise<unknown> | undefined;
    const giving = await shards
      .manager((port) =>
        wrappedMethods(port, async (_method, send) => {
          requests += 1;
          if (requests > until) {
            goesOn.resolve();
            await (paused ??= ended);
          }
          return send();
        }),
      )
      .open('orders', orderSchema);
    await giving.operations.giveUp(id, 'north');
    hasEnded = paused === undefined;
    goesOn.resolve();
    await ended;
    const { operations } = await open(shards);
    assert.equal((await operations.run(id)).status, 'completed', `until request ${until}`);
    assert.equal((await amounts(shards)).size, 5, `until request ${until}`);
  }
}

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

/** A manager whose requests to the table of a shard fail. */
function withoutShard(shards: MemoryShards, name: ShardName): ShardMapManager {
  const away = shards.rows(name, 'orders');
  return shards.manager((port) =>
    wrappedMethods(port, async (_method, send) => {
      if (!(port instanceof MemoryTable) || port.rows !== away) return send();
      throw new RequestError('nobody is there', { status: 0, code: 'ECONNREFUSED' });
    }),
  );
}

describe('a shard that is given up while it is restored', () => {
  it('leaves what the restore brings back, when that began meanwhile', async () => {
    const { shards, id } = await detached(await handingOver(), 'north');
    const west = inspect(shards.rows('west', 'orders').all, { depth: 9 });
    const giving = await shards
      .manager((port) =>
        wrappedMethods(port, async (method, send, given) => {
          const isMap = method === 'write' && inspect(given, { depth: 4 }).includes("'!shard-map'");
          if (isMap) shards.control.apply([{ kind: 'insert', row: restoreRow('north') }]);
          return send();
        }),
      )
      .open('orders', orderSchema);
    await assert.rejects(giving.operations.giveUp(id, 'north'), halfRestored);
    assert.equal(inspect(shards.rows('west', 'orders').all, { depth: 9 }), west);
    assert.deepEqual(shards.rows('north', 'orders').all, []);
  });
});

describe('a shard that is given up while another one is away', () => {
  it('says which one, and leaves everything as it was', async () => {
    const moving = await detached(await handingOver(), 'north');
    const { shards, id } = moving;
    const stored = () =>
      inspect([shards.control.all, shards.rows('west', 'orders').all], {
        depth: 9,
        maxArrayLength: null,
      });
    const before = stored();
    const map = await withoutShard(shards, 'south').open('orders', orderSchema);
    await assert.rejects(map.operations.giveUp(id, 'north'), {
      name: 'ModelError',
      message: /nothing was changed: .* 'south' cannot be asked \(nobody is there\)/,
    });
    assert.equal(stored(), before);
    assert.equal(shards.rows('north', 'orders').all.length, 0);
  });

  it('is given up where it was only to get partitions', async () => {
    const moving = await detached(await handingOver(), 'west');
    const map = await withoutShard(moving.shards, 'south').open('orders', orderSchema);
    assert.deepEqual((await map.operations.giveUp(moving.id, 'west')).lost, ['west']);
  });

  it('is not given up while the other one has lost its rows and is not detached', async () => {
    const { shards, id } = await detached(await handingOver(), 'north');
    empty(shards, 'south');
    const { operations } = await open(shards);
    await assert.rejects(operations.giveUp(id, 'north'), /'south' cannot be asked .*was emptied/);
  });

  it('is given up when the other one is gone as well, detached and exchanged', async () => {
    const { shards, id } = await detached(await handingOver(), 'north');
    shards.exchange('north');
    shards.exchange('south');
    const { operations } = await open(shards);
    await assert.rejects(operations.giveUp(id, 'north'), /'south' cannot be asked .*was emptied/);
    await shards.manager().detach('south');
    await operations.giveUp(id, 'north');
    assert.equal((await operations.run(id, { cleanUp: false })).status, 'completed');
    const map = await open(shards);
    await shards.manager().attach('south', [map], { keep: 'map', write: true, unbound: 'taken' });
    await map.unguarded.cleanUp();
    assert.deepEqual([...(await amounts(shards)).keys()], [7, 60, 99]);
  });

  it('is given up when the new one is gone as well', async () => {
    const { shards, id } = await detached(await handingOver(), 'north');
    shards.exchange('north');
    shards.exchange('west');
    await shards.manager().detach('west');
    const { operations } = await open(shards);
    await operations.giveUp(id, 'north');
    await assert.rejects(operations.run(id), /'west' knows nothing .* give it up/);
    await operations.giveUp(id, 'west');
    const ended = await operations.run(id);
    assert.deepEqual([ended.status, ended.lost], ['completed', ['north', 'west']]);
    const map = await open(shards);
    await shards.manager().attach('west', [map], { keep: 'map', write: true });
    assert.deepEqual([...(await amounts(shards)).keys()], [100, 500]);
    assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
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

  // The account is exchanged while a program that has looked at it copies from it.
  for (const kept of ['tables', 'no tables'] as const) {
    for (const step of ['copying', 'handing-over'] as const) {
      it(`are kept by a program that reads there meanwhile (${step}, ${kept})`, async () => {
        await givenUpMeanwhile(step, kept);
      });
    }
  }

  it('count above what a program has written to the account that was exchanged', async () => {
    const { shards, map } = await filledShards();
    const { id } = await map.operations.begin(moveShard('north', 'west'), { title: 'away' });
    await map.unguarded.backfill();
    // It has looked at north lately, and does not look again.
    const late = await shards
      .manager(undefined, { refreshMs: 3_600_000 })
      .open('orders', orderSchema);
    const orders = shardedEntitiesOf(Order, late.unguarded);
    await orders.insert({ customer: 8, id: 1, amount: 1 });
    await detached({ shards, id }, 'north');
    await orders.upsertReplace({ customer: 99, id: 2, amount: 9 });
    await (await open(shards)).operations.giveUp(id, 'north');
    const reading = shardedEntitiesOf(Order, (await open(shards)).unguarded);
    assert.equal((await reading.get({ customer: 99, id: 1 }))?.amount, 1);
    assert.equal((await (await open(shards)).operations.run(id)).status, 'completed');
    assert.equal((await amounts(shards)).get(99), 1);
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
