import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { int32, key } from '../../src/modeling/index.js';
import {
  assignTexts,
  listRouting,
  moveShard,
  rangeRouting,
  shardQueryOf,
  splitRange,
} from '../../src/modeling/patterns/shard-map/index.js';
import {
  defineVertical,
  verticalEntitiesOf,
} from '../../src/modeling/patterns/vertical-split/index.js';
import { filledShards, Order, orderSchema } from './support/memory-shards.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

// What a person does who begins with maps, perhaps without the compiler.

describe('a map whose change', () => {
  it('is refused leaves the operation before it to be cleaned up', async () => {
    const { map } = await filledShards();
    const { operations, unguarded } = map;
    const { id } = await operations.begin(moveShard('north', 'west'), { title: 'first' });
    await unguarded.cutOver();
    await unguarded.finish();
    const again = operations.begin(moveShard('north', 'west'), { title: 'again' });
    await assert.rejects(again, /does not lead to the shard 'north'/);
    const ended = await operations.run(id);
    assert.deepEqual([ended.status, ended.details], ['completed', '']);
  });

  it('names the value of a key in place of its text is refused, and the map stays as it is', async () => {
    const { shards, map } = await filledShards();
    const before = shards.control.all;
    const split = splitRange({ from: 60 as never, before: 100 as never }, 'west');
    await assert.rejects(map.operations.begin(split, { title: 'split' }), {
      name: 'DefinitionError',
      message: /number 60 is no text: give that of the key, such as by textOf/,
    });
    assert.deepEqual(shards.control.all, before);
    assert.equal(await map.shardOf(60), 'north');
  });

  it('names a text that is of no key of the map is refused, and the map stays as it is', async () => {
    const { shards, map } = await filledShards();
    const before = shards.control.all;
    const { operations, unguarded } = map;
    const split = splitRange({ from: '250' }, 'west');
    const ranges = rangeRouting([
      { from: '', shard: 'north' },
      { from: '0250', shard: 'west' },
    ]);
    const list = listRouting({ '2147483898': 'north', '250': 'west' }, 'south');
    const mistakes = [
      // @ts-expect-error The text of a key is given by textOf.
      operations.begin(split, { title: 'split' }),
      operations.begin(ranges, { title: 'ranges' }),
      operations.begin(list, { title: 'list' }),
      map.map.plan(split),
      unguarded.start(split),
      unguarded.apply(ranges),
    ];
    const told = await Promise.all(mistakes.map((each) => each.catch((error: unknown) => error)));
    for (const error of told) {
      assert.match(
        String(error),
        /DefinitionError: .*'0?250' is no text of a key of the type int: give that of the key, by textOf/,
      );
    }
    // @ts-expect-error As in a list, which this map is not.
    const assigned = operations.begin(assignTexts(['250'], 'west'), { title: 'assign' });
    await assert.rejects(assigned, /routes by range/);
    assert.deepEqual(shards.control.all, before);
    const text = map.textOf(250);
    assert.equal((await map.map.plan(splitRange({ from: text }, 'west'))).moving, 1);
    // Rows of the library have partitions of their own.
    await map.map.plan(listRouting({ [text]: 'north', '!outbox-0': 'west' }, 'south'));
  });

  it('is begun while another one is under way is refused with the operation to end', async () => {
    const { shards, map } = await filledShards();
    const { id } = await map.operations.begin(moveShard('south', 'west'), { title: 'away' });
    const other = await shards.manager().open('orders', orderSchema);
    await assert.rejects(other.operations.begin(moveShard('north', 'west'), { title: 'other' }), {
      name: 'StaleMapError',
      message: `the map 'orders' is copying by the operation ${id}: run or cancel that one first`,
    });
    assert.equal((await shards.manager().operations()).length, 1);
  });
});

