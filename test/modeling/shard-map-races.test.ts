import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  EntityExistsError,
  EntityNotFoundError,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  mergeShards,
  moveShard,
  PartitionClosedError,
  rangeRouting,
  splitRange,
  StaleMapError,
  type ShardMap,
} from '../../src/modeling/patterns/shard-map/index.js';
import { byLength, costly, drawn, isLong } from '../support/run-length.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import {
  amountsIn,
  mapOf,
  newShardTables,
  ordersOf,
  ownersIn,
  partitionsIn,
  type Orders,
  type ShardTables,
  startTwoAccounts,
} from './support/sharded-orders.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import { deferred } from '../../src/base/async/deferred.js';

const { here, there, close } = await startTwoAccounts();
after(close);

const hurried = { timers: here.hurriedTimers, takeOverMs: 0 };
const toM = rangeRouting([
  { from: '', shard: 'a' },
  { from: 'm', shard: 'b' },
]);
const toC = moveShard('a', 'c');
const expected = [
  ['contoso 0', 10],
  ['contoso 1', 11],
  ['wingtip 0', 10],
] as const;

type Amounts = readonly (readonly [string, number])[];

async function filled(amounts: Amounts = expected): Promise<ShardTables> {
  const tables = await newShardTables(here, there);
  const map = mapOf(tables);
  await map.create(toM);
  for (const [name, amount] of amounts) {
    const [tenant = '', id] = name.split(' ');
    await ordersOf(map).insert({ tenant, id: Number(id), amount });
  }
  return tables;
}

function wrapped(tables: ShardTables, doomed: Doomed): ShardMap {
  const { a, b, c, control } = tables;
  const doomedTables = {
    a: doomed.wrap(a),
    b: doomed.wrap(b),
    c: doomed.wrap(c),
    control: doomed.wrap(control),
  };
  return mapOf(doomedTables, hurried);
}

/** Checks that every partition has at most one owner, and that the orders are exactly these. */
async function checkAll(tables: ShardTables, amounts: Amounts): Promise<void> {
  const orders = ordersOf(mapOf(tables));
  assert.deepEqual(await amountsIn(orders.queryAll()), amounts);
  for (const [name, amount] of amounts) {
    const [tenant = '', id] = name.split(' ');
    assert.equal((await orders.get({ tenant, id: Number(id) }))?.amount, amount, name);
  }
  for (const [tenant, owners] of await ownersIn(tables)) {
    assert.equal(owners.length, 1, `${tenant} is owned by ${owners.join()}`);
  }
}

async function stopped(run: Promise<unknown>): Promise<void> {
  await assert.rejects(run, /stopped/);
}
const atOnce = { signal: AbortSignal.abort(new Error('stopped')) };

/** As `filled`, with a change in which every partition is yet to be handed over. */
async function handingOver(amounts?: Amounts): Promise<ShardTables> {
  const tables = await filled(amounts);
  const map = mapOf(tables);
  await map.start(toC);
  await map.backfill();
  await stopped(map.cutOver(atOnce));
  return tables;
}

