import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  entitiesOf,
  ModelError,
  rowKeyOf,
  type RowPage,
  type RowQuery,
  type TableGateway,
  ValueError,
} from '../../src/modeling/index.js';
import {
  listRouting,
  moveShard,
  rangeRouting,
  shardQueryOf,
  ShardQueryError,
  shardMapOf,
  staticShardMapOf,
  type ShardMap,
  type ShardQueryOptions,
} from '../../src/modeling/patterns/shard-map/index.js';
import { allPages } from '../../src/modeling/table/all-rows.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { manualTime } from './support/manual-timers.js';
import {
  begunMove,
  mapOf,
  newShardTables,
  Order,
  ordersOf,
  tenants,
  startTwoAccounts,
  withPages,
} from './support/sharded-orders.js';
import { costly } from '../support/run-length.js';

const { here, there, close } = await startTwoAccounts();
after(close);

/** contoso and fabrikam on a, northwind and tailspin on b, wingtip on c. */
const routing = rangeRouting([
  { from: '', shard: 'a' },
  { from: 'n', shard: 'b' },
  { from: 'w', shard: 'c' },
]);

/** A gateway whose pages another function answers first. */
function withPagesAfter(table: TableGateway, before: () => Promise<void>): TableGateway {
  return withPages(table, async (query) => {
    await before();
    return table.page(query);
  });
}

/** What one part of a test waits for and another one gives. */
function newSignal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give: () => give() };
}

interface World {
  readonly map: ShardMap;
  /** The same map, for a program whose pages of shard b are answered as `before` says. */
  readonly seen: (before: () => Promise<void>) => ShardMap;
}

async function world(): Promise<World> {
  const { control, ...shards } = await newShardTables(here, there);
  const open = (tables: Readonly<Record<string, TableGateway>>): ShardMap =>
    shardMapOf({ name: 'orders', control, shards: tables, refreshMs: 0, settleMs: 0 });
  const map = open(shards);
  await map.create(routing);
  const orders = ordersOf(map);
  for (const tenant of tenants) {
    for (const id of [1, 2]) await orders.insert({ tenant, id, amount: id });
  }
  return { map, seen: (before) => open({ ...shards, b: withPagesAfter(shards.b, before) }) };
}

/** Shared by tests that only read. */
const orders = await world();

async function shown(
  map: Pick<ShardMap, 'views'>,
  options: ShardQueryOptions = {},
): Promise<readonly string[]> {
  const rows: string[] = [];
  for await (const { shard, entity } of shardQueryOf(Order, map, {}, options)) {
    rows.push(`${shard} ${entity.tenant} ${entity.id}`);
  }
  return rows;
}

const inOrder = tenants.flatMap((tenant) => {
  const shard = tenant < 'n' ? 'a' : tenant < 'w' ? 'b' : 'c';
  return [`${shard} ${tenant} 1`, `${shard} ${tenant} 2`];
});
const withoutB = inOrder.filter((row) => !row.startsWith('b'));

