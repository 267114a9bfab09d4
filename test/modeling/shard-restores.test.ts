import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  moveShard,
  ShardTakenError,
  splitRange,
} from '../../src/modeling/patterns/shard-map/index.js';
import { RequestError } from '../../src/modeling/index.js';
import { isContent } from '../../src/modeling/patterns/shard-map/shown-rows.js';
import type {
  BackupStore,
  Operation,
  RestoreProgress,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import type { BackedUpShards } from './support/backed-up-shards.js';
import {
  amounts,
  attach,
  emptied,
  halfRestored,
  lostAndRestoredInPart,
  restoredInPart,
  restoreRow,
  type Emptied,
} from './support/emptied-shard.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { Order, orderSchema, type ShardName } from './support/memory-shards.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import { costly } from '../support/run-length.js';

// Restores that are killed midway, or run at the same time as other programs.

const notEnded = { name: 'ManagerError', message: /has not ended: restore it again with resume/ };

describe('a shard that is being restored', () => {
  it('comes back with all rows of the backup or not at all, wherever its program is killed', async () => {
    await crashEverywhere<Emptied>({
      prepare: () => emptied(),
      run: ({ store, manager, names }, doomed) =>
        manager((port) => doomed.wrap(port)).backups.restore(store, names[0]),
      recover: async (world) => {
        const { store, manager, names } = world;
        const isBack = await attach(world).then(
          () => true,
          (error: unknown) => {
            assert.match(String(error), /has not ended|knows nothing of it/);
            return false;
          },
        );
        if (isBack) return;
        await manager().backups.restore(store, names[0], { resume: true });
        await attach(world);
      },
      check: async (world) => {
        const { manager, shards } = world;
        if ((await manager().shards())[1]?.status === 'detached') await attach(world);
        assert.deepEqual(await amounts(world), [1, 5]);
        assert.equal(shards.rows('south', 'orders').all.length, 7);
      },
    });
  });

  it('takes no other backup over the rows of one, until that is given up', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    const [last, first] = names;
    const { backups } = manager();
    await restoredInPart(world, last);
    const half = shards.rows('south', 'orders').all;
    const map = await manager().open('orders', orderSchema);
    assert.equal((await manager().attach('south', [map], { keep: 'map' })).restoring, last);
    await assert.rejects(attach(world), notEnded);
    await assert.rejects(backups.restore(store, first, { resume: true }), notEnded);
    await assert.rejects(backups.restore(store, first), notEnded);
    await assert.rejects(backups.restore(store, last), notEnded);
    await assert.rejects(backups.giveUpRestore('south'), /has rows.*empty the tables of 'south'/);
    assert.deepEqual(shards.rows('south', 'orders').all, half);
    shards.restore('south', 'orders', new MemoryRows());
    await backups.giveUpRestore('south');
    await backups.giveUpRestore('south');
    await backups.restore(store, first);
    const ended = backups.restore(store, first, { resume: true });
    await assert.rejects(ended, /no restore is there to resume: if it has ended, attach/);
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 1]);
  });

  it('is attached with what another tool has restored when its own restore is given up', async () => {
    const world = await emptied();
    await restoredInPart(world, world.names[0]);
    await world.manager().backups.giveUpRestore('south', { rows: 'kept' });
    await attach(world);
    assert.equal((await world.manager().shards())[1]?.status, 'online');
  });

  it('has no partition moved away, by no new operation and by none that was begun', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    // Opened anew: a map keeps the table that a shard had before.
    const opened = () => manager().open('orders', orderSchema);
    const away = moveShard('south', 'west');
    await manager().backups.restore(store, names[0]);
    await attach(world);
    const { id } = await (await opened()).operations.begin(away, { title: 'away' });
    await manager().detach('south');
    shards.restore('south', 'orders', new MemoryRows());
    await restoredInPart(world, names[0]);
    const { operations } = await opened();
    await assert.rejects(operations.run(id), halfRestored);
    assert.equal((await manager().operation(id))?.status, 'stopped');
    assert.deepEqual(shards.rows('west', 'orders').all.filter(isContent), []);
    await operations.cancel(id);
    await assert.rejects(operations.begin(away, { title: 'again' }), halfRestored);
    assert.equal((await manager().operations()).length, 1);
    await manager().backups.restore(store, names[0], { resume: true });
    await attach(world);
    const last = await operations.begin(away, { title: 'at last' });
    assert.equal((await operations.run(last.id)).status, 'completed');
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('has nothing handed over by an operation during which it was lost', async () => {
    const world = await emptied();
    const { store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    await attach(world);
    let isCopying = false;
    let lost: Promise<void> | undefined;
    const overtaken = manager((port) =>
      wrappedMethods(port, async (method, send) => {
        const isOfShard = port instanceof MemoryTable && port.table === 'orders';
        if (isCopying && isOfShard && method === 'write') {
          await (lost ??= lostAndRestoredInPart(world));
        }
        return send();
      }),
    );
    const { operations } = await overtaken.open('orders', orderSchema);
    const { id } = await operations.begin(moveShard('south', 'west'), { title: 'away' });
    const onProgress = ({ step }: Operation): void => {
      isCopying = step === 'copying';
    };
    await assert.rejects(operations.run(id, { onProgress }), halfRestored);
    const { map } = await manager().open('orders', orderSchema);
    assert.equal((await map.state()).phase, 'copying');
    await manager().backups.restore(store, names[0], { resume: true });
    assert.equal((await operations.run(id)).status, 'completed');
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('neither gives nor gets partitions of an operation that is taken back, and loses no write', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    await attach(world);
    const { map, operations } = await manager().open('orders', orderSchema);
    const { id } = await operations.begin(moveShard('south', 'west'), { title: 'away' });
    const onProgress = ({ step, partitions }: Operation): void => {
      if (step === 'handing-over' && partitions > 0) throw new Error('stopped');
    };
    await assert.rejects(operations.run(id, { onProgress }), /stopped/);
    const writer = await manager().open('orders', orderSchema);
    await writer.entities(Order).update({ customer: 500, id: 1 }, (o) => ({ ...o, amount: 9 }));
    const stays = async (): Promise<void> => {
      await assert.rejects(operations.cancel(id), halfRestored);
      assert.equal((await manager().operation(id))?.status, 'stopped');
      assert.equal((await map.state()).phase, 'handed-over');
    };
    const west = restoreRow('west');
    shards.control.apply([{ kind: 'insert', row: west }]);
    await stays();
    shards.control.apply([{ kind: 'delete', key: west, etag: '*' }]);
    await lostAndRestoredInPart(world);
    await stays();
    await manager().backups.restore(store, names[0], { resume: true });
    assert.equal((await operations.cancel(id)).status, 'cancelled');
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 9]);
    await map.cleanUp();
    assert.deepEqual(await amounts(world), [1, 9]);
  });

  it(
    'is taken back with each write since its handover, wherever that is killed',
    costly(),
    async () => {
      const opened = (world: BackedUpShards, doomed?: Doomed) =>
        world.manager(doomed && ((port) => doomed.wrap(port))).open('orders', orderSchema);
      let id = '';
      await crashEverywhere<Emptied>({
        prepare: async () => {
          const world = await emptied();
          await world.manager().backups.restore(world.store, world.names[0]);
          await attach(world);
          const { map, operations } = await opened(world);
          ({ id } = await operations.begin(moveShard('south', 'west'), { title: 'away' }));
          await map.backfill();
          await map.cutOver();
          const orders = (await opened(world)).entities(Order);
          await orders.update({ customer: 500, id: 1 }, (o) => ({ ...o, amount: 9 }));
          await lostAndRestoredInPart(world);
          await world.manager().backups.restore(world.store, world.names[0], { resume: true });
          return world;
        },
        run: async (world, doomed) => (await opened(world, doomed)).operations.cancel(id),
        recover: async (world) => {
          const { operations } = await opened(world);
          assert.equal((await operations.cancel(id)).status, 'cancelled');
        },
        check: async (world) => {
          await attach(world);
          await (await opened(world)).unguarded.cleanUp();
          assert.deepEqual(await amounts(world), [1, 9]);
        },
      });
    },
  );

  it('keeps up no operation that moves nothing of it', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    await attach(world);
    const map = await manager().open('orders', orderSchema);
    const split = splitRange({ from: map.textOf(60), before: map.textOf(100) }, 'west');
    const { id } = await map.operations.begin(split, { title: 'of north' });
    await manager().detach('south');
    shards.restore('south', 'orders', new MemoryRows());
    await restoredInPart(world, names[0]);
    const { operations } = await manager().open('orders', orderSchema);
    assert.equal((await operations.run(id)).status, 'completed');
    await manager().backups.restore(store, names[0], { resume: true });
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('is not attached by a program that began before its restore', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    const map = await manager().open('orders', orderSchema);
    let isBegun = false;
    const slow = shards.manager((port) =>
      wrappedMethods(port, async (method, send) => {
        if (method === 'page' && !isBegun) {
          isBegun = true;
          shards.restore('south', 'orders', new MemoryRows());
          await restoredInPart(world, names[0]);
        }
        return send();
      }),
    );
    const attached = slow.attach('south', [map], { keep: 'map', write: true, unbound: 'taken' });
    await assert.rejects(attached, /'south' was changed while it was attached/);
    await assert.rejects(attach(world), notEnded);
  });

  it('is not restored by a program whose shard was attached before it has written', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    await manager().backups.restore(store, names[0]);
    const copy = shards.rows('south', 'orders');
    shards.restore('south', 'orders', new MemoryRows());
    const racing: BackupStore = {
      write: (name, lines) => store.write(name, lines),
      list: (prefix) => store.list(prefix),
      delete: (name) => store.delete(name),
      async *read(name) {
        yield* store.read(name);
        if ((await manager().shards())[1]?.status !== 'detached') return;
        shards.restore('south', 'orders', copy);
        await attach(world);
        shards.restore('south', 'orders', new MemoryRows());
      },
    };
    const restored = manager().backups.restore(racing, names[1]);
    await assert.rejects(restored, {
      name: 'ManagerError',
      message: /nothing was written: look at the shard/,
    });
    assert.deepEqual(shards.rows('south', 'orders').all, []);
  });

  it(
    'keeps what programs write after another program has ended its restore',
    costly(),
    async () => {
      const world = await emptied(1100);
      const { store, manager, names } = world;
      let count = 0;
      let reads = 0;
      const overtaken: BackupStore = {
        write: (name, lines) => store.write(name, lines),
        list: (prefix) => store.list(prefix),
        delete: (name) => store.delete(name),
        async *read(name) {
          if (name.endsWith('.jsonl')) reads += 1;
          for await (const line of store.read(name)) {
            // The first time the file is only counted.
            if (reads === 2 && (count += 1) === 1000) {
              await manager().backups.restore(store, names[0], { resume: true });
              await attach(world);
              const map = await manager().open('orders', orderSchema);
              await map
                .entities(Order)
                .update({ customer: 500, id: 1 }, (o) => ({ ...o, amount: 9 }));
            }
            yield line;
          }
        },
      };
      await assert.rejects(manager().backups.restore(overtaken, names[0]), {
        name: 'ManagerError',
        message: /was resumed or given up by another program; this one writes nothing more/,
      });
      assert.deepEqual(await amounts(world), [1, 9]);
    },
  );

  it('gets nothing of a superseded restore but claims that were sent before', async () => {
    const world = await emptied(1100);
    const { shards, store, manager, names } = world;
    const takeOver = () => manager().backups.restore(store, names[0], { resume: true });
    let taken: Promise<unknown> | undefined;
    let sent = 0;
    const superseded = manager((port) =>
      wrappedMethods(port, async (method, send) => {
        const isOfShard = port instanceof MemoryTable && port.table === 'orders';
        if (!isOfShard || (method !== 'transact' && method !== 'write')) return send();
        await (taken ??= takeOver());
        sent += 1;
        return send();
      }),
    );
    const restored = superseded.backups.restore(store, names[0]);
    await assert.rejects(restored, /was resumed or given up by another program/);
    // Each claim is taken back.
    assert.ok(sent > 0 && sent <= 16, `${sent} requests were sent`);
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
    const { all } = shards.rows('south', 'orders');
    assert.ok(all.every(({ rowKey }) => rowKey !== '!shard:claim'));
  });

  it('tells how far its restore is, before it writes and while it does', async () => {
    const world = await emptied(1200);
    const { shards, store, manager, names } = world;
    const told: RestoreProgress[] = [];
    const onProgress = (progress: RestoreProgress): void => {
      const isEmpty = shards.rows('south', 'orders').all.length === 0;
      assert.equal(isEmpty, progress.step === 'checking');
      told.push(progress);
    };
    const { tables } = await manager().backups.restore(store, names[0], { onProgress });
    const of = tables['orders'] ?? 0;
    assert.ok(of > 1200);
    assert.deepEqual([...new Set(told.map(({ step }) => step))], ['checking', 'writing']);
    for (const step of ['checking', 'writing']) {
      const rows = told.filter((each) => each.step === step).map((each) => each.rows);
      assert.deepEqual(
        rows,
        rows.toSorted((left, right) => left - right),
      );
      assert.equal(rows.length, 2);
      assert.equal(rows.at(-1), of);
    }
    for (const { shard, table, of: all } of told) {
      assert.deepEqual([shard, table, all], ['south', 'orders', of]);
    }
  });

  it('has a restore to resume when what hears of its progress throws', async () => {
    const world = await emptied(1100);
    const { store, manager, names } = world;
    const broken = new Error('nobody listens');
    const listening = (from: RestoreProgress['step']) => ({
      onProgress: ({ step }: RestoreProgress): void => {
        if (step === from) throw broken;
      },
    });
    const checked = manager().backups.restore(store, names[0], listening('checking'));
    await assert.rejects(checked, broken);
    assert.deepEqual(world.shards.rows('south', 'orders').all, []);
    const written = manager().backups.restore(store, names[0], listening('writing'));
    await assert.rejects(written, broken);
    await assert.rejects(attach(world), notEnded);
    await manager().backups.restore(store, names[0], { resume: true });
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('is not taken for the account of another one when its restore is resumed', async () => {
    const world = await emptied();
    const { shards, store, clock, names } = world;
    await restoredInPart(world, names[0]);
    const before = shards.rows('north', 'orders').all;
    const accounts: Partial<Record<ShardName, string>> = { south: 'north', north: 'south' };
    const swapped = shards.manager(undefined, { clock }, accounts);
    const resumed = swapped.backups.restore(store, names[0], { resume: true });
    await assert.rejects(resumed, ShardTakenError);
    assert.deepEqual(shards.rows('north', 'orders').all, before);
  });

  it('is restored though its client sends each request again that it got no answer to', async () => {
    const world = await emptied();
    const twice = world.manager((port) =>
      wrappedMethods(port, async (method, send) => {
        if (method === 'write' || method === 'transact') await send();
        return send();
      }),
    );
    await twice.backups.restore(world.store, world.names[0]);
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('is restored though the look at its restore fails for a moment', async () => {
    const world = await emptied(300);
    let isWriting = false;
    let failures = 0;
    const flaky = world.manager((port) =>
      wrappedMethods(port, async (method, send, given) => {
        const isLook = isWriting && method === 'get' && JSON.stringify(given).includes('restore_');
        if (isLook && (failures += 1) === 1) {
          throw new RequestError('503', { status: 503, code: 'ServerBusy' });
        }
        const isOfShard = port instanceof MemoryTable && port.table === 'orders';
        if (isOfShard && method === 'transact') isWriting = true;
        return send();
      }),
    );
    await flaky.backups.restore(world.store, world.names[0]);
    assert.ok(failures > 1);
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('is written no further when the look at its restore is refused for good', async () => {
    const world = await emptied(300);
    let isWriting = false;
    const refused = world.manager((port) =>
      wrappedMethods(port, async (method, send, given) => {
        if (isWriting && method === 'get' && JSON.stringify(given).includes('restore_')) {
          throw new RequestError('403', { status: 403, code: 'AuthorizationFailure' });
        }
        const isOfShard = port instanceof MemoryTable && port.table === 'orders';
        if (isOfShard && method === 'transact') isWriting = true;
        return send();
      }),
    );
    const restored = refused.backups.restore(world.store, world.names[0]);
    await assert.rejects(restored, { name: 'RequestError', status: 403 });
    await world.manager().backups.restore(world.store, world.names[0], { resume: true });
    await attach(world);
    assert.deepEqual(await amounts(world), [1, 5]);
  });

  it('is forgotten with its restore when it is dropped', async () => {
    const { shards, manager } = await emptied();
    const row = restoreRow('west');
    shards.control.apply([{ kind: 'insert', row }]);
    await manager().detach('west');
    const map = await manager().open('orders', orderSchema);
    const { restoring } = await manager().attach('west', [map], { keep: 'map' });
    assert.equal(restoring, 'west/x/');
    await manager().dropShard('west');
    assert.equal(shards.control.get(row), undefined);
  });
});