describe('a change that is killed', () => {
  it('between any two of its requests is ended by the same call', costly(), async () => {
    await crashEverywhere<ShardTables>({
      prepare: () => filled(expected.slice(0, 1)),
      run: async (tables, doomed) => {
        const map = wrapped(tables, doomed);
        await map.apply(toC);
        await map.cleanUp();
      },
      recover: async (tables) => {
        const map = mapOf(tables, hurried);
        await map.apply(toC);
        await map.cleanUp();
      },
      check: async (tables) => {
        await checkAll(tables, expected.slice(0, 1));
        assert.deepEqual(await partitionsIn(tables.a), []);
      },
      moments: ['after'],
    });
  });

  it(
    'while partitions are handed over is rolled back, and then tried again',
    costly(),
    async () => {
      await crashEverywhere<ShardTables>({
        prepare: () => handingOver(),
        run: (tables, doomed) => wrapped(tables, doomed).cutOver(),
        recover: async (tables) => {
          const map = mapOf(tables, hurried);
          await map.rollBack();
          await checkAll(tables, expected);
          await ordersOf(map).merge(
            { tenant: 'contoso', id: 0 },
            { amount: 20 },
            { ifMatch: 'any' },
          );
          await map.cleanUp();
          assert.deepEqual(await partitionsIn(tables.c), []);
          await map.apply(toC);
        },
        check: async (tables) => {
          const { phase } = await mapOf(tables).state();
          const amount = phase === 'settled' ? 20 : 10;
          await checkAll(tables, [['contoso 0', amount], ...expected.slice(1)]);
        },
        moments: ['after'],
      });
    },
  );

  it('while partitions are handed back is rolled back by the same call', costly(), async () => {
    await crashEverywhere<ShardTables>({
      prepare: async () => {
        const tables = await handingOver(expected.slice(0, 1));
        await mapOf(tables).cutOver();
        return tables;
      },
      run: (tables, doomed) => wrapped(tables, doomed).rollBack(),
      recover: (tables) => mapOf(tables, hurried).rollBack(),
      check: (tables) => checkAll(tables, expected.slice(0, 1)),
      moments: ['unanswered'],
    });
  });
});

describe('a writer that is killed', () => {
  const writes: Readonly<Record<string, (orders: Orders) => Promise<unknown>>> = {
    'an update': (orders) =>
      orders.update({ tenant: 'contoso', id: 0 }, (each) => ({ ...each, amount: 20 })),
    'the first insert of a partition': (orders) =>
      orders.insert({ tenant: 'fabrikam', id: 0, amount: 20 }),
  };
  for (const [name, write] of Object.entries(writes)) {
    for (const [when, prepare] of [
      ['before a change', () => filled()],
      ['while it is handed over', () => handingOver()],
    ] as const) {
      it(`in ${name} ${when} leaves all of it or nothing`, costly(), async () => {
        await crashEverywhere<ShardTables>({
          prepare,
          run: (tables, doomed) => write(ordersOf(wrapped(tables, doomed))),
          recover: async (tables) => {
            const found = await amountsIn(ordersOf(mapOf(tables)).queryAll());
            assert.ok(found.length >= 3 && found.length <= 4);
            const map = mapOf(tables, hurried);
            if ((await map.state()).phase === 'handing-over') await map.cutOver();
            await checkAll(tables, found);
            await ordersOf(map).upsertReplace({ tenant: 'fabrikam', id: 0, amount: 1 });
          },
          check: async (tables) => {
            for (const [tenant, owners] of await ownersIn(tables)) {
              assert.equal(owners.length, 1, tenant);
            }
          },
          moments: ['after'],
        });
      });
    }
  }
});

/**
 * Where a program stands still: at each of these requests in the long form of tests, and in the
 * short one at every third of them, from one of the first three on.
 */
function* standingAt(requests: readonly number[]): Generator<number> {
  const first = isLong ? 0 : drawn(3);
  for (let at = first; at < requests.length; at += isLong ? 1 : 3) yield requests[at] ?? 0;
}

/** Waits before its nth request until `goOn` is called. */
function pausing(request: number): {
  readonly wrap: (port: TableGateway) => TableGateway;
  readonly goOn: () => void;
  readonly reached: Promise<void>;
} {
  let sent = 0;
  const { promise: gate, resolve: goOn } = deferred();
  const { promise: reached, resolve: reach } = deferred();
  const wrap = (port: TableGateway): TableGateway =>
    wrappedMethods(port, async (_name, send): Promise<unknown> => {
      sent += 1;
      if (sent === request) {
        reach();
        await gate;
      }
      return send();
    });
  return { wrap, goOn, reached };
}

function pausingMap(tables: ShardTables, wrap: (port: TableGateway) => TableGateway): ShardMap {
  const { a, b, c, control } = tables;
  return mapOf(
    { a: wrap(a), b: wrap(b), c: wrap(c), control: wrap(control) },
    { ...hurried, refreshMs: Infinity },
  );
}