describe('a query over shards', () => {
  it('gives each row once with its shard, in order of keys where asked for', async () => {
    const { map } = orders;
    assert.deepEqual(await shown(map, { order: 'keys' }), inOrder);
    assert.deepEqual((await shown(map, { parallel: 1 })).toSorted(), inOrder);
    assert.deepEqual((await shown(map)).toSorted(), inOrder);
  });

  it('asks only the shards that are named', async () => {
    const { map } = orders;
    assert.deepEqual(await shown(map, { shards: ['c'] }), ['c wingtip 1', 'c wingtip 2']);
    await assert.rejects(shown(map, { shards: ['d'] }), ValueError);
    assert.throws(() => shardQueryOf(Order, map, {}, { parallel: 0 }), ValueError);
  });

  it('applies its conditions on every shard', async () => {
    const { map } = orders;
    const query = shardQueryOf(Order, map, { where: (p) => p.amount.gt(1) }, { order: 'keys' });
    const found: string[] = [];
    for await (const { entity } of query)
      found.push(`${rowKeyOf(entity).partitionKey} ${entity.id}`);
    assert.deepEqual(
      found,
      tenants.map((tenant) => `${tenant} 2`),
    );
  });

  it('fails with the name of the shard, or reports it and gives the others', async () => {
    const { seen } = orders;
    const map = seen(() => Promise.reject(new ModelError('it is away')));
    for (const order of ['keys', 'none'] as const) {
      await assert.rejects(shown(map, { order, label: 'all orders' }), (error) => {
        assert.ok(error instanceof ShardQueryError);
        assert.equal(error.shard, 'b');
        assert.match(error.message, /'all orders'.*'b'.*it is away/);
        return true;
      });
      const query = shardQueryOf(Order, map, {}, { order, partial: 'report' });
      // A second run begins anew, and so do its failures.
      for (let round = 0; round < 2; round++) {
        const rows: string[] = [];
        for await (const { shard, entity } of query)
          rows.push(`${shard} ${entity.tenant} ${entity.id}`);
        assert.deepEqual(rows.toSorted(), withoutB);
        assert.deepEqual(
          query.failures.map(({ shard }) => shard),
          ['b'],
        );
      }
    }
  });

  it('ends at its deadline, with what other shards have given', async () => {
    const { seen } = orders;
    for (const order of ['keys', 'none'] as const) {
      for (const partial of ['fail', 'report'] as const) {
        const time = manualTime();
        const asked = newSignal();
        const map = seen(() => {
          asked.give();
          return new Promise(() => undefined);
        });
        const options = { order, partial, deadlineMs: 1000, timers: time, clock: time.clock };
        const query = shardQueryOf(Order, map, {}, options);
        const rows: string[] = [];
        const othersDone = newSignal();
        const read = (async () => {
          for await (const { shard, entity } of query) {
            rows.push(`${shard} ${entity.tenant} ${entity.id}`);
            if (rows.length === withoutB.length) othersDone.give();
          }
        })();
        const failure = read.catch((error: unknown) => error);
        await asked.given;
        if (order === 'none') await othersDone.given;
        await time.pass(1000);
        const ended = await failure;
        assert.deepEqual(time.waiting, []);
        assert.equal(ended instanceof ShardQueryError, partial === 'fail', String(ended));
        if (order === 'none') assert.deepEqual(rows.toSorted(), withoutB);
        if (partial === 'report') assert.ok(query.failures.some(({ shard }) => shard === 'b'));
      }
    }
  });

  it('gives each row once in every phase of a move', costly(), async () => {
    const { map } = await world();
    const content = (rows: readonly string[]) => rows.map((row) => row.slice(2)).toSorted();
    const expected = content(inOrder);
    const check = async (what: string) => {
      for (const order of ['keys', 'none'] as const) {
        assert.deepEqual(content(await shown(map, { order })), expected, what);
      }
    };
    await map.start(moveShard('b', 'c'));
    await map.backfill();
    await check('copied');
    await map.cutOver();
    await check('handed over');
    await map.rollBack();
    await check('handed back');
    await map.apply(moveShard('b', 'c'));
    await check('settled');
    await map.cleanUp();
    await check('cleaned up');
    assert.equal(await map.shardOf('northwind'), 'c');
  });

  it('gives each row once where a partition moves between its pages', async () => {
    const { map, seen } = await world();
    let asked = 0;
    const moving = seen(async () => {
      asked += 1;
      if (asked === 1) await map.apply(moveShard('b', 'a'));
    });
    const rows = await shown(moving, { order: 'keys' });
    assert.deepEqual(
      rows.map((row) => row.slice(2)),
      inOrder.map((row) => row.slice(2)),
    );
  });

  it('reads shards one by one, which are not written to', async () => {
    const { map } = orders;
    const views = await map.views();
    assert.deepEqual(views.shards, ['a', 'b', 'c']);
    const contoso = { tenant: 'contoso', id: 1 };
    assert.equal((await entitiesOf(Order, views.view('a')).get(contoso))?.amount, 1);
    assert.equal(await entitiesOf(Order, views.view('b')).get(contoso), undefined);
    await assert.rejects(
      entitiesOf(Order, views.view('a')).insert({ ...contoso, amount: 1 }),
      ValueError,
    );
  });

  it('goes over the shards of a map that never changes', async () => {
    const { control: _, ...shards } = await newShardTables(here, there);
    const map = staticShardMapOf({ name: 'orders', shards, routing });
    await entitiesOf(Order, map.table).insert({ tenant: 'wingtip', id: 1, amount: 1 });
    const rows: string[] = [];
    for await (const { shard } of shardQueryOf(Order, map)) rows.push(shard);
    assert.deepEqual(rows, ['c']);
  });
});

/** Does something the first time only. */
function once(work: () => Promise<void>): () => Promise<void> {
  let isDone = false;
  return async () => {
    if (isDone) return;
    isDone = true;
    await work();
  };
}