describe('a value that an option does not have', () => {
  it('is refused before anything is written', async () => {
    const { shards, map } = await filledShards();
    const before = shards.control.all;
    const manager = shards.manager();
    const away = moveShard('south', 'west');
    const mistakes = [
      manager.setShard('south', { status: 'readonly' as never }),
      manager.attach('south', [map], { keep: 'maps' as never, write: true }),
      map.operations.begin(away, { title: 'away', mode: 'readonly' as never }),
      map.operations.begin(away, { title: 'away', target: 'replace' as never }),
      map.map.close('readonly' as never),
      map.unguarded.recovery.plan('shard' as never),
    ];
    const told = await Promise.all(mistakes.map((each) => each.catch((error: unknown) => error)));
    assert.deepEqual(told.map(String), [
      "DefinitionError: status: 'readonly'; give 'online' or 'read-only' or 'offline' or 'detached'",
      "DefinitionError: keep: 'maps'; give 'map' or 'shards'",
      "DefinitionError: mode: 'readonly'; give 'online' or 'read-only' or 'offline'",
      "DefinitionError: target: 'replace'; give 'empty' or 'replaced'",
      "DefinitionError: access: 'readonly'; give 'read-only' or 'offline'",
      "DefinitionError: keep: 'shard'; give 'map' or 'shards'",
    ]);
    assert.deepEqual(shards.control.all, before);
  });

  it('is refused by a query over shards, and so is an option in place of the query', async () => {
    const { map } = await filledShards();
    assert.throws(
      () => shardQueryOf(Order, map, {}, { partial: 'some' as never }),
      /partial: 'some'/,
    );
    const options: object = { partial: 'report' };
    assert.throws(() => shardQueryOf(Order, map, options), /partial is an option: give it behind/);
    // Not a failure of every shard.
    const where = ((p: { customer: { eq: (value: number) => never } }) =>
      p.customer.eq(7)) as never;
    assert.throws(
      () => shardQueryOf(Order, map, { where }, { partial: 'report' }),
      /DefinitionError: Order.customer cannot be in a filter: only the keys carry it/,
    );
  });
});

describe('a product split vertically', () => {
  it('has no two groups in one table', () => {
    const Product = defineVertical({
      type: 'Product',
      keys: { id: int32() },
      partitionKey: (p) => key`${p.id.padded(6)}`,
      rowKey: () => key``,
      groups: { about: { price: int32() }, stock: { level: int32() } },
      leader: 'about',
    });
    const table = new MemoryTable(new MemoryRows());
    const split = (): unknown => verticalEntitiesOf(Product, { about: table, stock: table });
    assert.throws(split, /the groups 'about' and 'stock' have one table/);
  });
});

describe('a program', () => {
  it('goes by the map as it is after the operation that it has run or cancelled', async () => {
    const { shards } = await filledShards();
    // The map that was read is used for an hour.
    const manager = shards.manager(undefined, { refreshMs: 3_600_000 });
    const map = await manager.open('orders', orderSchema);
    assert.equal(await map.shardOf(500), 'south');
    const away = moveShard('south', 'west');
    const { id } = await map.operations.begin(away, { title: 'away' });
    await map.operations.run(id);
    assert.equal(await map.shardOf(500), 'west');
    const back = await map.operations.begin(moveShard('west', 'south'), { title: 'back' });
    await map.unguarded.cutOver();
    assert.equal(await map.shardOf(500), 'west');
    await map.operations.cancel(back.id);
    assert.equal(await map.shardOf(500), 'west');
    assert.equal((await map.map.views()).shards.includes('south'), false);
  });

  it('is told the key of another type than that of the map', async () => {
    const { map } = await filledShards();
    const other = { name: 'ValueError', message: /'7' is no text of a key of the type int/ };
    await assert.rejects(map.map.shardOfText('7'), other);
    const asked = async (keys: readonly string[]): Promise<number> => {
      let rows = 0;
      for await (const _ of shardQueryOf(Order, map, {}, { keys })) rows += 1;
      return rows;
    };
    await assert.rejects(asked(['7']), other);
    assert.equal(await asked([map.textOf(7)]), 3);
    await assert.rejects(map.shardOf('7' as never), {
      name: 'ValueError',
      message: "a key of the type int: the text '7' is no key of the type int",
    });
  });
});
