import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  defineEntity,
  int32,
  key,
  openAccountTables,
  openTable,
  string,
} from '../../src/modeling/index.js';
import {
  MisplacedRowsError,
  moveShard,
  PartitionClosedError,
  shardedEntitiesOf,
  shardMapOf,
  ShardTakenError,
  splitRange,
  rangeRouting,
} from '../../src/modeling/patterns/shard-map/index.js';
import {
  ManagerError,
  MapSchemaError,
  OperationError,
  sharded,
  ShardClosedError,
  shardMapManagerOf,
  type Operation,
  type ShardKeyText,
  type ShardLocation,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import type { TableGateway } from '../../src/modeling/table/gateway.js';
import { regionalRouting } from '../../src/placement/index.js';
import { sampled, costly } from '../support/run-length.js';
import { startTables, type ObservedTables } from './support/observed-tables.js';
import { Order, orderSchema as orders } from './support/memory-shards.js';

const [north, south] = [
  await startTables({ inMemory: true }),
  await startTables({ inMemory: true }),
];
after(() => Promise.all([north, south].map((each) => each[Symbol.asyncDispose]())));

const Note = defineEntity({
  type: 'Note',
  properties: { name: string(), text: string() },
  partitionKey: (p) => key`${p.name}`,
  rowKey: () => key`note`,
});

const notes = { version: 1, sharded: [sharded(Note, 'name')] } as const;
const byHundred = {
  kind: 'range',
  ranges: [{ shard: 'north' }, { from: 100, shard: 'south' }],
} as const;

let worlds = 0;

function placeIn(server: ObservedTables, suffix: string): ShardLocation {
  return {
    table: (name) => openTable(server.clientOf(`${name}${suffix}`)),
    account: {
      create: (name) => openAccountTables(server.service).create(`${name}${suffix}`),
    },
  };
}

/** Shards north and south, registered, and west in the account of north. */
async function world() {
  worlds += 1;
  const control = (await north.newTable()).gateway;
  const shards = {
    north: placeIn(north, `n${worlds}`),
    south: placeIn(south, `s${worlds}`),
    west: placeIn(north, `w${worlds}`),
  };
  const settings = { control, shards, refreshMs: 0, settleMs: 0 };
  const manager = shardMapManagerOf(settings);
  await manager.addShard('north', { region: 'eu' });
  await manager.addShard('south');
  const create = () =>
    manager.create({ name: 'orders', table: 'orders', schema: orders, routing: byHundred });
  return { control, shards, settings, manager, create };
}

async function filled() {
  const made = await world();
  const map = await made.manager.create({
    name: 'orders',
    table: 'orders',
    schema: orders,
    routing: byHundred,
  });
  const entities = map.entities(Order);
  for (const customer of [7, 99, 100, 500]) await entities.insert({ customer, id: 1, amount: 1 });
  return { ...made, map, entities };
}

/** The part of a gateway that no race is about. */
const reading = (control: TableGateway) => ({
  table: control.table,
  get: control.get.bind(control),
  transact: control.transact.bind(control),
  page: control.page.bind(control),
});

const countIn = async (place: ShardLocation) =>
  (await place.table('orders').page({})).rows.filter(({ rowKey }) => rowKey === '0001').length;

describe('a manager of shard maps', () => {
  it('routes by typed keys, in the order of their values', costly(), async () => {
    const { map, shards } = await filled();
    const places = await Promise.all([7, 99, 100, 500].map((customer) => map.shardOf(customer)));
    assert.deepEqual(places, ['north', 'north', 'south', 'south']);
    assert.deepEqual([await countIn(shards.north), await countIn(shards.south)], [2, 2]);
    const validate = { partitionKey: '000500' };
    assert.equal((await map.connection(500, { validate })).shard, 'south');
    await assert.rejects(map.connection(7, { validate }), ManagerError);
  });

  it('keeps several maps on the same shards, each in tables of its own', costly(), async () => {
    const { manager, map, entities, shards, control } = await filled();
    const words = await manager.create({
      name: 'notes',
      table: 'notes',
      schema: notes,
      routing: { kind: 'hash', shards: ['north', 'south'], slots: 4 },
    });
    await words.entities(Note).insert({ name: '000007', text: 'of the other map' });
    await map.unguarded.apply(moveShard('north', 'south'));
    await map.unguarded.cleanUp();
    const note = await words.entities(Note).get({ name: '000007' });
    assert.equal(note?.text, 'of the other map');
    assert.equal((await entities.queryAll().toArray({ max: 9 })).length, 4);
    const same = { name: 'other', table: 'orders', schema: orders, routing: byHundred };
    await assert.rejects(manager.create(same), ManagerError);
    // A map beside the manager that would walk over the same partitions.
    const beside = shardMapOf({
      name: 'beside',
      control,
      shards: { south: shards.south.table('orders') },
    });
    const routing = rangeRouting([{ from: '', shard: 'south' }]);
    await assert.rejects(beside.create(routing), ShardTakenError);
    assert.deepEqual(
      (await manager.maps()).map(({ name, table, keyType }) => [name, table, keyType]),
      [
        ['notes', 'notes', 'text'],
        ['orders', 'orders', 'int'],
      ],
    );
  });

  it('opens a map for programs with its schema alone', async () => {
    const { manager } = await filled();
    const Wider = defineEntity({
      type: 'Order',
      properties: { customer: int32(), id: int32(), amount: int32(), note: string().optional() },
      partitionKey: (p) => key`${p.customer.padded(6)}`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    });
    const wider = { version: 2, sharded: [sharded(Wider, 'customer')] } as const;
    await assert.rejects(manager.open('orders', wider), MapSchemaError);
    await assert.rejects(manager.open('orders', { ...wider, version: 1 }), MapSchemaError);
    await assert.rejects(manager.open('orders', notes), MapSchemaError);
    await assert.rejects(manager.open('none', orders), ManagerError);
    const upgraded = await manager.upgrade('orders', wider);
    assert.equal((await upgraded.entities(Wider).get({ customer: 7, id: 1 }))?.amount, 1);
    await assert.rejects(manager.open('orders', orders), MapSchemaError);
    await assert.rejects(manager.upgrade('orders', orders), MapSchemaError);
  });

  it('lets programs do with a shard what its status allows', costly(), async () => {
    const { manager, map, entities, shards } = await filled();
    await manager.setShard('south', { status: 'read-only' });
    const one = { customer: 500, id: 1 };
    assert.equal((await entities.get(one))?.amount, 1);
    await assert.rejects(entities.merge(one, { amount: 2 }, { ifMatch: 'any' }), ShardClosedError);
    await entities.merge({ customer: 7, id: 1 }, { amount: 2 }, { ifMatch: 'any' });
    await manager.setShard('south', { status: 'offline' });
    await assert.rejects(entities.get(one), ShardClosedError);
    // What is there can leave nevertheless.
    const { id } = await map.operations.begin(moveShard('south', 'north'), { title: 'leave' });
    await map.operations.run(id);
    assert.equal((await entities.get(one))?.amount, 1);
    assert.equal(await countIn(shards.south), 0);
    const back = map.operations.begin(moveShard('north', 'south'), { title: 'back' });
    await assert.rejects(back, ManagerError);
  });

  it('drops no map on which another manager has begun a change meanwhile', async () => {
    const { map, settings, entities } = await filled();
    const { control } = settings;
    let begun: Promise<Operation> | undefined;
    const raced: TableGateway = {
      ...reading(control),
      write: async (write) => {
        if (write.kind === 'delete') {
          begun ??= map.operations.begin(moveShard('south', 'north'), { title: 'join' });
          await begun;
        }
        return control.write(write);
      },
    };
    const other = shardMapManagerOf({ ...settings, control: raced });
    await assert.rejects(other.drop('orders', { rows: 'kept' }), ManagerError);
    assert.ok(begun !== undefined);
    await map.operations.run((await begun).id);
    assert.equal((await entities.get({ customer: 500, id: 1 }))?.amount, 1);
  });

  it('drops no shard to which another manager has begun to move something meanwhile', async () => {
    const { map, settings, manager } = await filled();
    const { control } = settings;
    await map.unguarded.apply(moveShard('south', 'north'));
    await map.unguarded.cleanUp();
    let looks = 0;
    let begun: Promise<Operation> | undefined;
    const raced: TableGateway = {
      ...reading(control),
      write: (write) => control.write(write),
      page: async (query) => {
        // The first look at the maps is over when the second one begins.
        if (JSON.stringify(query).includes('map')) looks += 1;
        if (looks === 2) {
          begun ??= map.operations.begin(moveShard('north', 'south'), { title: 'back' });
          await begun;
        }
        return control.page(query);
      },
    };
    const other = shardMapManagerOf({ ...settings, control: raced });
    await assert.rejects(other.dropShard('south'), /has begun meanwhile/);
    assert.ok(begun !== undefined);
    assert.ok((await manager.shards()).some(({ name }) => name === 'south'));
  });

  it('drops what nothing leads to any more, and no rows unasked', costly(), async () => {
    const { manager, map, shards, settings, create } = await filled();
    await assert.rejects(manager.dropShard('south'), ManagerError);
    await assert.rejects(manager.drop('orders'), ManagerError);
    await map.unguarded.apply(moveShard('south', 'north'));
    await assert.rejects(manager.dropShard('south'), ManagerError);
    await map.unguarded.cleanUp();
    await manager.dropShard('south');
    assert.deepEqual(
      (await manager.shards()).map(({ name, region }) => [name, region]),
      [['north', 'eu']],
    );
    await manager.drop('orders', { rows: 'kept' });
    await manager.drop('orders');
    assert.equal(await countIn(shards.north), 4);
    assert.deepEqual(await manager.maps(), []);
    await manager.addShard('south');
    await assert.rejects(create(), MisplacedRowsError);
    const again = await manager.create({
      name: 'orders',
      table: 'orders',
      schema: orders,
      routing: { kind: 'range', ranges: [{ shard: 'north' }] },
    });
    for (const customer of [7, 500]) {
      assert.equal((await again.entities(Order).get({ customer, id: 1 }))?.amount, 1);
    }
    const other = shardMapManagerOf({ ...settings, shards: {} });
    await assert.rejects(other.addShard('north'), /no location of the shard 'north'/);
  });

  it('detaches a shard, and attaches it when it has been compared', costly(), async () => {
    const { manager, map, entities, shards } = await filled();
    const kept = (await shards.south.table('orders').page({ partitionKey: '000500' })).rows;
    await map.unguarded.apply(moveShard('south', 'north'));
    await map.unguarded.cleanUp();
    await manager.detach('south');
    // It is restored from a copy of before the move.
    for (const { partitionKey, rowKey, properties } of kept) {
      const row = { partitionKey, rowKey, properties };
      await shards.south.table('orders').write({ kind: 'upsert-replace', row });
    }
    const dry = await manager.attach('south', [map], { keep: 'map' });
    assert.deepEqual(
      dry.plans.flatMap(({ plan }) => plan.differences.map(({ kind }) => kind)),
      ['owned-twice'],
    );
    assert.equal(dry.isOnline, false);
    await assert.rejects(manager.attach('south', [], { keep: 'map' }), ManagerError);
    await manager.attach('south', [map], { keep: 'map', write: true });
    assert.equal((await manager.shards())[1]?.status, 'online');
    await map.unguarded.cleanUp();
    assert.equal((await entities.get({ customer: 500, id: 1 }))?.amount, 1);
    assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
  });
});

describe('the shards of a manager', () => {
  it(
    'are told with the tables and schemas of their maps, and keep texts near them',
    costly(),
    async () => {
      const { manager, shards } = await filled();
      await manager.setShard('south', { region: 'africa', holds: ['ledger'] });
      const found = await manager.describe('south');
      assert.deepEqual(found, {
        name: 'south',
        status: 'online',
        region: 'africa',
        holds: ['ledger'],
        maps: [{ map: 'orders', tables: ['orders'], schemaVersion: 1 }],
        backedUpAt: undefined,
      });
      assert.equal(await manager.describe('west'), undefined);
      assert.deepEqual(await manager.regions(), { north: 'eu', south: 'africa' });
      const near = regionalRouting(await manager.regions(), { contoso: 'africa', fabrikam: 'eu' });
      assert.ok(near.kind === 'routing');
      const map = await manager.create({
        name: 'notes',
        table: 'notes',
        schema: notes,
        routing: { kind: 'list', keys: [...near.routing.shards] },
      });
      await map.entities(Note).insert({ name: 'contoso', text: 'near' });
      const rows = (await shards.south.table('notes').page({})).rows;
      assert.ok(rows.some(({ partitionKey }) => partitionKey === 'contoso'));
    },
  );
});

describe('an operation on a map', () => {
  const split = (map: { textOf: (key: number) => ShardKeyText<'int'> }) =>
    splitRange({ from: map.textOf(50), before: map.textOf(100) }, 'west');

  async function begun(mode: Operation['mode'] = 'online') {
    const made = await filled();
    await made.manager.addShard('west');
    const { operations } = made.map;
    const { id } = await operations.begin(split(made.map), { title: 'split at 50', mode });
    return { ...made, operations, id };
  }

  const modes = ['offline', 'online', 'read-only'] as const;
  for (const mode of sampled(modes, 1)) {
    it(`runs to its end, ${mode}, and tells how far it is`, costly(), async () => {
      const { manager, operations, id, shards, map, entities } = await begun(mode);
      const seen: Operation[] = [];
      const before = await manager.operation(id);
      assert.deepEqual([before?.status, before?.of, before?.percent], ['running', 1, 0]);
      const done = await operations.run(id, { onProgress: (each) => seen.push(each) });
      assert.deepEqual([done.status, done.percent, done.title], ['completed', 100, 'split at 50']);
      const percents = seen.map(({ percent }) => percent);
      assert.deepEqual(
        percents,
        percents.toSorted((left, right) => left - right),
      );
      const steps = [...new Set(seen.map(({ step }) => step))];
      const closed = mode === 'online' ? [] : ['closing'];
      const verified = mode === 'online' ? [] : ['verifying'];
      const expected = [...closed, 'copying', ...verified, 'handing-over', 'cleaning-up'];
      assert.deepEqual(steps, expected);
      assert.deepEqual(await operations.run(id), done);
      await assert.rejects(operations.cancel(id), OperationError);
      assert.equal(await map.shardOf(99), 'west');
      assert.deepEqual([await countIn(shards.north), await countIn(shards.west)], [1, 1]);
      assert.equal((await entities.queryAll().toArray({ max: 9 })).length, 4);
      assert.deepEqual(
        (await manager.operations()).map((each) => each.id),
        [id],
      );
    });
  }

  it('stops at any request, and is resumed by another program', costly(), async () => {
    const { settings, id, shards } = await begun('offline');
    // Each program is stopped at the next progress; the last one finds nothing left to do.
    let status = 'running';
    let programs = 0;
    for (; status !== 'completed' && programs < 20; programs += 1) {
      const map = await shardMapManagerOf(settings).open('orders', orders);
      const stop = new AbortController();
      let seen = 0;
      const run = map.operations.run(id, {
        signal: stop.signal,
        onProgress: () => {
          seen += 1;
          if (seen > programs) stop.abort(new Error('killed'));
        },
      });
      status = await run.then(
        (each) => each.status,
        () => 'stopped',
      );
      const told = await shardMapManagerOf(settings).operation(id);
      assert.equal(told?.status, status);
      assert.equal(told?.details, status === 'stopped' ? 'killed' : '');
    }
    assert.ok(programs > 2, `${programs}`);
    assert.deepEqual([await countIn(shards.north), await countIn(shards.west)], [1, 1]);
  });

  it('is cancelled by its id, with what was written since', costly(), async () => {
    const { manager, map, operations, id, entities } = await begun('read-only');
    const stop = new AbortController();
    const options = {
      signal: stop.signal,
      onProgress: ({ step }: Operation) => {
        if (step === 'copying') stop.abort(new Error('enough'));
      },
    };
    await assert.rejects(operations.run(id, options), /enough/);
    const one = { customer: 99, id: 1 };
    await assert.rejects(
      entities.merge(one, { amount: 2 }, { ifMatch: 'any' }),
      PartitionClosedError,
    );
    await entities.merge({ customer: 7, id: 1 }, { amount: 5 }, { ifMatch: 'any' });
    assert.equal((await operations.cancel(id)).status, 'cancelled');
    await entities.merge(one, { amount: 3 }, { ifMatch: 'any' });
    assert.equal(await map.shardOf(99), 'north');
    assert.equal((await operations.run(id)).status, 'cancelled');
    assert.equal((await operations.cancel(id)).status, 'cancelled');
    assert.equal((await manager.operation(id))?.details, 'taken back');
    await assert.rejects(operations.run('nothing'), OperationError);
  });

  it('that is cancelled ends the run of another program', costly(), async () => {
    const { map, operations, id, settings } = await begun();
    const other = await shardMapManagerOf(settings).open('orders', orders);
    let cancelled: Promise<Operation> | undefined;
    const run = operations.run(id, {
      onProgress: ({ step }) => {
        if (step === 'copying') cancelled ??= other.operations.cancel(id);
      },
    });
    // Whichever is first: the run ends as the operation does, and never half way.
    const { status } = await run.catch(async (error: unknown) => {
      await cancelled?.catch(() => undefined);
      throw error;
    });
    await cancelled?.catch((error: unknown) => assert.ok(error instanceof OperationError));
    assert.ok(status === 'cancelled' || status === 'completed', status);
    assert.equal(await map.shardOf(99), status === 'cancelled' ? 'north' : 'west');
    assert.equal((await map.map.state()).phase, 'settled');
  });

  it('is begun once and run once, by two programs at a time', costly(), async () => {
    const { manager, settings, map, shards } = await filled();
    await manager.addShard('west');
    const other = await shardMapManagerOf(settings).open('orders', orders);
    const begun = await Promise.allSettled(
      [map, other].map((each) => each.operations.begin(split(map), { title: 'split at 50' })),
    );
    const ids = begun.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []));
    assert.equal(ids.length, 1);
    const told = (await manager.operations()).map(({ status }) => status);
    assert.deepEqual(
      told.filter((status) => status === 'running'),
      ['running'],
    );
    const ran = await Promise.all([map, other].map((each) => each.operations.run(ids[0] ?? '')));
    assert.deepEqual(
      ran.map(({ status }) => status),
      ['completed', 'completed'],
    );
    assert.deepEqual([await countIn(shards.north), await countIn(shards.west)], [1, 1]);
  });

  it('asks for an empty target, one at a time', costly(), async () => {
    const { map, operations, id } = await begun();
    await operations.run(id, { cleanUp: false });
    const back = splitRange({ from: map.textOf(50), before: map.textOf(100) }, 'north');
    const begin = operations.begin(back, { title: 'back' });
    await assert.rejects(begin, /has rows of '000099' already/);
    const replaced = await operations.begin(back, { title: 'back', target: 'replaced' });
    await assert.rejects(
      operations.begin(split(map), { title: 'again' }),
      /is copying by the operation/,
    );
    assert.equal((await operations.run(replaced.id)).status, 'completed');
    assert.equal(await map.shardOf(99), 'north');
  });
});

it('sharded entities of a managed map are those of its schema', async () => {
  const { map } = await filled();
  assert.throws(() => map.entities(Note), /has no sharded type Note/);
  assert.equal((await shardedEntitiesOf(Order, map.map).get({ customer: 7, id: 1 }))?.amount, 1);
});