describe('a query over shards of which one takes a partition over meanwhile', () => {
  const expected = ['contoso 1', 'contoso 2', 'wingtip 1'];

  for (const order of ['keys', 'none'] as const) {
    it(`gives what was read too early to be on the new shard, order: ${order}`, async () => {
      const { map, tables } = await begunMove('c', 'a', { isCopied: false });
      // With one at a time, the new shard has been read when the old one is asked.
      const handOver = once(async () => void (await map.cutOver()));
      const seen = mapOf({ ...tables, c: withPagesAfter(tables.c, handOver) });
      const rows = await shown(seen, { order, parallel: 1 });
      assert.deepEqual(rows.map((row) => row.slice(2)).toSorted(), expected);
    });

    it(`gives what was read side by side with the handover, order: ${order}`, async () => {
      const { map, tables } = await begunMove('c', 'a', { isCopied: false });
      const isRead = newSignal();
      const isHandedOver = newSignal();
      const a = withPages(tables.a, async (query) => {
        const page = await tables.a.page(query);
        isRead.give();
        await isHandedOver.given;
        // By now the old shard's page has been answered, and whose the partition is.
        await setImmediate();
        return page;
      });
      const c = withPagesAfter(tables.c, async () => {
        await isRead.given;
        await map.cutOver();
        isHandedOver.give();
      });
      const rows = await shown(mapOf({ ...tables, a, c }), { order });
      assert.deepEqual(rows.toSorted(), ['a contoso 1', 'a contoso 2', 'a wingtip 1']);
    });

    it(`gives no copy from before the handover, order: ${order}`, async () => {
      const { map, tables } = await begunMove('c', 'a', { isCopied: true });
      const first = { tenant: 'contoso', id: 1 };
      await ordersOf(map).update(first, (found) => ({ ...found, amount: 7 }));
      const handOver = once(async () => void (await map.cutOver()));
      const late = withPages(tables.a, async (query) => {
        const page = await tables.a.page(query);
        await handOver();
        return page;
      });
      const query = shardQueryOf(Order, mapOf({ ...tables, a: late }), {}, { order, parallel: 1 });
      const found: (readonly [string, number, number])[] = [];
      for await (const { entity } of query) found.push([entity.tenant, entity.id, entity.amount]);
      assert.deepEqual(found, [
        ['contoso', 1, 7],
        ['contoso', 2, 2],
        ['wingtip', 1, 1],
      ]);
    });
  }

  it('gives each row once to each of two queries of the same views', async () => {
    for (const isWhole of [true, false]) {
      const { map, tables } = await begunMove('c', 'a', { isCopied: false });
      await ordersOf(map).insert({ tenant: 'alpha', id: 1, amount: 1 });
      const views = await mapOf(tables).views();
      const [taker, former] = [views.view('a'), views.view('c')];
      const first = [...(await keysIn(taker, {}))];
      const second: string[] = [];
      if (!isWhole) second.push(...(await firstKeysIn(taker)));
      await map.cutOver();
      if (isWhole) second.push(...(await keysIn(taker, {})));
      first.push(...(await keysIn(former, {})));
      if (!isWhole) second.push(...(await keysIn(taker, { partitionKey: { after: 'alpha' } })));
      second.push(...(await keysIn(former, {})));
      const all = ['alpha 0001', 'contoso 0001', 'contoso 0002', 'wingtip 0001'];
      assert.deepEqual([first.toSorted(), second.toSorted()], [all, all]);
    }
  });

  it('pages through what the old shard gives for the new one', async () => {
    const { map, tables } = await begunMove('c', 'a', { isCopied: false });
    const views = await mapOf(tables).views();
    const [taker, former] = [views.view('a'), views.view('c')];
    assert.deepEqual(await keysIn(taker, {}), ['wingtip 0001']);
    await map.cutOver();
    // The new shard has more of the partition than the old one, before and behind its rows.
    for (const id of [0, 3, 4, 5, 6]) {
      await ordersOf(map).insert({ tenant: 'contoso', id, amount: id });
    }
    const all = [0, 1, 2, 3, 4, 5, 6].map((id) => `contoso 000${id}`);
    for (const limit of [1, 2, 3, 10]) {
      assert.deepEqual(await keysIn(former, { limit }), all, `limit: ${limit}`);
      assert.deepEqual(await keysIn(taker, { limit }), ['wingtip 0001'], `limit: ${limit}`);
    }
    const some = { limit: 2, rowKey: { after: '0001', before: '0005' } };
    assert.deepEqual(await keysIn(former, some), all.slice(2, 5));
    assert.deepEqual(await keysIn(former, { partitionKey: { after: 'contoso' } }), []);
    const three = { partitionKey: 'contoso', rowKey: '0003' };
    assert.equal((await former.get(three))?.rowKey, '0003');
    assert.equal(await taker.get(three), undefined);
    await assert.rejects(former.page({ cursor: 'nothing' }), ValueError);
  });
});

