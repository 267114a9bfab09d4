import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { moveShard, splitRange } from '../../src/modeling/patterns/shard-map/index.js';
import { emptied } from './support/emptied-shard.js';
import { filledShards, orderSchema } from './support/memory-shards.js';

// A person names a shard that is not what the call needs: one that nobody knows, one of which the
// map has nothing, or one whose account was emptied.

const title = 'away';

const told = async (calls: readonly Promise<unknown>[]): Promise<readonly string[]> => {
  const results = await Promise.allSettled(calls);
  return results.map((result) =>
    result.status === 'rejected' ? String(result.reason) : 'went through',
  );
};

describe('a shard that nobody knows', () => {
  it('is refused by every call that names it, and nothing is written', async () => {
    const { shards, map } = await filledShards();
    const manager = shards.manager();
    const before = shards.control.all;
    const { operations, unguarded } = map;
    assert.deepEqual(
      await told([
        operations.begin(moveShard('nroth', 'west'), { title }),
        operations.begin(moveShard('nroth', 'south'), { title }),
        operations.begin(moveShard('north', 'wset'), { title }),
        operations.begin(splitRange({ from: map.textOf(50) }, 'wset'), { title }),
        unguarded.apply(moveShard('nroth', 'south')),
        unguarded.recovery.plan('map', { only: 'nroth' }),
        unguarded.recovery.rebuildLocal('nroth', { write: true }),
      ]),
      [
        "UnknownShardError: this program has no table for the shard 'nroth'",
        "UnknownShardError: this program has no table for the shard 'nroth'",
        "UnknownShardError: the map 'orders' has a shard 'wset' that this program has no table for",
        "UnknownShardError: the map 'orders' has a shard 'wset' that this program has no table for",
        "UnknownShardError: this program has no table for the shard 'nroth'",
        "UnknownShardError: this program has no table for the shard 'nroth'",
        "UnknownShardError: this program has no table for the shard 'nroth'",
      ],
    );
    assert.deepEqual(
      await told([
        manager.addShard('nroth'),
        manager.setShard('nroth', { status: 'offline' }),
        manager.detach('nroth'),
        manager.attach('nroth', [map], { keep: 'map', write: true }),
        manager.dropShard('nroth'),
      ]),
      [
        "DefinitionError: this program has no location of the shard 'nroth'",
        "ManagerError: there is no shard 'nroth'; add it",
        "ManagerError: there is no shard 'nroth'; add it",
        "ManagerError: there is no shard 'nroth'; add it",
        "DefinitionError: this program has no location of the shard 'nroth'",
      ],
    );
    assert.deepEqual(shards.control.all, before);
  });
});

describe('a shard of which the map has nothing', () => {
  it('is refused as one that partitions leave, with the shards that the map has', async () => {
    const { shards, map } = await filledShards();
    const before = shards.control.all;
    const { operations, unguarded } = map;
    const message =
      "the map 'orders' does not lead to the shard 'west': nothing is there to be moved; its " +
      "shards are 'north', 'south'";
    const away = moveShard('west', 'north');
    await assert.rejects(operations.begin(away, { title }), { name: 'ManagerError', message });
    const same = splitRange({ from: map.textOf(100) }, 'south');
    await assert.rejects(operations.begin(same, { title }), {
      name: 'ManagerError',
      message: "the map 'orders' has that routing already: nothing is to be moved",
    });
    // As after a kill: the change may have been made by an earlier call.
    assert.equal((await unguarded.apply(away)).version, 1);
    assert.deepEqual(shards.control.all, before);
  });

  it('is told as such by a restore, and by a read of its reference data', async () => {
    const world = await emptied();
    const { shards, store, manager, names } = world;
    shards.control.apply([
      { kind: 'delete', key: { partitionKey: '!shard-manager', rowKey: 'shard_south' }, etag: '*' },
    ]);
    await assert.rejects(manager().backups.restore(store, names[0]), {
      name: 'ManagerError',
      message: /'south' of the backup is not registered: make it again with rebuild/,
    });
    await assert.rejects(manager().backups.restore(store, names[0].replace('south', 'east')), {
      name: 'ManagerError',
    });
  });
});

describe('a shard whose account was emptied', () => {
  it('is left by no change before it is restored or taken as it is', async () => {
    const world = await emptied();
    const { shards, manager } = world;
    const map = await manager().open('orders', orderSchema);
    const before = shards.control.all;
    const lost = { name: 'ModelError', message: /of the shard 'south' knows nothing of the map/ };
    const away = moveShard('south', 'west');
    await assert.rejects(map.operations.begin(away, { title }), lost);
    await assert.rejects(map.unguarded.apply(away), lost);
    const operations = await manager().operations();
    assert.deepEqual(operations, []);
    assert.deepEqual(shards.control.all, before);
    assert.deepEqual(shards.rows('south', 'orders').all, []);
    // A change that leaves it alone does not make it a shard of the map again.
    const other = moveShard('north', 'west');
    assert.equal((await map.unguarded.apply(other)).phase, 'settled');
    assert.deepEqual(shards.rows('south', 'orders').all, []);
    const taken = { keep: 'map', write: true, unbound: 'taken' } as const;
    await manager().attach('south', [map], taken);
    const { id } = await map.operations.begin(away, { title });
    assert.equal((await map.operations.run(id)).status, 'completed');
  });
});