describe('a program that stood still', () => {
  const stale = { refreshMs: Infinity };

  it(
    'since before a change writes where the partitions are, blind writes and inserts too',
    costly(),
    async () => {
      const tables = await filled();
      const orders = ordersOf(mapOf(tables, stale));
      await orders.get({ tenant: 'contoso', id: 0 });
      const map = mapOf(tables);
      await map.apply(toC);
      await orders.upsertReplace({ tenant: 'contoso', id: 0, amount: 20 });
      await checkAll(tables, [['contoso 0', 20], ...expected.slice(1)]);
      const other = ordersOf(mapOf(tables, stale));
      await map.apply(mergeShards('c', 'b'));
      await map.cleanUp();
      await orders.insert({ tenant: 'contoso', id: 2, amount: 12 });
      await orders.insert({ tenant: 'fabrikam', id: 0, amount: 10 });
      await other.delete({ tenant: 'contoso', id: 1 }, { ifMatch: 'any' });
      await checkAll(tables, [
        ['contoso 0', 20],
        ['contoso 2', 12],
        ['fabrikam 0', 10],
        ['wingtip 0', 10],
      ]);
    },
  );

  it('undoes nothing and misplaces nothing, wherever in a write it stood', costly(), async () => {
    for (const write of ['update', 'insert'] as const) {
      for (const request of standingAt([1, 2, 3, 4, 5, 6, 7])) {
        const tables = await filled();
        const { wrap, goOn, reached } = pausing(request);
        const slow = ordersOf(pausingMap(tables, wrap));
        const late =
          write === 'update'
            ? slow.update({ tenant: 'contoso', id: 0 }, (o) => ({ ...o, amount: o.amount + 1 }))
            : slow.insert({ tenant: 'fabrikam', id: 0, amount: 7 });
        await Promise.race([reached, late]);
        const map = mapOf(tables);
        await map.apply(toC);
        const orders = ordersOf(map);
        const one = { tenant: 'contoso', id: 0 };
        await orders.update(one, (each) => ({ ...each, amount: each.amount + 100 }));
        await orders.upsertReplace({ tenant: 'fabrikam', id: 1, amount: 8 });
        await map.cleanUp();
        goOn();
        await late;
        const fabrikam = write === 'update' ? [] : ([['fabrikam 0', 7]] as const);
        const contoso = ['contoso 0', write === 'update' ? 111 : 110] as const;
        await checkAll(tables, [
          contoso,
          ['contoso 1', 11],
          ...fabrikam,
          ['fabrikam 1', 8],
          ['wingtip 0', 10],
        ]);
      }
    }
  });

  it(
    'in a step of a change harms no later one, there and back and there again',
    costly(),
    async () => {
      for (const request of standingAt([3, 9, 15, 21, 27, 33, 39, 45, 51, 57])) {
        const tables = await filled();
        const { wrap, goOn, reached } = pausing(request);
        const slow = pausingMap(tables, wrap);
        const sleeping = slow.apply(toC).catch((error: unknown) => error);
        await Promise.race([reached, sleeping]);
        const map = mapOf(tables, hurried);
        const orders = ordersOf(map);
        const add = (): Promise<unknown> =>
          orders.update({ tenant: 'contoso', id: 0 }, (o) => ({ ...o, amount: o.amount + 1 }));
        await add();
        await map.rollBack();
        await add();
        await map.apply(toC);
        await map.start(moveShard('c', 'a'));
        await map.backfill();
        await add();
        goOn();
        await sleeping;
        await add();
        await map.rollBack();
        await map.apply(moveShard('c', 'a'));
        await checkAll(tables, [['contoso 0', 14], ...expected.slice(1)]);
      }
    },
  );
});