function keysOf({ rows }: Pick<RowPage, 'rows'>): readonly string[] {
  return rows.map(({ partitionKey, rowKey }) => `${partitionKey} ${rowKey}`);
}

/** The keys of the first page of two rows at most that is not empty. */
async function firstKeysIn(table: TableGateway): Promise<readonly string[]> {
  for await (const page of allPages(table, { limit: 2 })) {
    if (page.rows.length > 0) return keysOf(page);
  }
  return [];
}

/** The keys of all rows of a query, whose pages must keep to its limit. */
async function keysIn(table: TableGateway, query: RowQuery): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const { rows } of allPages(table, query)) {
    assert.ok(rows.length <= (query.limit ?? 1000), `${rows.length} rows of ${query.limit}`);
    keys.push(...keysOf({ rows }));
  }
  return keys;
}

/** Four shards of a map that does not change, with these orders each, and what is asked of them. */
async function fourShards(counts: Readonly<Record<string, number>>) {
  const asked = { now: 0, most: 0, limits: new Map<string, number>() };
  const shards: Record<string, TableGateway> = {};
  for (const [shard, count] of Object.entries(counts)) {
    const table = new MemoryTable(new MemoryRows(), { table: shard });
    for (let id = 0; id < count; id += 1) {
      await entitiesOf(Order, table).insert({ tenant: `${shard} ${id}`, id, amount: id % 7 });
    }
    shards[shard] = {
      table: shard,
      get: (key, select) => table.get(key, select),
      write: (write) => table.write(write),
      transact: (writes) => table.transact(writes),
      page: async (query) => {
        asked.now += 1;
        asked.most = Math.max(asked.most, asked.now);
        asked.limits.set(shard, Math.max(asked.limits.get(shard) ?? 0, query.limit ?? 1000));
        await Promise.resolve();
        const page = await table.page(query);
        asked.now -= 1;
        return page;
      },
    };
  }
  const names = Object.keys(counts);
  const ranges = names.map((shard, at) => ({ from: at === 0 ? '' : shard, shard }));
  const open = (tables: Readonly<Record<string, TableGateway>>) =>
    staticShardMapOf({ name: 'orders', shards: tables, routing: rangeRouting(ranges) });
  return { asked, shards, open, map: open(shards) };
}

