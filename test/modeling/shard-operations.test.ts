import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defineEntity, int32, key } from '../../src/modeling/index.js';
import {
  mergeShards,
  moveShard,
  PartitionClosedError,
  splitRange,
} from '../../src/modeling/patterns/shard-map/index.js';
import type { RoutingChange } from '../../src/modeling/patterns/shard-map/index.js';
import {
  sharded,
  type ManagedMap,
  type Operation,
  type OperationMode,
  type ShardMapManager,
  type ShardKeyText,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { sampled } from '../support/run-length.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import {
  filledShards,
  Order,
  orderSchema,
  type MemoryShards,
  type ShardName,
} from './support/memory-shards.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Whatever changes shards and their maps, killed at every request and called again.

type Text = (key: number) => ShardKeyText<'int'>;

interface Kind {
  readonly change: (textOf: Text) => RoutingChange<ShardKeyText<'int'>>;
  /** Where the customers are afterwards. */
  readonly places: Readonly<Record<string, ShardName>>;
}

const before = { 7: 'north', 60: 'north', 99: 'north', 100: 'south', 500: 'south' } as const;

const placesBefore: Kind['places'] = before;

const kinds: Readonly<Record<string, Kind>> = {
  split: {
    change: (textOf) => splitRange({ from: textOf(50), before: textOf(100) }, 'west'),
    places: { ...before, 60: 'west', 99: 'west' },
  },
  merge: {
    change: () => mergeShards('south', 'north'),
    places: { ...before, 100: 'north', 500: 'north' },
  },
  move: {
    change: () => moveShard('north', 'west'),
    places: { ...before, 7: 'west', 60: 'west', 99: 'west' },
  },
};

const modes: readonly OperationMode[] = ['online', 'read-only', 'offline'];
const cases = Object.keys(kinds).flatMap((kind) => modes.map((mode) => ({ kind, mode })));

function kindOf(name: string): Kind {
  const kind = kinds[name];
  assert.ok(kind, name);
  return kind;
}

const open = (manager: ShardMapManager): Promise<ManagedMap<'int'>> =>
  manager.open('orders', orderSchema);

/** Begins the operation unless it has begun, and runs it to its end. */
async function operate(
  manager: ShardMapManager,
  { change }: Kind,
  mode: OperationMode,
): Promise<Operation> {
  const map = await open(manager);
  const operations = await manager.operations();
  const known = operations.find(({ status }) => status !== 'cancelled');
  if (known !== undefined) {
    const ended = await map.operations.run(known.id);
    // One whose program was killed before the map knew of it never began.
    if (ended.status === 'completed') return ended;
  }
  const { id } = await map.operations.begin(
    change((key) => map.textOf(key)),
    { title: 'it', mode },
  );
  return map.operations.run(id);
}

/** Every order is on its shard and there alone, and no partition is open anywhere else. */
async function checkPlaces(shards: MemoryShards, places: Kind['places']): Promise<void> {
  const { rows, owners } = await shards.content();
  const expected = Object.entries(places).map(([customer, shard]) => [`${customer}:1`, [shard]]);
  assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(expected));
  for (const [partition, names] of owners) {
    assert.deepEqual(names, [places[Number(partition)]], partition);
  }
  const map = await open(shards.manager());
  for (const [customer, shard] of Object.entries(places)) {
    const found = await map.entities(Order).get({ customer: Number(customer), id: 1 });
    assert.equal(found?.amount, 1, `${customer} on ${shard}`);
  }
}

/** Ends whatever a killed program has left, and tells what is written of it. */
async function settled(shards: MemoryShards): Promise<readonly Operation[]> {
  const { phase } = await (await open(shards.manager())).map.state();
  assert.equal(phase, 'settled');
  return shards.manager().operations();
}

interface World {
  readonly shards: MemoryShards;
  other: Promise<unknown>;
}

async function world(): Promise<World> {
  return { shards: (await filledShards()).shards, other: Promise.resolve() };
}