describe('a partition that is closed while it moves', () => {
  for (const write of ['update', 'insert'] as const) {
    it(
      `takes no ${write} after close has resolved, wherever the writer stood`,
      costly(),
      async () => {
        for (const request of standingAt([1, 2, 3, 4, 5, 6, 7, 8, 9])) {
          const tables = await filled();
          const map = mapOf(tables, hurried);
          await map.start(toC);
          const { wrap, goOn, reached } = pausing(request);
          const slow = ordersOf(pausingMap(tables, wrap));
          const late =
            write === 'update'
              ? slow.update({ tenant: 'contoso', id: 0 }, (o) => ({ ...o, amount: o.amount + 1 }))
              : slow.insert({ tenant: 'fabrikam', id: 0, amount: 7 });
          const ended = late.catch((error: unknown) => error);
          await Promise.race([reached, ended]);
          await map.close('read-only');
          const stored = await amountsIn(ordersOf(mapOf(tables)).queryAll());
          goOn();
          const end = await ended;
          assert.deepEqual(await amountsIn(ordersOf(mapOf(tables)).queryAll()), stored);
          const acknowledged = write === 'update' ? 'contoso 0 11' : 'fabrikam 0 7';
          const isStored = stored.some((each) => each.join(' ') === acknowledged);
          assert.equal(isStored, !(end instanceof Error), `at request ${request}`);
          if (end instanceof Error) assert.ok(end instanceof PartitionClosedError, String(end));
          await map.backfill();
          assert.equal((await map.verify()).rows, 0);
          assert.equal((await map.cutOver()).rows, 0, 'nothing is copied again');
          await map.finish();
          await checkAll(tables, stored);
        }
      },
    );
  }

  it('is closed once by two programs at once, and opened again by a third that rolls back', async () => {
    const tables = await filled();
    const map = mapOf(tables, hurried);
    await map.start(toC);
    await Promise.all([map.close('offline'), mapOf(tables, hurried).close('offline')]);
    const orders = ordersOf(mapOf(tables, hurried));
    const one = { tenant: 'contoso', id: 0 };
    await assert.rejects(orders.get(one), PartitionClosedError);
    await mapOf(tables, hurried).rollBack();
    await orders.update(one, (each) => ({ ...each, amount: each.amount + 1 }));
    await orders.update({ tenant: 'wingtip', id: 0 }, (each) => ({ ...each, amount: 12 }));
    assert.deepEqual(await amountsIn(orders.queryAll()), [
      ['contoso 0', 11],
      ['contoso 1', 11],
      ['wingtip 0', 12],
    ]);
  });
});

describe('a handover that stood still', () => {
  for (const others of ['cutOver', 'rollBack'] as const) {
    it(`harms nothing after the others' ${others}`, costly(), async () => {
      for (const request of standingAt([4, 5, 6, 7, 8, 9, 10, 11, 12, 13])) {
        const tables = await handingOver(expected.slice(0, 1));
        const { wrap, goOn, reached } = pausing(request);
        const slow = pausingMap(tables, wrap).cutOver();
        const ended = slow.catch((error: unknown) => error);
        await Promise.race([reached, slow]);
        const map = mapOf(tables, hurried);
        const orders = ordersOf(map);
        const add = (): Promise<unknown> =>
          orders.update({ tenant: 'contoso', id: 0 }, (o) => ({ ...o, amount: o.amount + 1 }));
        await map[others]();
        await add();
        goOn();
        const end = await ended;
        if (others === 'cutOver') assert.ok(!(end instanceof Error), String(end));
        else assert.ok(end instanceof StaleMapError, String(end));
        await add();
        await checkAll(tables, [['contoso 0', 12]]);
      }
    });
  }
});

describe('two programs that make the same change', () => {
  it('do no harm, and end where one would', async () => {
    const tables = await filled();
    const untilDone = async (): Promise<void> => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await mapOf(tables).apply(toC);
          return;
        } catch (error) {
          if (attempt > 5 || !(error instanceof StaleMapError)) throw error;
        }
      }
    };
    await Promise.all([untilDone(), untilDone()]);
    await checkAll(tables, expected);
  });

  it('forget their progress at the same time', async () => {
    const tables = await filled();
    const { control } = tables;
    let forgotten = 0;
    // The other program deletes the same row first.
    const raced: TableGateway = {
      table: control.table,
      get: (key, select) => control.get(key, select),
      transact: (writes) => control.transact(writes),
      page: (query) => control.page(query),
      write: async (write) => {
        if (write.kind === 'delete') {
          await control.write(write);
          forgotten += 1;
        }
        return control.write(write);
      },
    };
    await mapOf({ ...tables, control: raced }).apply(toC);
    assert.ok(forgotten > 0);
    await checkAll(tables, expected);
  });
});