describe('a query over four shards', () => {
  const counts = { a: 1200, b: 40, c: 700, d: 3 };
  const total = 1943;

  it(
    'holds no more rows than the pages of as many shards as it asks at once',
    costly(),
    async () => {
      for (const order of ['keys', 'none'] as const) {
        for (const parallel of [1, 2, 4]) {
          const { map, asked } = await fourShards(counts);
          const rows = await shown(map, { order, parallel });
          assert.equal(rows.length, total);
          assert.equal(new Set(rows).size, total);
          assert.ok(asked.most <= parallel, `${order}: ${asked.most} at once of ${parallel}`);
          const held = [...asked.limits.values()].toSorted((left, right) => right - left);
          const most = order === 'keys' ? held : held.slice(0, parallel);
          const sum = most.reduce((left, right) => left + right, 0);
          assert.ok(sum <= parallel * 1000, `${order}: ${sum} rows of ${parallel} pages`);
        }
      }
    },
  );

  it('gives in order what it has read of the others where one is slow', costly(), async () => {
    const { shards, open } = await fourShards(counts);
    const read = new Set<string>();
    const watched = Object.entries(shards).map(([shard, table]) => {
      const page = async (query: RowQuery): Promise<RowPage> => {
        if (shard === 'b') return new Promise(() => undefined);
        const rows = await table.page(query);
        read.add(shard);
        return rows;
      };
      return [shard, withPages(table, page)] as const;
    });
    const map = open(Object.fromEntries(watched));
    for (const partial of ['report', 'fail'] as const) {
      const time = manualTime();
      const timed = { deadlineMs: 1000, timers: time, clock: time.clock };
      const query = shardQueryOf(Order, map, {}, { order: 'keys', partial, ...timed });
      const rows: string[] = [];
      const reading = (async () => {
        for await (const { shard, entity } of query) rows.push(`${shard} ${entity.tenant}`);
      })();
      const failure = reading.then(
        () => undefined,
        (error: unknown) => error,
      );
      read.clear();
      while (read.size < 3) await setImmediate();
      assert.equal(rows.length, 0);
      await time.pass(1000);
      const error = await failure;
      if (partial === 'fail') {
        assert.ok(error instanceof ShardQueryError);
        assert.deepEqual([error.shard, rows], ['b', []]);
        continue;
      }
      assert.equal(error, undefined);
      const countOf = (shard: string) => rows.filter((row) => row.startsWith(shard)).length;
      // The second page of a is not asked for any more.
      assert.deepEqual([countOf('a'), countOf('b'), countOf('c'), countOf('d')], [1000, 0, 700, 3]);
      assert.deepEqual(rows, rows.toSorted());
      assert.deepEqual(
        query.failures.map(({ shard }) => shard),
        ['b', 'a'],
      );
    }
  });

  it('goes on without a shard that is gone, or fails with its name', async () => {
    const { shards, open } = await fourShards({ a: 2, b: 2, c: 2, d: 2 });
    const deleted = await here.newTable();
    await deleted.client.deleteTable();
    const gone = { closed: here.gatewayOfNothing, deleted: deleted.gateway };
    for (const [how, table] of Object.entries(gone)) {
      const map = open({ ...shards, c: table });
      for (const order of ['keys', 'none'] as const) {
        await assert.rejects(shown(map, { order }), (error) => {
          assert.ok(error instanceof ShardQueryError, how);
          return error.shard === 'c';
        });
        const query = shardQueryOf(Order, map, {}, { order, partial: 'report' });
        const found = [];
        for await (const { shard } of query) found.push(shard);
        assert.deepEqual(found.toSorted(), ['a', 'a', 'b', 'b', 'd', 'd'], how);
        assert.deepEqual(
          query.failures.map(({ shard }) => shard),
          ['c'],
        );
      }
    }
  });

  it('asks only the shards of keys', async () => {
    const { map, asked } = await fourShards({ a: 2, b: 2, c: 2, d: 2 });
    const rows = await shown(map, { keys: ['d 1', 'b', 'b 0'], order: 'keys' });
    assert.deepEqual(rows, ['b b 0 0', 'b b 1 1', 'd d 0 0', 'd d 1 1']);
    assert.deepEqual([...asked.limits.keys()], ['b', 'd']);
    const both = { keys: ['a'], shards: ['a'] };
    assert.throws(() => shardQueryOf(Order, map, {}, both), ValueError);
    const { control: _, ...tables } = await newShardTables(here, there);
    const list = staticShardMapOf({
      name: 'orders',
      shards: tables,
      routing: listRouting({ contoso: 'a' }),
    });
    await assert.rejects(shown(list, { keys: ['fabrikam'] }), /no shard for the key 'fabrikam'/);
  });

  it(
    'gives the first rows in the order of a property, and refuses what it could not hold',
    costly(),
    async () => {
      const { map } = await fourShards(counts);
      const top = async (options: ShardQueryOptions) => {
        const found: (readonly [number, string])[] = [];
        for await (const { entity } of shardQueryOf(Order, map, {}, options)) {
          found.push([entity.amount, entity.tenant]);
        }
        return found;
      };
      const least = await top({ orderBy: { property: 'amount', first: 3 } });
      assert.deepEqual(least, [
        [0, 'a 0'],
        [0, 'a 1001'],
        [0, 'a 1008'],
      ]);
      const most = { property: 'amount', descending: true, first: 280 };
      const greatest = await top({ orderBy: most, parallel: 1 });
      assert.deepEqual(greatest.slice(0, 1), [[6, 'a 1000']]);
      const amounts = greatest.map(([amount]) => amount);
      assert.deepEqual(
        amounts,
        amounts.toSorted((left, right) => right - left),
      );
      assert.equal(amounts.filter((amount) => amount === 6).length, 276);
      // A property that no row has: all of them follow, by their keys.
      const none = await top({ orderBy: { property: 'note', first: 2 } });
      assert.deepEqual(
        none.map(([, tenant]) => tenant),
        ['a 0', 'a 1'],
      );
      for (const [property, first] of [
        ['nothing', 1],
        ['amount', 0],
        ['amount', 10_001],
      ] as const) {
        assert.throws(
          () => shardQueryOf(Order, map, {}, { orderBy: { property, first } }),
          ValueError,
        );
      }
      const two = { order: 'keys', orderBy: { property: 'amount', first: 1 } } as const;
      assert.throws(() => shardQueryOf(Order, map, {}, two), ValueError);
    },
  );
});
