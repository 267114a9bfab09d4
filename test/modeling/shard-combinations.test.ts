import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../../src/base/clock.js';
import type { Timers } from '../../src/base/async/timers.js';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  writesOf,
  type TableGateway,
} from '../../src/modeling/index.js';
import { counter, openModel } from '../../src/modeling/model/index.js';
import {
  archiveEntities,
  deleteWhere,
} from '../../src/modeling/patterns/high-volume-delete/index.js';
import { otherPartition, withIndexes } from '../../src/modeling/patterns/indexes/index.js';
import {
  addShard,
  mergeShards,
  moveShard,
  assignTexts,
  shardQueryOf,
  splitRange,
  type RoutingChange,
} from '../../src/modeling/patterns/shard-map/index.js';
import { isContent } from '../../src/modeling/patterns/shard-map/shown-rows.js';
import {
  OperationError,
  reference,
  sharded,
  shardMapManagerOf,
  type KeyedRouting,
  type ManagedMap,
  type Operation,
  type ShardKeyText,
  type ShardLocation,
  type ShardMapManager,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import {
  onBadNetworks,
  Tally,
  tries,
  type BadNetwork,
  type BadProcess,
} from './support/bad-network.js';
import { impatientTimers } from './support/impatient-timers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { costly } from '../support/run-length.js';

// Everything at once over shards of a manager: a model with an index elsewhere and counts, purges,
// archives, bulk loads, reference data, queries over shards and programs with old maps, while
// operations change the map and shards are detached and attached, on a bad network.

const rounds = { short: 2, long: 40 };

const Order = defineEntity({
  type: 'Order',
  properties: { customer: int32(), id: int32(), amount: int32(), month: int32(), mail: string() },
  partitionKey: (p) => key`${p.customer.padded(6)}`,
  rowKey: (p) => key`order_${p.id.padded(4)}`,
});
const Total = defineEntity({
  type: 'Total',
  properties: { customer: int32(), orders: int32().default(0) },
  partitionKey: (p) => key`${p.customer.padded(6)}`,
  rowKey: () => key`total`,
});
const Visit = defineEntity({
  type: 'Visit',
  properties: { customer: int32(), id: int32() },
  partitionKey: (p) => key`${p.customer.padded(6)}`,
  rowKey: (p) => key`visit_${p.id.padded(6)}`,
});
const Archived = defineEntity({
  type: 'Archived',
  properties: { customer: int32(), id: int32(), amount: int32() },
  partitionKey: (p) => key`${p.id.padded(4)}`,
  rowKey: (p) => key`${p.customer.padded(6)}`,
});
const Country = defineEntity({
  type: 'Country',
  properties: { code: string(), version: int32() },
  partitionKey: () => key`countries`,
  rowKey: (p) => key`${p.code}`,
});
const schema = {
  version: 1,
  sharded: [sharded(Order, 'customer'), sharded(Total, 'customer'), sharded(Visit, 'customer')],
  reference: [reference(Country, { table: 'countries' })],
} as const;

const shardNames = ['north', 'south', 'west'] as const;
const customers = [7, 60, 99, 100, 500] as const;
const codes = ['is', 'no'] as const;
/** Rows: 1 stays, 2 is old and may be renewed, 3 is to be archived. */
const renewedMonth = 9;
const [stays, purged, archived] = [1, 2, 3];
const purgedBefore = 5;
const archivedFrom = 20;

const settleMs = 9000;
const refreshMs = 4000;

type Wire = (rows: MemoryRows, name: string) => TableGateway;

/** Tables of all accounts, and the time, which stands still but for waits of a map to settle. */
class World {
  readonly #tables = new Map<string, MemoryRows>();
  readonly #reading = new Set<Promise<void>>();
  #nowMs = 1_000_000;

  readonly clock: Clock = {
    nowMicros: () => this.#nowMs * 1000,
    monotonicMs: () => this.#nowMs,
  };

  readonly timers: Timers = {
    start: (delayMs, callback, argument) => {
      if (delayMs <= refreshMs || delayMs > settleMs) {
        return impatientTimers.start(delayMs, callback, argument);
      }
      let isClosed = false;
      const wait = async (): Promise<void> => {
        await Promise.all(this.#reading);
        this.#nowMs += delayMs;
        if (!isClosed) callback(argument);
      };
      void wait();
      return { close: () => (isClosed = true) };
    },
  };

  /** No map settles before what reads now has ended. */
  async reading(work: Promise<void>): Promise<void> {
    this.#reading.add(work);
    await work.finally(() => this.#reading.delete(work));
  }

  rows(account: string, table: string): MemoryRows {
    const name = `${account} ${table}`;
    const found = this.#tables.get(name) ?? new MemoryRows();
    this.#tables.set(name, found);
    return found;
  }

  manager(wire: Wire = (rows, table) => new MemoryTable(rows, { table }), isStale = false) {
    const locationOf = (account: string): ShardLocation => ({
      table: (name) => wire(this.rows(account, name), name),
      account: { create: async () => 'exists' as const },
    });
    return shardMapManagerOf({
      control: wire(this.rows('home', 'control'), 'control'),
      shards: Object.fromEntries(shardNames.map((name) => [name, locationOf(name)])),
      home: locationOf('home'),
      refreshMs: isStale ? refreshMs : 0,
      settleMs,
      takeOverMs: 0,
      clock: this.clock,
      timers: this.timers,
    });
  }
}

function modelOf(map: ManagedMap<'int'>) {
  return openModel({
    table: map.map.table,
    entities: {
      orders: withIndexes(Order, {
        mail: otherPartition({
          partitionKey: (p) => key`mail_${p.mail}`,
          rowKey: (p) => key`${p.customer.padded(6)}_${p.id.padded(4)}`,
          include: ['amount'],
        }),
      }),
      totals: Total,
    },
    keeps: [
      counter({
        source: Order,
        view: Total,
        keyOf: ({ customer }) => ({ customer }),
        measures: { orders: () => 1 },
      }),
    ],
    timers: impatientTimers,
  });
}

async function driftsOf(model: ReturnType<typeof modelOf>): Promise<readonly unknown[]> {
  const drifts: unknown[] = [];
  for await (const drift of model.verify()) drifts.push(drift);
  return drifts;
}

const open = (manager: ShardMapManager) => manager.open('orders', schema);
const isOpen = ({ status }: Operation): boolean => status !== 'completed' && status !== 'cancelled';

const routings: readonly KeyedRouting<number>[] = [
  { kind: 'range', ranges: [{ shard: 'north' }, { from: 100, shard: 'south' }] },
  { kind: 'hash', shards: ['north', 'south'], slots: 16 },
  {
    kind: 'list',
    keys: [
      [7, 'north'],
      [60, 'south'],
      [99, 'north'],
    ],
    otherwise: 'south',
  },
];

/** Changes of any map, and those of its kind of routing. */
function drawnChange(
  { random }: BadNetwork,
  map: ManagedMap<'int'>,
  { kind }: KeyedRouting<number>,
): RoutingChange<ShardKeyText<'int'>> {
  const from = map.textOf(random.between(1, 90));
  const before = map.textOf(random.between(91, 600));
  const shard = random.pick(shardNames);
  const ofKind = {
    range: [splitRange({ from, before }, shard), splitRange({ from }, shard)],
    list: [assignTexts([map.textOf(random.pick(customers))], shard)],
    hash: [addShard(shard)],
  };
  return random.pick([
    moveShard('north', 'west'),
    moveShard('west', 'south'),
    moveShard('south', 'north'),
    mergeShards('south', 'north'),
    mergeShards('west', 'north'),
    ...ofKind[kind],
    ...ofKind[kind],
  ]);
}

async function check(network: BadNetwork): Promise<void> {
  const { random } = network;
  const world = new World();
  const first = world.manager();
  for (const name of shardNames) await first.addShard(name);
  const routing = random.pick(routings);
  const made = await first.create({ name: 'orders', table: 'orders', schema, routing });
  const orders = modelOf(made).entities.orders;
  for (const customer of customers) {
    const row = { customer, amount: 0, mail: `m${customer % 2}` };
    await orders.insert({ ...row, id: stays, month: 10 });
    await orders.insert({ ...row, id: purged, month: 1 });
    await orders.insert({ ...row, id: archived, month: archivedFrom });
  }
  await modelOf(made).drain();
  const countries = made.reference(Country);
  for (const code of codes) await countries.entities.insert({ code, version: 0 });
  await countries.distribute();

  const faults: string[] = [];
  const amounts = new Map<string, Tally>();
  for (const customer of customers)
    for (const id of [stays, archived]) amounts.set(`${customer}:${id}`, new Tally());
  const renewed = new Set<number>();
  const visits = new Set<string>();
  const versions = new Map(codes.map((code) => [code, new Tally()]));
  const archiveRows = world.rows('archive', 'archive');

  /** A program that does something a few times in each of its lives. */
  const program =
    (
      lives: number,
      work: (
        map: ManagedMap<'int'>,
        process: BadProcess,
        manager: ShardMapManager,
      ) => Promise<unknown>,
      turns = 4,
    ) =>
    async (): Promise<void> => {
      for (let life = 0; life < lives; life += 1) {
        const process = network.start();
        const manager = world.manager(process.table, random.chance(0.5));
        await process.untilDeath(() =>
          tries(2, async () => {
            const map = await open(manager);
            await tries(turns, () => work(map, process, manager));
          }),
        );
      }
    };
  const writer = program(
    2,
    async (map) => {
      const model = modelOf(map);
      const [customer, id] = [random.pick(customers), random.pick([stays, archived])];
      await amounts.get(`${customer}:${id}`)?.add(() =>
        model.entities.orders.update({ customer, id }, (each) => ({
          ...each,
          amount: each.amount + 1,
          mail: `m${random.between(0, 2)}`,
        })),
      );
      if (random.chance(0.3)) await model.drain();
    },
    6,
  );
  const renewer = program(
    1,
    async (map) => {
      const customer = random.pick(customers);
      const at = { customer, id: purged };
      await modelOf(map).entities.orders.update(at, (each) => ({ ...each, month: renewedMonth }));
      renewed.add(customer);
    },
    2,
  );
  const purger = program(
    2,
    (map) =>
      deleteWhere(modelOf(map).entities.orders, {
        scan: 'table',
        where: (p) => p.month.lt(purgedBefore),
      }),
    1,
  );
  const archiveOf = (map: ManagedMap<'int'>, table: TableGateway) =>
    archiveEntities({
      from: modelOf(map).entities.orders,
      query: { where: (p) => p.month.ge(archivedFrom) },
      to: entitiesOf(Archived, table),
      convert: ({ customer, id, amount }) => ({ customer, id, amount }),
      isSame: () => true,
    });
  const archiver = program(
    2,
    (map, process) => archiveOf(map, process.table(archiveRows, 'archive')),
    1,
  );
  let visit = 0;
  const loader = program(
    2,
    async (map) => {
      const given = Array.from({ length: 12 }, () => ({
        customer: random.pick(customers),
        id: (visit += 1),
      }));
      const writes = given.map((each) => writesOf(Visit, { stamp: false }).insert(each));
      await bulk(map.map.table, writes, {
        timers: impatientTimers,
        onResult: ({ index, outcome }) => {
          const each = given[index];
          if (each !== undefined && outcome !== 'failed') visits.add(`${each.customer}:${each.id}`);
        },
      });
    },
    2,
  );
  const teller = program(2, async (map) => {
    const code = random.pick(codes);
    await versions
      .get(code)
      ?.add(() =>
        map
          .reference(Country)
          .entities.update({ code }, (each) => ({ ...each, version: each.version + 1 })),
      );
    await map.reference(Country).distribute();
  });
  const reader = program(2, async (map, process) => {
    const order = random.pick(['keys', 'none'] as const);
    const shown: string[] = [];
    let isWhole = false;
    const read = process.untilDeath(async () => {
      const query = shardQueryOf(
        Order,
        map,
        {},
        { order, parallel: random.between(1, 3), timers: impatientTimers },
      );
      for await (const { entity } of query)
        shown.push(`${String(entity.customer).padStart(6, '0')}:${entity.id}`);
      isWhole = true;
    });
    await world.reading(read);
    const twice = shown.filter((each, index) => shown.indexOf(each) !== index);
    if (twice.length > 0) faults.push(`twice ${order}: ${twice.join()}`);
    if (
      order === 'keys' &&
      shown.some((each, index) => index > 0 && each < (shown[index - 1] ?? ''))
    )
      faults.push(`order: ${shown.join()}`);
    if (!isWhole) return;
    for (const customer of customers) {
      const name = `${String(customer).padStart(6, '0')}:${stays}`;
      if (!shown.includes(name)) faults.push(`missing ${order}: ${name} of ${shown.join()}`);
    }
  });
  const operator = program(
    3,
    async (map, _process, manager) => {
      const known = (await manager.operations()).find(isOpen);
      const options = {
        title: 'it',
        mode: random.pick(['online', 'online', 'offline', 'read-only'] as const),
        target: random.pick(['empty', 'replaced'] as const),
      };
      const { id } =
        known ?? (await map.operations.begin(drawnChange(network, map, routing), options));
      if (random.chance(0.2)) await map.operations.cancel(id);
      else await map.operations.run(id);
    },
    2,
  );
  const keeper = program(
    2,
    async (map, _process, manager) => {
      const shard = random.pick(shardNames);
      if (random.chance(0.25)) await manager.detach(shard);
      for (const { name, status } of await manager.shards()) {
        if (status === 'detached') await manager.attach(name, [map], { keep: 'map', write: true });
      }
    },
    1,
  );
  const actors = [writer, renewer, purger, archiver, loader, teller, reader, keeper];
  const others = actors.filter(() => random.chance(0.6));
  await Promise.all([operator, operator, writer, reader, ...others].map((actor) => actor()));
  await network.mend();
  const manager = world.manager();
  const map = await open(manager);
  const toEnd = async () => {
    for (const { id } of (await manager.operations()).filter(isOpen)) await map.operations.run(id);
  };
  await toEnd();
  // What a program has begun that was killed before it knew that another one cancelled it.
  const state = await map.map.state();
  if (state.phase !== 'settled') {
    await assert.rejects(map.operations.run(state.operation ?? ''), OperationError);
  }
  assert.equal((await map.map.state()).phase, 'settled');
  for (const { name, status } of await manager.shards()) {
    if (status === 'detached') await manager.attach(name, [map], { keep: 'map', write: true });
  }
  await map.unguarded.cleanUp();
  assert.deepEqual((await map.unguarded.recovery.plan('map')).differences, []);
  const model = modelOf(map);
  await model.drain();
  const archive = new MemoryTable(archiveRows, { table: 'archive' });
  await archiveOf(map, archive);
  await deleteWhere(model.entities.orders, {
    scan: 'table',
    where: (p) => p.month.lt(purgedBefore),
  });
  await model.drain();
  assert.deepEqual(await driftsOf(model), []);
  for (const customer of customers) {
    const { orders } = model.entities;
    const staying = await orders.get({ customer, id: stays });
    assert.equal(
      amounts.get(`${customer}:${stays}`)?.fault(staying?.amount),
      undefined,
      `${customer}`,
    );
    assert.equal(await orders.get({ customer, id: archived }), undefined);
    const kept = await entitiesOf(Archived, archive).get({ customer, id: archived });
    assert.equal(
      amounts.get(`${customer}:${archived}`)?.fault(kept?.amount),
      undefined,
      `archived ${customer}`,
    );
    const old = await orders.get({ customer, id: purged });
    if (renewed.has(customer)) assert.equal(old?.month, renewedMonth, `renewed ${customer}`);
    const total = await model.entities.totals.get({ customer });
    assert.equal(total?.orders, old === undefined ? 1 : 2, `total ${customer}`);
  }
  for (const each of visits) {
    const [customer = 0, id = 0] = each.split(':').map(Number);
    assert.ok(await map.entities(Visit).get({ customer, id }), `visit ${each}`);
  }
  await countries.distribute();
  assert.deepEqual(await countries.verify({}), []);
  for (const code of codes) {
    const { version = -1 } = (await countries.entities.get({ code })) ?? {};
    assert.equal(versions.get(code)?.fault(version), undefined, code);
  }
  const places = new Map<string, string>();
  for (const name of shardNames) {
    for (const row of world.rows(name, 'orders').all) {
      if (!isContent(row)) continue;
      const place = `${row.partitionKey} ${row.rowKey}`;
      assert.equal(places.get(place), undefined, place);
      places.set(place, name);
    }
  }
  assert.deepEqual(faults, []);
}

describe('shards of a manager, with all that programs do at once on a bad network', () => {
  it('lose nothing, have nothing twice, and show each row once', costly(), async () => {
    await onBadNetworks(rounds, check);
  });
});

describe('an index of a model over shards', () => {
  it('is as its entity, though a program acts on a message that its old map shows', async () => {
    const world = new World();
    const manager = world.manager();
    for (const name of shardNames) await manager.addShard(name);
    const routing = { kind: 'list', keys: [[7, 'north']], otherwise: 'south' } as const;
    const map = await manager.create({ name: 'orders', table: 'orders', schema, routing });
    const model = modelOf(map);
    const at = { customer: 7, id: stays };
    await model.entities.orders.insert({ ...at, amount: 0, month: 1, mail: 'm0' });
    await model.drain();
    const late = modelOf(await open(world.manager(undefined, true)));
    await late.entities.orders.get(at);
    const update = (amount: number) =>
      model.entities.orders.update(at, (each) => ({ ...each, amount }));
    await update(1);
    const change = assignTexts([map.textOf(7)], 'west');
    const { id } = await map.operations.begin(change, { title: 'it', mode: 'online' });
    await map.operations.run(id, { cleanUp: false });
    await update(2);
    await model.drain();
    await late.drain();
    assert.deepEqual(await driftsOf(model), []);
  });
});