describe('an operation that is killed at any of its requests', () => {
  for (const { kind, mode } of sampled(cases, 2)) {
    it(`is ended by another program: ${kind}, ${mode}`, async () => {
      const wanted = kindOf(kind);
      await crashEverywhere<World>({
        prepare: world,
        run: ({ shards }, doomed) => operate(shards.manager(wrapOf(doomed)), wanted, mode),
        recover: ({ shards }) => operate(shards.manager(), wanted, mode),
        check: async ({ shards }) => {
          const told = (await settled(shards)).filter(({ status }) => status !== 'cancelled');
          assert.deepEqual(
            told.map(({ status, percent }) => [status, percent]),
            [['completed', 100]],
          );
          await checkPlaces(shards, wanted.places);
        },
      });
    });
  }

  for (const { kind, mode } of sampled(cases, 1)) {
    it(`is ended by one that runs it beside: ${kind}, ${mode}`, async () => {
      const wanted = kindOf(kind);
      await crashEverywhere<World>({
        prepare: async () => {
          const made = await world();
          const map = await open(made.shards.manager());
          await map.operations.begin(
            wanted.change((key) => map.textOf(key)),
            { title: 'it', mode },
          );
          return made;
        },
        run: (made, doomed) => {
          made.other = operate(made.shards.manager(), wanted, mode);
          // It is awaited when the other one is dead.
          made.other.catch(() => undefined);
          return operate(made.shards.manager(wrapOf(doomed)), wanted, mode);
        },
        recover: async (made) => {
          await made.other;
          await operate(made.shards.manager(), wanted, mode);
        },
        check: async ({ shards }) => {
          assert.deepEqual(
            (await settled(shards)).map(({ status }) => status),
            ['completed'],
          );
          await checkPlaces(shards, wanted.places);
        },
      });
    });
  }

  for (const { kind, mode } of sampled(cases, 1)) {
    it(`while it is cancelled is taken back, or has gone through: ${kind}, ${mode}`, async () => {
      const wanted = kindOf(kind);
      const cancelAll = async (manager: ShardMapManager): Promise<void> => {
        const map = await open(manager);
        for (const { id, status } of await manager.operations()) {
          if (status !== 'cancelled') await map.operations.cancel(id);
        }
      };
      await crashEverywhere<World>({
        prepare: async () => {
          const made = await world();
          const manager = made.shards.manager(stoppingHalfWay());
          await assert.rejects(operate(manager, wanted, mode), /stopped/);
          return made;
        },
        run: ({ shards }, doomed) => cancelAll(shards.manager(wrapOf(doomed))),
        recover: async ({ shards }) => {
          await cancelAll(shards.manager());
          await (await open(shards.manager())).unguarded.cleanUp();
        },
        check: async ({ shards }) => {
          assert.deepEqual(
            (await settled(shards)).map(({ status }) => status),
            ['cancelled'],
          );
          await checkPlaces(shards, before);
        },
      });
    });
  }
});

/** A program that writes all orders in turn, beside whatever changes their shards. */
class Writer {
  readonly #map: Promise<ManagedMap<'int'>>;
  readonly #done: Promise<void>;
  #isStopped = false;
  /** By customer, how often its order was changed. */
  readonly changes = new Map<number, number>();
  /** Orders that were inserted, as `customer:id`. */
  readonly inserted: string[] = [];
  /** Customers whose writes were refused. */
  readonly refused = new Set<number>();

  constructor(manager: ShardMapManager) {
    this.#map = open(manager);
    this.#done = this.#run();
    this.#done.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    for (let round = 2; !this.#isStopped; round += 1) {
      for (const customer of Object.keys(before).map(Number)) await this.#write(customer, round);
    }
  }

  async #write(customer: number, id: number): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const orders = (await this.#map).entities(Order);
    try {
      await orders.update({ customer, id: 1 }, (order) => ({ ...order, amount: order.amount + 1 }));
      this.changes.set(customer, (this.changes.get(customer) ?? 0) + 1);
      if (id > insertsMax) return;
      await orders.insert({ customer, id, amount: 0 });
      this.inserted.push(`${customer}:${id}`);
    } catch (error) {
      if (!(error instanceof PartitionClosedError)) throw error;
      this.refused.add(customer);
    }
  }
}

/** Keeps copies small however long a writer goes on. */
const insertsMax = 12;

describe('an operation beside which programs write, killed at any of its requests', () => {
  interface Written extends World {
    writer?: Writer;
  }
  for (const { kind, mode } of sampled(cases, 2)) {
    it(`loses nothing, takes nothing twice, and refuses what moves alone: ${kind}, ${mode}`, async () => {
      const wanted = kindOf(kind);
      await crashEverywhere<Written>({
        prepare: world,
        run: (made, doomed) => {
          made.writer = new Writer(made.shards.manager());
          return operate(made.shards.manager(wrapOf(doomed)), wanted, mode);
        },
        recover: ({ shards }) => operate(shards.manager(), wanted, mode),
        check: async ({ shards, writer }) => {
          assert.ok(writer);
          await writer.stop();
          await settled(shards);
          const { rows, owners } = await shards.content();
          const expected = [
            ...Object.keys(before).map((customer) => `${customer}:1`),
            ...writer.inserted,
          ].map((name) => [name, [wanted.places[Number(name.split(':')[0])]]]);
          assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(expected));
          for (const [partition, names] of owners) {
            assert.deepEqual(names, [wanted.places[Number(partition)]], partition);
          }
          const orders = (await open(shards.manager())).entities(Order);
          for (const customer of Object.keys(before).map(Number)) {
            const amount = (await orders.get({ customer, id: 1 }))?.amount;
            assert.equal(amount, 1 + (writer.changes.get(customer) ?? 0), `${customer}`);
          }
          const stays = (customer: number) => wanted.places[customer] === placesBefore[customer];
          assert.ok(![...writer.refused].some((customer) => mode === 'online' || stays(customer)));
        },
      });
    });
  }
});

