import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  binary,
  dateTime,
  defineEntity,
  double,
  entitiesOf,
  guid,
  int32,
  int64,
  key,
  string,
} from '../../src/modeling/index.js';
import { sharded, type MapSchema } from '../../src/modeling/patterns/shard-map-manager/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import { otherPartition, withIndexes } from '../../src/modeling/patterns/indexes/index.js';
import { listRouting, shardQueryOf } from '../../src/modeling/patterns/shard-map/index.js';
import { MemoryShards } from './support/memory-shards.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

// Each type of key that a map can have, from a property of a PartitionKey.

const Device = defineEntity({
  type: 'Device',
  properties: { chip: binary(), id: int32() },
  partitionKey: (p) => key`${p.chip}_x`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const Shift = defineEntity({
  type: 'Shift',
  properties: { length: int64(), id: int32() },
  partitionKey: (p) => key`${p.length.offset()}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const Call = defineEntity({
  type: 'Call',
  properties: { at: dateTime(), id: int32() },
  partitionKey: (p) => key`${p.at.descending()}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const Account = defineEntity({
  type: 'Account',
  properties: { owner: guid(), id: int32() },
  partitionKey: (p) => key`${p.owner}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});

async function open() {
  const shards = new MemoryShards();
  const manager = shards.manager();
  await manager.addShard('north');
  await manager.addShard('south');
  return manager;
}

const bytes = (...values: readonly number[]) => Uint8Array.from(values);
const common = { name: 'map', table: 'map' };

describe('a map by keys of', () => {
  it('bytes deals them in their order, shorter ones first', async () => {
    const manager = await open();
    const schema = { version: 1, sharded: [sharded(Device, 'chip')] } as const;
    const ranges = [{ shard: 'north' }, { from: bytes(10, 0), shard: 'south' }];
    const map = await manager.create({ ...common, schema, routing: { kind: 'range', ranges } });
    assert.equal(map.keyType, 'binary');
    const devices = map.entities(Device);
    const expected = [
      [bytes(), 'north'],
      [bytes(9, 255), 'north'],
      [bytes(10), 'north'],
      [bytes(10, 0), 'south'],
      [bytes(171), 'south'],
    ] as const;
    for (const [chip, shard] of expected) {
      await devices.insert({ chip, id: 1 });
      assert.equal(await map.shardOf(chip), shard);
      const found = await devices.get({ chip, id: 1 });
      assert.deepEqual(found?.chip, chip);
      const text = Buffer.from(chip).toString('hex');
      const validate = { partitionKey: `${text}_x` };
      assert.equal((await map.connection(chip, { validate })).shard, shard, text);
    }
    await assert.rejects(map.shardOf(new Uint8Array(129)), /at most 128 bytes/);
  });

  it('spans of time and moments with an offset has types of its own', async () => {
    const manager = await open();
    const hour = 36_000_000_000n;
    const spans = await manager.create({
      ...common,
      schema: { version: 1, sharded: [sharded(Shift, 'length', { as: 'timeSpan' })] } as const,
      routing: { kind: 'range', ranges: [{ shard: 'north' }, { from: 0n, shard: 'south' }] },
    });
    const shifts = spans.entities(Shift);
    for (const length of [-hour, -1n, 0n, hour]) await shifts.insert({ length, id: 1 });
    const lengths: bigint[] = [];
    for await (const { length } of shifts.queryAll()) lengths.push(length);
    assert.deepEqual(lengths, [-hour, -1n, 0n, hour]);
    assert.deepEqual([await spans.shardOf(-1n), await spans.shardOf(0n)], ['north', 'south']);
    const from = new Date('2024-05-31T23:30:00-02:00');
    const moments = await manager.create({
      name: 'calls',
      table: 'calls',
      schema: { version: 1, sharded: [sharded(Call, 'at', { as: 'dateTimeOffset' })] } as const,
      routing: { kind: 'range', ranges: [{ shard: 'north' }, { from, shard: 'south' }] },
    });
    await moments.entities(Call).insert({ at: from, id: 1 });
    assert.equal(await moments.shardOf(new Date('2024-06-01T01:30:00Z')), 'south');
    assert.equal(await moments.shardOf(new Date('2024-06-01T01:29:59.999Z')), 'north');
    assert.deepEqual(
      (await manager.maps()).map(({ keyType }) => keyType),
      ['dateTimeOffset', 'timeSpan'],
    );
    // Programs that mean other values by the same texts are refused.
    const plain: MapSchema<'bigint'> = { version: 1, sharded: [sharded(Shift, 'length')] };
    await assert.rejects(manager.open('map', plain), /keys of the type timeSpan/);
  });

  it('texts that a list does not have says what to do, of rows of the library too', async () => {
    const manager = await open();
    const schema = { version: 1, sharded: [sharded(Account, 'owner')] } as const;
    const owner = '00000000-0000-0000-0000-000000000001';
    const keys = [[owner, 'north']] as const;
    const map = await manager.create({ ...common, schema, routing: { kind: 'list', keys } });
    const model = openModel({
      table: map.map.table,
      entities: {
        accounts: withIndexes(Account, {
          id: otherPartition({
            partitionKey: (p) => key`${p.id.padded(4)}`,
            rowKey: (p) => key`${p.owner}`,
          }),
        }),
      },
    });
    await assert.rejects(
      model.entities.accounts.insert({ owner, id: 1 }),
      /no shard for '!outbox-.*; assign its text to one, or give the list .* \(otherwise\)/,
    );
    assert.equal(await map.map.shardOf('0001'), undefined);
    await map.map.apply(listRouting({ [owner]: 'north' }, 'south'));
    await model.entities.accounts.insert({ owner, id: 1 });
    await model.drain();
    assert.equal((await model.entities.accounts.by.id.get({ id: 1, owner }))?.owner, owner);
    const shards: string[] = [];
    for await (const { shard } of shardQueryOf(Account, map)) shards.push(shard);
    assert.deepEqual(shards, ['north']);
  });

  it('a property that cannot be one is refused with the kinds that can', () => {
    const Odd = defineEntity({
      type: 'Odd',
      properties: { name: string(), weight: double() },
      partitionKey: (p) => key`${p.name}`,
      rowKey: () => key`odd`,
    });
    // @ts-expect-error The property is not in the PartitionKey.
    assert.throws(() => sharded(Odd, 'weight'), /not in the PartitionKey/);
    // @ts-expect-error No text is a span of time.
    assert.throws(() => sharded(Odd, 'name', { as: 'timeSpan' }), /string, which is no timeSpan/);
    // @ts-expect-error A guid has one type.
    assert.throws(() => sharded(Account, 'owner', { as: 'dateTimeOffset' }), /no dateTimeOffset/);
  });
});

describe('bytes in a key', () => {
  it('are read as they were written, in the order of the bytes', async () => {
    const Chip = defineEntity({
      type: 'Chip',
      properties: { chip: binary(), maker: string() },
      partitionKey: (p) => key`${p.maker}`,
      rowKey: (p) => key`${p.chip}`,
    });
    const made = entitiesOf(Chip, new MemoryTable(new MemoryRows()));
    const chips = [bytes(), bytes(0), bytes(0, 0), bytes(1), bytes(95), bytes(255)];
    for (const chip of chips.toReversed()) await made.insert({ chip, maker: 'm' });
    const found = await made.query({ partition: { maker: 'm' } }).toArray({ max: 9 });
    assert.deepEqual(
      found.map(({ chip }) => chip),
      chips,
    );
    await made.delete({ chip: bytes(95), maker: 'm' }, { ifMatch: 'any' });
    assert.equal(await made.get({ chip: bytes(95), maker: 'm' }), undefined);
  });
});
