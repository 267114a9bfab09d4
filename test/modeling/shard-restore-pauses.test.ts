import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RowWrite } from '../../src/modeling/index.js';
import type {
  Operation,
  RestoreProgress,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { isContent } from '../../src/modeling/patterns/shard-map/shown-rows.js';
import { moveShard } from '../../src/modeling/patterns/shard-map/index.js';
import { isFenceRow } from '../../src/modeling/patterns/shard-map/fence.js';
import {
  amounts,
  attach,
  emptied,
  emptyNow,
  halfRestored,
  lostAndRestoredInPart,
  restoredInPart,
  restoreRow,
  type Emptied,
} from './support/emptied-shard.js';
import { Order, orderSchema } from './support/memory-shards.js';
import { MemoryTable } from './support/memory-table.js';
import { pausedEverywhere } from './support/pause-points.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// A program that is paused at each of its requests, while another one does all of its work. The
// request is sent then, however late, and so is what the program does after it.

/** Resumes the restore, attaches the shard, and changes what was restored. */
async function restoredAndUsed(world: Emptied): Promise<void> {
  const { store, manager, names } = world;
  await manager().backups.restore(store, names[0], { resume: true });
  await attach(world);
  await changed(world);
}

/** One order is deleted, another one changed, and each was in a backup. */
async function changed({ manager }: Emptied): Promise<void> {
  const orders = (await manager().open('orders', orderSchema)).entities(Order);
  const order = await orders.get({ customer: 100, id: 1 });
  assert.ok(order !== undefined);
  await orders.delete(order);
  await orders.update({ customer: 500, id: 1 }, (order) => ({ ...order, amount: 9 }));
}

/** No row is there but those of now, and nothing claims a partition. */
function requireOrders({ shards }: Emptied, keys: readonly string[]): void {
  const rows = shards.rows('south', 'orders').all;
  const content = rows.filter((row) => !isFenceRow(row) && row.partitionKey !== '!shard-binding');
  assert.deepEqual(
    content.map(({ partitionKey, rowKey }) => `${partitionKey} ${rowKey}`),
    keys,
  );
  assert.deepEqual(
    rows.filter(({ rowKey }) => rowKey === '!shard:claim'),
    [],
  );
}

/** Whether a request closes a partition. */
function closes(method: string, given: readonly unknown[]): boolean {
  if (method !== 'transact') return false;
  const [writes] = given as readonly [readonly RowWrite[]];
  return writes.some((each) => each.kind === 'delete' && each.key.rowKey === '!shard:owner');
}

const superseded = /resumed or given up|was changed|is online|is not registered|has rows/;

/** Of a restore that another program has taken over: it ends, or is over with all others. */
const endsSuperseded = (error: unknown): void => assert.match(String(error), superseded);

describe('a restore that is paused, while another program', () => {
  it('resumes it, and attaches the shard, writes nothing over what programs write then', async () => {
    await pausedEverywhere<Emptied>({
      prepare: () => emptied(150),
      run: ({ store, manager, names }, wrap) => manager(wrap).backups.restore(store, names[0]),
      meanwhile: restoredAndUsed,
      failure: endsSuperseded,
      check: async (world, isPaused) => {
        if (!isPaused) return;
        assert.deepEqual(await amounts(world), [undefined, 9]);
        const { store, names } = world;
        const restored = [...(store.files.get(`${names[0]}orders.jsonl`) ?? [])].length;
        assert.equal(restored, world.shards.rows('south', 'orders').all.length + 1);
      },
    });
  });

  it('resumes it after it was resumed before, leaves partitions open and no claim', async () => {
    await pausedEverywhere<Emptied>({
      prepare: async () => {
        const world = await emptied(150);
        await restoredInPart(world, world.names[0]);
        return world;
      },
      run: ({ store, manager, names }, wrap) =>
        manager(wrap).backups.restore(store, names[0], { resume: true }),
      meanwhile: restoredAndUsed,
      failure: endsSuperseded,
      check: async (world, isPaused) => {
        if (!isPaused) return;
        assert.deepEqual(await amounts(world), [undefined, 9]);
        const { owners } = await world.shards.content();
        const open = ['000100', '000500'].map((customer) => owners.get(customer));
        assert.deepEqual(open, [['south'], ['south']]);
        const south = world.shards.rows('south', 'orders').all;
        const claims = south.filter(({ rowKey }) => rowKey === '!shard:claim');
        assert.deepEqual(claims, []);
      },
    });
  });

  it('gives it up and restores another backup, adds nothing to that', async () => {
    await pausedEverywhere<Emptied>({
      prepare: () => emptied(0, 600),
      run: ({ store, manager, names }, wrap) => manager(wrap).backups.restore(store, names[0]),
      meanwhile: async (world) => {
        const { store, manager, names } = world;
        emptyNow(world);
        await manager().backups.giveUpRestore('south');
        await manager().backups.restore(store, names[1]);
        await attach(world);
        await changed(world);
      },
      failure: endsSuperseded,
      check: async (world, isPaused) => {
        if (!isPaused) return;
        assert.deepEqual(await amounts(world), [undefined, 9]);
        requireOrders(world, ['000500 0001']);
      },
    });
  });

  it('restores another backup at the same time, adds nothing to that', async () => {
    let ended: Promise<unknown> = Promise.resolve();
    let goOn = (): void => undefined;
    await pausedEverywhere<Emptied>({
      prepare: () => emptied(0, 500),
      run: ({ store, manager, names }, wrap) => manager(wrap).backups.restore(store, names[0]),
      meanwhile: async (world) => {
        const { store, manager, names } = world;
        emptyNow(world);
        await manager().backups.giveUpRestore('south');
        const waits = new Promise<void>((resolve) => (goOn = resolve));
        let claimed = 0;
        await new Promise<void>((resolve) => {
          const waiting = manager((port) =>
            wrappedMethods(port, async (method, send) => {
              const isOfShard = port instanceof MemoryTable && port.table === 'orders';
              // The binding and two customers are claimed, and have no rows yet.
              if (isOfShard && method === 'transact') {
                if ((claimed += 1) === 3) resolve();
                await waits;
              }
              return send();
            }),
          );
          ended = waiting.backups.restore(store, names[1]);
        });
      },
      failure: (error) => assert.match(String(error), /given up|changed|has rows|has not ended/),
      check: async (world, isPaused) => {
        if (!isPaused) return;
        goOn();
        await ended;
        await attach(world);
        assert.deepEqual(await amounts(world), [1, 1]);
        requireOrders(world, ['000100 0001', '000500 0001']);
      },
    });
  });

  it('gives it up for what another tool restores, adds nothing to that', async () => {
    await pausedEverywhere<Emptied>({
      prepare: async () => {
        const world = await emptied();
        const { store, manager, names } = world;
        await manager().backups.restore(store, names[0]);
        const south = world.shards.rows('south', 'orders');
        const other = south.all;
        emptyNow(world);
        return { ...world, other };
      },
      run: ({ store, manager, names }, wrap) => manager(wrap).backups.restore(store, names[0]),
      meanwhile: async (world) => {
        const south = world.shards.rows('south', 'orders');
        const other = 'other' in world && Array.isArray(world.other) ? world.other : [];
        south.apply(other.map((row) => ({ kind: 'upsert-replace', row })));
        await world.manager().backups.giveUpRestore('south', { rows: 'kept' });
        await attach(world);
        await changed(world);
      },
      failure: endsSuperseded,
      check: async (world, isPaused) => {
        if (!isPaused) return;
        assert.deepEqual(await amounts(world), [undefined, 9]);
        requireOrders(world, ['000500 0001']);
      },
    });
  });
});

/** An operation that takes all from a shard which was restored. */
function movingAway(mode: 'online' | 'read-only') {
  let id = '';
  return {
    operation: () => id,
    prepare: async (): Promise<Emptied> => {
      const world = await emptied();
      await world.manager().backups.restore(world.store, world.names[0]);
      await attach(world);
      const { operations } = await world.manager().open('orders', orderSchema);
      ({ id } = await operations.begin(moveShard('south', 'west'), { title: 'away', mode }));
      return world;
    },
    run: async ({ manager }: Emptied, wrap: Parameters<Emptied['manager']>[0]) =>
      (await manager(wrap).open('orders', orderSchema)).operations.run(id),
  };
}

describe('an operation that is paused, while a shard is lost and restored in part', () => {
  for (const mode of ['online', 'read-only'] as const) {
    it(`loses no row of it (${mode})`, async () => {
      const moving = movingAway(mode);
      await pausedEverywhere<Emptied>({
        ...moving,
        meanwhile: lostAndRestoredInPart,
        failure: (error) =>
          assert.match(String(error), /has a part of the backup|rows differ although/),
        check: async (world, isPaused) => {
          const { store, manager, names } = world;
          if (isPaused) await manager().backups.restore(store, names[0], { resume: true });
          const { operations } = await manager().open('orders', orderSchema);
          assert.equal((await operations.run(moving.operation())).status, 'completed');
          if (isPaused) await attach(world);
          assert.deepEqual(await amounts(world), [1, 5]);
        },
      });
    });
  }
});

describe('an operation that is paused, while the account of a shard is emptied', () => {
  for (const mode of ['online', 'read-only'] as const) {
    it(`says so, and goes on when that is restored, with all rows (${mode})`, async () => {
      const moving = movingAway(mode);
      await pausedEverywhere<Emptied>({
        ...moving,
        meanwhile: async (world) => emptyNow(world),
        failure: (error) =>
          assert.match(
            String(error),
            /orders of the shard 'south' (knows nothing|has lost the rows) of .*: .* run the operation again/,
          ),
        check: async (world, isPaused) => {
          const { store, manager, names } = world;
          if (isPaused) {
            await manager().detach('south');
            emptyNow(world);
            await manager().backups.restore(store, names[0]);
          }
          const { operations } = await manager().open('orders', orderSchema);
          assert.equal((await operations.run(moving.operation())).status, 'completed');
          if (isPaused) await attach(world);
          assert.deepEqual(await amounts(world), [1, 5]);
        },
      });
    });
  }
});

describe('a shard into which a restore has not ended', () => {
  it('keeps what has moved to it on its former shard', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    await attach(world);
    const west = restoreRow('west');
    const begins = () => shards.control.apply([{ kind: 'insert', row: west }]);
    const ends = () => shards.control.apply([{ kind: 'delete', key: west, etag: '*' }]);
    const { operations, unguarded } = await manager().open('orders', orderSchema);
    const { id } = await operations.begin(moveShard('south', 'west'), { title: 'away' });
    const onProgress = ({ step }: Operation): void => {
      if (step === 'cleaning-up' && shards.control.get(west) === undefined) begins();
    };
    const south = shards.rows('south', 'orders');
    await assert.rejects(operations.run(id, { onProgress }), halfRestored);
    assert.equal(south.all.filter(isContent).length, 2);
    ends();
    let claims = 0;
    const late = manager((port) =>
      wrappedMethods(port, async (method, send) => {
        const isOfShard = port instanceof MemoryTable && port.table === 'orders';
        if (isOfShard && method === 'write' && (claims += 1) === 1) begins();
        return send();
      }),
    );
    const opened = await late.open('orders', orderSchema);
    await assert.rejects(opened.unguarded.cleanUp(), halfRestored);
    assert.equal(south.all.filter(isContent).length, 2);
    ends();
    assert.equal((await unguarded.cleanUp()).rows, 2);
    assert.equal((await operations.run(id)).status, 'completed');
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('lets writers of a partition that was closed for it try again, and read', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    await attach(world);
    const west = restoreRow('west');
    const { operations, unguarded } = await manager().open('orders', orderSchema);
    const { id } = await operations.begin(moveShard('south', 'west'), { title: 'away' });
    await unguarded.backfill();
    const closing = manager((port) =>
      wrappedMethods(port, async (method, send, given) => {
        const result = await send();
        const isClosed = shards.control.get(west) === undefined && closes(method, given);
        if (isClosed) shards.control.apply([{ kind: 'insert', row: west }]);
        return result;
      }),
    );
    const mover = await closing.open('orders', orderSchema);
    const alone = { concurrency: 1 };
    await assert.rejects(mover.unguarded.cutOver(alone), halfRestored);
    assert.deepEqual(await amounts(world), [1, 5]);
    const orders = (await manager().open('orders', orderSchema)).entities(Order);
    const one = { customer: 100, id: 1 };
    const change = () => orders.update(one, (order) => ({ ...order, amount: 7 }));
    await assert.rejects(change, {
      name: 'PartitionClosedError',
      message: /'000100' is not handed over while .* waits for a restore; try again then: .*'west'/,
    });
    shards.control.apply([{ kind: 'delete', key: west, etag: '*' }]);
    await change();
    assert.equal((await operations.run(id)).status, 'completed');
    assert.deepEqual(await amounts(world), [7, 5]);
  });

  it('is restored until its signal aborts, and from there when it is resumed', async () => {
    const world = await emptied(1100);
    const { store, manager, names } = world;
    const { backups } = manager();
    const aborted = (from: RestoreProgress['step']): Promise<unknown> => {
      const stop = new AbortController();
      const onProgress = ({ step }: RestoreProgress): void => {
        if (step === from) stop.abort(new Error('enough'));
      };
      return backups.restore(store, names[0], { signal: stop.signal, onProgress });
    };
    await assert.rejects(aborted('checking'), /enough/);
    assert.deepEqual(world.shards.rows('south', 'orders').all, []);
    await assert.rejects(aborted('writing'), /enough/);
    await assert.rejects(attach(world), /has not ended: restore it again with resume/);
    const signal = AbortSignal.abort(new Error('before'));
    await assert.rejects(backups.restore(store, names[0], { resume: true, signal }), /before/);
    await backups.restore(store, names[0], { resume: true });
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });
});