/** Fails when one partition is handed over and another is under way. */
function stoppingHalfWay(): <T extends object>(port: T) => T {
  let left = Infinity;
  return (port) =>
    wrappedMethods(port, async (name, send, given): Promise<unknown> => {
      if (name === 'transact') left -= 1;
      if (left <= 0) throw new Error('stopped');
      if (JSON.stringify(given, shown).includes('"handing-over"')) left = Math.min(left, 2);
      return send();
    });
}

function shown(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function wrapOf(doomed: Doomed): <T extends object>(port: T) => T {
  return (port) => doomed.wrap(port);
}

const Wider = defineEntity({
  type: 'Order',
  properties: { customer: int32(), id: int32(), amount: int32(), discount: int32().default(0) },
  partitionKey: (p) => key`${p.customer.padded(6)}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const wider = { version: 2, sharded: [sharded(Wider, 'customer')] } as const;

interface Step {
  /** What is there before. */
  readonly prepare?: (shards: MemoryShards) => Promise<void>;
  readonly run: (manager: ShardMapManager) => Promise<unknown>;
  readonly check: (manager: ShardMapManager, shards: MemoryShards) => Promise<void>;
}

const routing = {
  kind: 'range',
  ranges: [{ shard: 'north' }, { from: 100, shard: 'south' }],
} as const;

const steps: Readonly<Record<string, Step>> = {
  'the registration of a shard': {
    prepare: async (shards) => shards.manager().dropShard('west'),
    run: (manager) => manager.addShard('west', { region: 'eu' }),
    check: async (manager) => {
      const found = (await manager.shards()).find(({ name }) => name === 'west');
      assert.deepEqual([found?.status, found?.region], ['online', 'eu']);
    },
  },
  'the creation of a map': {
    run: (manager) =>
      manager.create({ name: 'others', table: 'others', schema: orderSchema, routing }),
    check: async (manager) => {
      const map = await manager.open('others', orderSchema);
      await map.entities(Order).insert({ customer: 7, id: 2, amount: 2 });
      assert.equal(await map.shardOf(100), 'south');
    },
  },
  'the upgrade of a schema': {
    run: (manager) => manager.upgrade('orders', wider),
    check: async (manager) => {
      const map = await manager.open('orders', wider);
      assert.equal((await map.entities(Wider).get({ customer: 7, id: 1 }))?.discount, 0);
    },
  },
  'the end of a shard': {
    run: (manager) => manager.dropShard('west'),
    check: async (manager) => {
      assert.deepEqual(
        (await manager.shards()).map(({ name }) => name),
        ['north', 'south'],
      );
      await manager.addShard('west');
      const map = await open(manager);
      const { id } = await map.operations.begin(moveShard('south', 'west'), { title: 'again' });
      await map.operations.run(id);
    },
  },
  'the end of a map': {
    run: (manager) => manager.drop('orders', { rows: 'kept' }),
    check: async (manager) => {
      assert.deepEqual(await manager.maps(), []);
      const map = await manager.create({
        name: 'others',
        table: 'orders',
        schema: orderSchema,
        routing,
      });
      assert.equal((await map.entities(Order).get({ customer: 500, id: 1 }))?.amount, 1);
    },
  },
  'the detaching of a shard': {
    run: (manager) => manager.detach('west'),
    check: async (manager) => {
      const found = (await manager.shards()).find(({ name }) => name === 'west');
      assert.equal(found?.status, 'detached');
    },
  },
  'the attaching of a shard that was restored': {
    prepare: async (shards) => {
      const manager = shards.manager();
      const map = await open(manager);
      const copy = shards.rows('south', 'orders').copy();
      await map.unguarded.apply(moveShard('south', 'west'));
      await map.entities(Order).update({ customer: 500, id: 1 }, (o) => ({ ...o, amount: 5 }));
      await map.unguarded.cleanUp();
      await manager.detach('south');
      shards.restore('south', 'orders', copy);
    },
    run: async (manager) => {
      const map = await open(manager);
      // What a killed program had begun is ended by the steps of a change.
      if ((await map.unguarded.state()).phase !== 'settled') {
        await map.unguarded.cutOver();
        await map.unguarded.finish();
      }
      await manager.attach('south', [map], { keep: 'map', write: true });
    },
    check: async (manager, shards) => {
      assert.ok((await manager.shards()).every(({ status }) => status === 'online'));
      const map = await open(manager);
      await map.unguarded.cleanUp();
      const { rows } = await shards.content();
      assert.deepEqual(rows.get('500:1'), ['west']);
      assert.equal((await map.entities(Order).get({ customer: 500, id: 1 }))?.amount, 5);
    },
  },
};

describe('an operation that another program ends while it begins', () => {
  /** Ends all operations when the map is about to know of the first one. */
  function endedBefore(
    shards: MemoryShards,
    andThen: () => Promise<void>,
  ): <T extends object>(port: T) => T {
    let isOver = false;
    return (port) =>
      wrappedMethods(port, async (_name, send, given): Promise<unknown> => {
        const isStart = JSON.stringify(given, shown).includes('"copying"');
        if (!isStart || isOver) return send();
        isOver = true;
        const map = await open(shards.manager());
        for (const { id } of await shards.manager().operations()) await map.operations.run(id);
        const answer: unknown = await send();
        await andThen();
        return answer;
      });
  }
  const wanted = kindOf('split');

  it('stays cancelled, and leaves nothing under way', async () => {
    const { shards } = await filledShards();
    const manager = shards.manager(endedBefore(shards, () => Promise.resolve()));
    await assert.rejects(operate(manager, wanted, 'online'), /was cancelled before it began/);
    assert.deepEqual(
      (await settled(shards)).map(({ status }) => status),
      ['cancelled'],
    );
    await checkPlaces(shards, before);
  });

  it('is taken back by the next one when its program was killed', async () => {
    const { shards } = await filledShards();
    const manager = shards.manager(endedBefore(shards, () => Promise.reject(new Error('killed'))));
    await assert.rejects(operate(manager, wanted, 'online'), /killed/);
    assert.equal((await (await open(shards.manager())).map.state()).phase, 'copying');
    await operate(shards.manager(), kindOf('move'), 'online');
    assert.deepEqual((await settled(shards)).map(({ status }) => status).toSorted(), [
      'cancelled',
      'completed',
    ]);
    await checkPlaces(shards, kindOf('move').places);
  });

  it('is taken back by whoever runs or cancels it then', async () => {
    for (const call of ['run', 'cancel'] as const) {
      const { shards } = await filledShards();
      const manager = shards.manager(
        endedBefore(shards, () => Promise.reject(new Error('killed'))),
      );
      await assert.rejects(operate(manager, wanted, 'online'), /killed/);
      const [told] = await manager.operations();
      const map = await open(shards.manager());
      assert.equal((await map.operations[call](told?.id ?? '')).status, 'cancelled');
      assert.equal((await map.map.state()).phase, 'settled', call);
    }
  });
});

describe('a shard whose table is being deleted', () => {
  it('is refused with what to do, and is not registered without its table', async () => {
    const { shards } = await filledShards();
    await shards.manager().dropShard('west');
    let answer: 'exists' | 'being-deleted' = 'being-deleted';
    const manager = shards.manager((port) => port, {
      shards: {
        west: {
          table: () => shards.table('west'),
          account: { create: () => Promise.resolve(answer) },
        },
      },
    });
    await assert.rejects(manager.addShard('west'), /'orders' of the shard 'west' is being deleted/);
    assert.equal((await manager.shards()).length, 2);
    answer = 'exists';
    await manager.addShard('west');
    assert.equal((await manager.shards()).length, 3);
  });
});

describe('a change of shards or maps that is killed at any of its requests', () => {
  for (const [name, step] of sampled(Object.entries(steps), 3)) {
    it(`is ended by the same call: ${name}`, async () => {
      await crashEverywhere<MemoryShards>({
        prepare: async () => {
          const { shards } = await filledShards();
          await step.prepare?.(shards);
          return shards;
        },
        run: (shards, doomed) => step.run(shards.manager(wrapOf(doomed))),
        recover: (shards) => step.run(shards.manager()),
        check: (shards) => step.check(shards.manager(), shards),
      });
    });

    it(`is ended by one of two that make it at once: ${name}`, async () => {
      const { shards } = await filledShards();
      await step.prepare?.(shards);
      const ends = await Promise.allSettled([shards.manager(), shards.manager()].map(step.run));
      // One may find that the other is ahead; nothing else goes wrong, and the call ends it.
      await step.run(shards.manager());
      await step.check(shards.manager(), shards);
      assert.ok(ends.some(({ status }) => status === 'fulfilled'));
    });
  }
});