describe('writers with old maps and new, while shards move, split and merge', () => {
  const writerCount = byLength({ short: 4, long: 8 });

  it('lose no update, misplace none, and bring nothing back', costly(), async () => {
    const tables = await filled();
    const partitions = ['c0', 'f1', 'n2', 't3'];
    const shared = partitions.map(() => 0);
    const own = new Map<string, number>();
    let isOver = false;
    const isRunning = (): boolean => !isOver;
    const setUp = ordersOf(mapOf(tables));
    for (const tenant of partitions) await setUp.insert({ tenant, id: 0, amount: 0 });
    const writer = async (number: number): Promise<void> => {
      // Half of the writers never refresh the map by themselves.
      const refreshMs = number % 2 === 0 ? Infinity : 20;
      const orders = ordersOf(mapOf(tables, { refreshMs, reads: 'owned', takeOverMs: 50 }));
      for (let turn = 0; isRunning(); turn += 1) {
        const common = (turn + number) % partitions.length;
        const shop = { tenant: partitions[common] ?? '', id: 0 };
        await orders.update(shop, (each) => ({ ...each, amount: each.amount + 1 }));
        shared[common] = (shared[common] ?? 0) + 1;
        // Partitions are created and deleted as well.
        const mine = { tenant: `${'cnt'[turn % 3]}-${number}-${turn % 4}`, id: 1 };
        const name = `${mine.tenant} 1`;
        const known = own.get(name);
        assert.equal((await orders.get(mine))?.amount, known, name);
        if (known === undefined) {
          await orders.insert({ ...mine, amount: turn });
          own.set(name, turn);
        } else if (turn % 2 === 0) {
          await orders.delete(mine, { ifMatch: 'any' });
          own.delete(name);
        } else {
          await assert.rejects(orders.insert({ ...mine, amount: 0 }), EntityExistsError);
          await orders.upsertReplace({ ...mine, amount: turn });
          own.set(name, turn);
        }
        const nothing = orders.delete({ ...mine, id: 99 }, { ifMatch: 'any' });
        await assert.rejects(nothing, EntityNotFoundError);
        await delay(20);
      }
    };
    const writers = Array.from({ length: writerCount }, (_, number) =>
      writer(number).finally(() => (isOver = true)),
    );
    const map = mapOf(tables, { takeOverMs: 50 });
    const all = Promise.all(writers);
    all.catch(() => undefined);
    try {
      await delay(100);
      await map.apply(moveShard('a', 'c'));
      await map.start(splitRange({ from: 'f', before: 'p' }, 'a'));
      await map.backfill();
      await map.cutOver();
      await delay(50);
      await map.rollBack();
      await map.cleanUp();
      await map.apply(splitRange({ from: 'f', before: 'p' }, 'a'));
      await map.apply(mergeShards('c', 'b'));
      await map.cleanUp();
      // Until enough has happened, however slow the machine is.
      do await delay(50);
      while (isRunning() && shared.some((sum) => sum < 3));
    } finally {
      isOver = true;
      await all;
    }
    const sums = partitions.map((tenant, index) => [`${tenant} 0`, shared[index] ?? 0] as const);
    const byName = (left: readonly [string, number], right: readonly [string, number]) =>
      left[0] < right[0] ? -1 : 1;
    await checkAll(tables, [...expected, ...sums, ...own].sort(byName));
    await mapOf(tables).cleanUp();
    await checkAll(tables, [...expected, ...sums, ...own].sort(byName));
    assert.deepEqual(await partitionsIn(tables.c), []);
  });
});
