import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  ConditionFailedError,
  DecodeError,
  defineEntity,
  DefinitionError,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  etagOf,
  int32,
  key,
  plain,
  string,
  ValueError,
} from '../../src/modeling/index.js';
import {
  addShard,
  assignTexts,
  hashRouting,
  listRouting,
  mergeShards,
  moveShard,
  PartitionClosedError,
  rangeRouting,
  removeShard,
  routedBy,
  shardedEntitiesOf,
  shardOfText,
  splitRange,
  StaleMapError,
  UnknownShardError,
  type KeptPartition,
  type ShardRouting,
} from '../../src/modeling/patterns/shard-map/index.js';
import { claimPartition } from '../../src/modeling/patterns/shard-map/fence.js';
import {
  amountsIn,
  begunMove,
  mapOf,
  newShardTables,
  Order,
  ordersOf,
  ownersIn,
  partitionsIn,
  tenants,
  startTwoAccounts,
  withPages,
} from './support/sharded-orders.js';
import { sampled, costly } from '../support/run-length.js';

const { here, there, close } = await startTwoAccounts();
after(close);

const toM = rangeRouting([
  { from: '', shard: 'a' },
  { from: 'm', shard: 'b' },
]);

async function world(routing: ShardRouting = toM, each = 2) {
  const tables = await newShardTables(here, there);
  const map = mapOf(tables);
  await map.create(routing);
  const orders = ordersOf(map);
  for (const tenant of tenants) {
    for (let id = 0; id < each; id += 1) await orders.insert({ tenant, id, amount: id });
  }
  return { tables, map, orders };
}

const allOf = (each = 2) =>
  tenants.flatMap((tenant) => Array.from({ length: each }, (_, id) => [`${tenant} ${id}`, id]));

describe('entities of shards', () => {
  const routings: Readonly<Record<string, ShardRouting>> = {
    list: listRouting({ contoso: 'a', wingtip: 'c' }, 'b'),
    range: toM,
    hash: hashRouting(['a', 'b', 'c']),
  };
  for (const [kind, routing] of Object.entries(routings)) {
    it(`are where a ${kind} says, and are read and written alike`, async () => {
      const { tables, map, orders } = await world(routing);
      for (const [name, table] of Object.entries({ a: tables.a, b: tables.b, c: tables.c })) {
        const expected = tenants.filter((tenant) => shardOfText(routing, tenant) === name);
        assert.deepEqual(await partitionsIn(table), expected, name);
      }
      const one = { tenant: 'northwind', id: 1 };
      await assert.rejects(orders.insert({ ...one, amount: 0 }), EntityExistsError);
      const read = await orders.get(one);
      assert.deepEqual(read && plain(read), { ...one, amount: 1 });
      const replaced = await orders.replace({ ...one, ...read, amount: 5, note: 'big' });
      await assert.rejects(orders.replace({ ...one, ...read, amount: 9 }), ConditionFailedError);
      await orders.merge(one, { amount: 6 }, { ifMatch: etagOf(replaced) });
      await orders.upsertMerge({ ...one, amount: 7 });
      await orders.upsertReplace({ tenant: 'tailspin', id: 8, amount: 8 });
      await orders.update(one, (order) => ({ ...order, amount: order.amount + 1 }));
      await orders.delete({ tenant: 'contoso', id: 0 }, { ifMatch: 'any' });
      await assert.rejects(
        orders.delete({ tenant: 'contoso', id: 0 }, { ifMatch: 'any' }),
        EntityNotFoundError,
      );
      assert.equal(await orders.deleteIfExists({ tenant: 'contoso', id: 0 }), false);
      const partition = await amountsIn(orders.query({ partition: { tenant: 'northwind' } }));
      assert.deepEqual(partition, [
        ['northwind 0', 0],
        ['northwind 1', 8],
      ]);
      await orders
        .transaction()
        .insert(Order, { tenant: 'wingtip', id: 5, amount: 5 })
        .delete(Order, { tenant: 'wingtip', id: 0 }, { ifMatch: 'any' })
        .run();
      assert.deepEqual(await amountsIn(orders.queryAll()), [
        ['contoso 1', 1],
        ['fabrikam 0', 0],
        ['fabrikam 1', 1],
        ['northwind 0', 0],
        ['northwind 1', 8],
        ['tailspin 0', 0],
        ['tailspin 1', 1],
        ['tailspin 8', 8],
        ['wingtip 1', 1],
        ['wingtip 5', 5],
      ]);
      assert.equal((await map.state()).version, 1);
    });
  }

  it('are queried over all shards page by page, in key order', costly(), async () => {
    const { map } = await world(hashRouting(['a', 'b', 'c']), 0);
    const orders = ordersOf(map);
    const expected: [string, number][] = [];
    for (let tenant = 10; tenant < 30; tenant += 1) {
      for (const id of [0, 1]) {
        await orders.insert({ tenant: `t${tenant}`, id, amount: tenant });
        expected.push([`t${tenant} ${id}`, tenant]);
      }
    }
    const found: [string, number][] = [];
    let cursor: string | undefined;
    do {
      const options = { limit: 7, ...(cursor === undefined ? {} : { cursor }) };
      const page = await orders.queryAll().page(options);
      assert.ok(page.items.length <= 7);
      found.push(...page.items.map((o): [string, number] => [`${o.tenant} ${o.id}`, o.amount]));
      ({ cursor } = page);
    } while (cursor !== undefined);
    assert.deepEqual(found, expected);
    const some = orders.queryAll({ where: (p) => p.amount.lt(12) });
    assert.deepEqual(await amountsIn(some), expected.slice(0, 4));
    const both = { partitions: [{ tenant: 't25' }, { tenant: 't11' }] };
    assert.deepEqual(await amountsIn(orders.queryPartitions(both)), [
      ...expected.slice(2, 4),
      ...expected.slice(30, 32),
    ]);
    const { rows } = await map.table.page({
      filter: "PartitionKey eq 't25' or PartitionKey eq 't11'",
    });
    assert.deepEqual(
      rows.map(({ partitionKey }) => partitionKey),
      ['t11', 't11', 't25', 't25'],
    );
    await assert.rejects(map.table.page({ cursor: 'nonsense' }), ValueError);
  });

  it('are routed by a part of their keys', costly(), async () => {
    const Reading = defineEntity({
      type: 'Reading',
      properties: { tenant: string(), day: int32(), id: int32() },
      partitionKey: (p) => key`${p.tenant}_${p.day.padded(3)}`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    });
    const tables = await newShardTables(here, there);
    const map = mapOf(tables, { routeBy: routedBy(Reading, 'tenant') });
    await map.create(listRouting({ contoso: 'a' }, 'b'));
    const readings = shardedEntitiesOf(Reading, map);
    for (const day of [1, 2]) {
      await readings.insert({ tenant: 'contoso', day, id: 1 });
      await readings.insert({ tenant: 'wingtip', day, id: 1 });
    }
    assert.deepEqual(await partitionsIn(tables.a), ['contoso_001', 'contoso_002']);
    await map.apply(assignTexts(['contoso'], 'c'));
    assert.equal((await readings.queryAll().toArray({ max: 9 })).length, 4);
    assert.deepEqual(await partitionsIn(tables.c), ['contoso_001', 'contoso_002']);
    // @ts-expect-error -- the id is not in the PartitionKey
    assert.throws(() => routedBy(Reading, 'id'), DefinitionError);
  });

  it('take the requests that the guide says', async () => {
    const [a, control] = [await here.newTable(), await here.newTable()];
    const b = await there.newTable();
    const tables = { a: a.gateway, b: b.gateway, c: a.gateway, control: control.gateway };
    const { c: _c, ...two } = tables;
    const map = mapOf({ ...two, c: (await here.newTable()).gateway }, { refreshMs: 60_000 });
    await map.create(toM);
    const orders = ordersOf(map);
    const one = { tenant: 'contoso', id: 1 };
    const take = () => [a.takeKinds(), b.takeKinds(), control.takeKinds()];
    take();
    await orders.insert({ ...one, amount: 1 });
    const opening = ['transaction', 'update', 'point-read', 'point-read'];
    const read = ['point-read'];
    // The first that the program opens there: it looks at the shard, and names the witness of that.
    const first = [...opening, ...read, 'transaction', 'update', 'transaction'];
    assert.deepEqual(take(), [first, [], [...read, ...read]]);
    await orders.insert({ tenant: 'contoso', id: 2, amount: 1 });
    assert.deepEqual(take(), [['transaction'], [], []]);
    await orders.get(one);
    assert.deepEqual(take(), [read, [], []]);
    await orders.query({ partition: one }).first(5);
    assert.deepEqual(take(), [['query'], [], []]);
    await orders.queryAll().first(5);
    assert.deepEqual(take(), [['query'], ['query'], []]);
    await mapOf({ ...two, c: tables.control }, {}).apply(moveShard('a', 'b'));
    take();
    await orders.upsertReplace({ ...one, amount: 2 });
    assert.deepEqual(take(), [['transaction'], ['transaction'], read], 'by a map of before');
    const owned = ordersOf(mapOf({ ...two, c: tables.control }, { reads: 'owned' }));
    take();
    assert.equal((await owned.get(one))?.amount, 2);
    assert.deepEqual(take(), [[], [...read, ...read], read]);
  });

  it('refuse what the shards cannot hold together', async () => {
    const { map, orders } = await world(listRouting({ contoso: 'a' }), 0);
    await assert.rejects(orders.insert({ tenant: 'wingtip', id: 1, amount: 1 }), UnknownShardError);
    const mine = { partitionKey: 'contoso', rowKey: '!shard:owner', properties: {} };
    await assert.rejects(map.table.write({ kind: 'insert', row: mine }), ValueError);
    const many = orders.transaction();
    for (let id = 0; id < 100; id += 1) many.insert(Order, { tenant: 'contoso', id, amount: 0 });
    await assert.rejects(many.run(), /at most 99/);
    const failing = orders.transaction();
    failing.insert(Order, { tenant: 'contoso', id: 1, amount: 0 });
    failing.delete(Order, { tenant: 'contoso', id: 7 }, { ifMatch: 'any' });
    await assert.rejects(failing.run(), { name: 'TransactionFailedError', index: 1 });
    // @ts-expect-error -- a tenant is a text
    await assert.rejects(orders.get({ tenant: 5, id: 1 }), ValueError);
    // @ts-expect-error -- an order has an amount
    const without = (): Promise<unknown> => orders.insert({ tenant: 'contoso', id: 2 });
    await assert.rejects(without(), ValueError);
  });
});

describe('a query of all shards', () => {
  for (const isCopied of [false, true]) {
    const how = isCopied ? 'that has an older copy' : 'that had nothing of it';
    it(`gives a partition that is handed over meanwhile to a shard ${how}`, async () => {
      const { map, tables } = await begunMove('a', 'b', { isCopied });
      let isHandedOver = false;
      const late = withPages(tables.a, async (query) => {
        const page = await tables.a.page(query);
        // By now the other shard has been read as well.
        await setImmediate();
        if (!isHandedOver) await map.cutOver();
        isHandedOver = true;
        return page;
      });
      const found = await amountsIn(ordersOf(mapOf({ ...tables, a: late })).queryAll());
      const expected = [
        ['contoso 1', 1],
        ['contoso 2', 2],
        ['wingtip 1', 1],
      ];
      assert.deepEqual(found, expected);
      assert.ok(isHandedOver);
    });
  }
});

describe('a change of a shard map', () => {
  const changes = {
    'moves a shard': { from: toM, change: moveShard('a', 'c') },
    'merges two shards': { from: toM, change: mergeShards('b', 'a') },
    'splits a range': { from: toM, change: splitRange({ from: 'd', before: 'p' }, 'c') },
    'assigns texts': {
      from: listRouting({ contoso: 'a' }, 'b'),
      change: assignTexts(['wingtip', 'contoso'], 'c'),
    },
    'adds a shard': { from: hashRouting(['a', 'b']), change: addShard('c') },
    'removes a shard': { from: hashRouting(['a', 'b', 'c']), change: removeShard('a') },
  };
  for (const [name, { from, change }] of sampled(Object.entries(changes))) {
    it(`${name}, moves what it says, and can be asked for again`, async () => {
      const { tables, map, orders } = await world(from);
      const plan = await map.plan(change);
      const target = change(from);
      const moving = tenants.filter(
        (each) => shardOfText(from, each) !== shardOfText(target, each),
      );
      assert.equal(plan.rows, 10);
      assert.equal(plan.moving, moving.length * 2);
      const partitions = plan.moves.reduce((sum, each) => sum + each.partitions, 0);
      assert.equal(partitions, moving.length);
      await map.start(plan);
      const copied = await map.backfill();
      assert.deepEqual(copied, { partitions: moving.length, rows: moving.length * 2 });
      assert.deepEqual(await map.verify(), { partitions: moving.length, rows: 0 });
      const settled = await map.apply(change);
      assert.equal(settled.phase, 'settled');
      assert.deepEqual(await map.apply(change), settled, 'nothing more');
      assert.deepEqual(await amountsIn(orders.queryAll()), allOf());
      const cleaned = await map.cleanUp();
      assert.deepEqual(cleaned, { partitions: moving.length, rows: moving.length * 2 });
      const owners = await ownersIn(tables);
      for (const tenant of tenants) {
        assert.deepEqual(owners.get(tenant), [shardOfText(target, tenant)], tenant);
      }
      for (const shard of ['a', 'b', 'c'] as const) {
        const expected = tenants.filter((tenant) => shardOfText(target, tenant) === shard);
        assert.deepEqual(await partitionsIn(tables[shard]), expected, shard);
      }
      await orders.insert({ tenant: 'contoso', id: 9, amount: 9 });
      assert.equal((await orders.get({ tenant: 'contoso', id: 9 }))?.amount, 9);
    });
  }

  it('by a hash from two shards to three moves about a third', costly(), async () => {
    const tables = await newShardTables(here, there);
    const map = mapOf(tables, { refreshMs: 60_000 });
    await map.create(hashRouting(['a', 'b']));
    const orders = ordersOf(map);
    const ids = Array.from({ length: 60 }, (_, id) => id);
    await Promise.all(ids.map((id) => orders.insert({ tenant: `t${id}`, id, amount: 1 })));
    const { rows, moving, moves } = await map.plan(addShard('c'));
    assert.equal(rows, 60);
    assert.ok(moving > 10 && moving < 30, `${moving} of 60`);
    assert.deepEqual(
      moves.map(({ from, to }) => [from, to]),
      [
        ['a', 'c'],
        ['b', 'c'],
      ],
    );
  });

  it('shows every entity once in every phase, and takes writes', costly(), async () => {
    const { map, orders } = await world();
    const expected = new Map(allOf().map(([name, amount]) => [String(name), Number(amount)]));
    const touch = async (): Promise<void> => {
      for (const tenant of tenants) {
        await orders.update({ tenant, id: 0 }, (each) => ({ ...each, amount: each.amount + 1 }));
        expected.set(`${tenant} 0`, (expected.get(`${tenant} 0`) ?? 0) + 1);
      }
      assert.deepEqual(await amountsIn(orders.queryAll()), [...expected]);
      for (const tenant of tenants) {
        const order = await orders.get({ tenant, id: 0 });
        assert.equal(order?.amount, expected.get(`${tenant} 0`));
      }
    };
    const stopped = { signal: AbortSignal.abort(new Error('stopped')) };
    const change = moveShard('b', 'c');
    await map.start(change);
    await touch();
    await map.backfill();
    await orders.delete({ tenant: 'wingtip', id: 1 }, { ifMatch: 'any' });
    expected.delete('wingtip 1');
    await touch();
    assert.deepEqual(await map.verify(), { partitions: 3, rows: 4 });
    await assert.rejects(map.cutOver(stopped), /stopped/);
    await touch();
    await orders.insert({ tenant: 'zava', id: 0, amount: 5 });
    expected.set('zava 0', 5);
    assert.deepEqual(await amountsIn(orders.queryAll()), [...expected]);
    await map.cutOver();
    await touch();
    await assert.rejects(map.rollBack(stopped), /stopped/);
    assert.equal((await map.state()).phase, 'handing-back');
    await touch();
    await assert.rejects(map.start(change), StaleMapError);
    await map.rollBack();
    await touch();
    await map.cleanUp();
    await touch();
    assert.equal((await map.apply(change)).phase, 'settled');
    await touch();
    await map.cleanUp();
    await touch();
  });

  it('is copied in transactions that fit, large rows among many', costly(), async () => {
    const { tables, map, orders } = await world(toM, 0);
    const note = 'x'.repeat(30_000);
    const ids = Array.from({ length: 230 }, (_, id) => id);
    await orders.insert({ tenant: 'contoso', id: 999, amount: 0 });
    for (let from = 0; from < 230; from += 46) {
      const several = orders.transaction();
      for (const id of ids.slice(from, from + 46)) {
        const large = id < 160 ? { note } : {};
        several.insert(Order, { tenant: 'contoso', id, amount: id, ...large });
      }
      await several.run();
    }
    assert.equal((await map.plan(moveShard('a', 'b'))).moving, 231);
    await map.apply(moveShard('a', 'b'));
    const found = await entitiesOf(Order, tables.b).scanTable().toArray({ max: 300 });
    assert.equal(found.length, 231);
    assert.equal(found.filter((each) => each.note === note).length, 160);
  });

  it(
    'is refused by a plan of another version, and while another one is under way',
    costly(),
    async () => {
      const { map } = await world();
      const plan = await map.plan(moveShard('a', 'c'));
      await map.apply(moveShard('b', 'a'));
      await assert.rejects(map.start(plan), StaleMapError);
      await map.start(moveShard('a', 'c'));
      await assert.rejects(map.start(moveShard('a', 'b')), StaleMapError);
      await assert.rejects(map.plan(moveShard('a', 'b')), /in the phase 'copying'/);
      await assert.rejects(map.cleanUp(), /in the phase 'copying'/);
      await assert.rejects(map.finish(), /begins in handed-over/);
      await map.rollBack();
      await assert.rejects(map.cutOver(), /in the phase 'settled'/);
      await assert.rejects(map.backfill(), /in the phase 'settled'/);
      await assert.rejects(map.start(addShard('c')), DefinitionError);
      await assert.rejects(map.start(moveShard('a', 'elsewhere')), UnknownShardError);
    },
  );

  it('leaves rows that no shard took over, and says so', async () => {
    const { tables, map } = await world();
    const stray = { partitionKey: 'zava', rowKey: '0001', properties: {} };
    await tables.a.write({ kind: 'insert', row: stray });
    const kept: KeptPartition[] = [];
    await map.cleanUp({ onKept: (each) => kept.push(each) });
    assert.deepEqual(
      kept.map(({ shard, partitionKey }) => [shard, partitionKey]),
      [['a', 'zava']],
    );
    assert.ok(await tables.a.get(stray));
  });

  it('moves rows that were there before the map', async () => {
    const tables = await newShardTables(here, there);
    await entitiesOf(Order, tables.a).insert({ tenant: 'contoso', id: 1, amount: 1 });
    const map = mapOf(tables);
    await map.create(rangeRouting([{ from: '', shard: 'a' }]));
    await map.start(moveShard('a', 'b'));
    await map.cutOver();
    await map.finish();
    assert.deepEqual(await amountsIn(ordersOf(map).queryAll()), [['contoso 1', 1]]);
  });
});

describe('a stored shard map', () => {
  it('may take many properties, and comes back as it was', async () => {
    const tables = await newShardTables(here, there);
    const entries = Object.fromEntries(
      Array.from({ length: 4000 }, (_, id) => [`tenant-${id}-\u{1f600}`, id % 2 ? 'a' : 'b']),
    );
    const routing = listRouting(entries, 'c');
    await mapOf(tables).create(routing);
    assert.deepEqual((await mapOf(tables).state()).routing, routing);
    const huge = listRouting(
      Object.fromEntries(Array.from({ length: 40_000 }, (_, id) => [`tenant-${id}`, 'a'])),
    );
    const others = await newShardTables(here, there);
    await assert.rejects(mapOf(others, { name: 'huge' }).create(huge), ValueError);
    assert.deepEqual((await others.a.page({})).rows, []);
  });

  it('is refused when its row is malformed, with what is wrong', async () => {
    const { tables, map } = await world();
    const mapKey = { partitionKey: '!shard-map', rowKey: 'orders' };
    const row = await tables.control.get(mapKey);
    assert.ok(row);
    const wrong: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ Map0: '{' }, /no JSON/],
      [{ Map0: '{}' }, /neither list/],
      [{ Map0: '{"routing":{"kind":"range","ranges":[["b","a"]]}}' }, /empty text/],
      [{ Map0: '{"routing":{"kind":"range","ranges":[["",1]]}}' }, /pairs/],
      [{ Map0: '{"routing":{"kind":"hash","shards":["a"],"slots":[1]}}' }, /not there/],
      [{ Map0: '{"routing":{"kind":"list","entries":[],"otherwise":1}}' }, /otherwise/],
      [{ Phase: 'copying' }, /target/],
      [{ Phase: 'elsewhere' }, /target|not known/],
    ];
    for (const [changed, message] of wrong) {
      const texts = Object.entries(changed).map(
        ([name, value]) => [name, { type: 'String', value: String(value) }] as const,
      );
      const properties = { ...row.properties, ...Object.fromEntries(texts) };
      await tables.control.write({ kind: 'upsert-replace', row: { ...mapKey, properties } });
      const reading = ordersOf(mapOf(tables)).get({ tenant: 'contoso', id: 1 });
      await assert.rejects(reading, (error) => {
        assert.ok(error instanceof DecodeError);
        assert.match(error.message, message);
        return true;
      });
    }
    await tables.control.write({ kind: 'delete', key: mapKey, etag: '*' });
    await assert.rejects(map.state(), /there is no shard map 'orders'/);
  });

  it('is refused when it makes no sense', async () => {
    const tables = await newShardTables(here, there);
    assert.throws(() => mapOf(tables, { name: '' }), DefinitionError);
    assert.throws(() => mapOf({ ...tables, b: tables.a }), /the same table/);
    await assert.rejects(mapOf(tables).create(hashRouting([])), DefinitionError);
    assert.throws(() => splitRange({ from: 'm', before: 'm' }, 'c'), DefinitionError);
    // @ts-expect-error -- a routing is made by hashRouting and the like
    const untyped = (): Promise<unknown> => mapOf(tables).create({ kind: 'modulo', count: 3 });
    await assert.rejects(untyped());
  });

  it('that names a shard which this program does not know refuses its partitions alone', async () => {
    const { tables } = await world();
    const { control, a, c } = tables;
    const map = mapOf(tables, { shards: { a, c } });
    const orders = ordersOf(map);
    assert.equal((await orders.get({ tenant: 'contoso', id: 1 }))?.amount, 1);
    await assert.rejects(orders.get({ tenant: 'wingtip', id: 1 }), { shard: 'b' });
    await assert.rejects(amountsIn(orders.queryAll()), UnknownShardError);
    assert.equal((await mapOf({ ...tables, control }).state()).phase, 'settled');
  });

  it('lets a write wait for a handover, and no longer than it is told', costly(), async () => {
    const { tables, map } = await world();
    await map.start(moveShard('a', 'c'));
    await map.backfill();
    // The state of a handover that was killed after it closed the partition.
    const signal = AbortSignal.abort(new Error('stopped'));
    await assert.rejects(map.cutOver({ signal }), /stopped/);
    const owner = { partitionKey: 'contoso', rowKey: '!shard:owner' };
    await tables.a.write({ kind: 'delete', key: owner, etag: '*' });
    const impatient = ordersOf(mapOf(tables, { patienceMs: 30 }));
    const write = impatient.insert({ tenant: 'contoso', id: 7, amount: 7 });
    await assert.rejects(write, PartitionClosedError);
    assert.equal((await impatient.get({ tenant: 'contoso', id: 1 }))?.amount, 1);
    const helping = ordersOf(mapOf(tables, { takeOverMs: 20 }));
    await helping.insert({ tenant: 'contoso', id: 7, amount: 7 });
    assert.deepEqual((await ownersIn(tables)).get('contoso'), ['c']);
    assert.equal((await impatient.get({ tenant: 'contoso', id: 1 }))?.amount, 1);
  });
});

describe('a shard map whose partitions are closed while they move', () => {
  const wingtip = { tenant: 'wingtip', id: 0 };
  const contoso = { tenant: 'contoso', id: 0 };

  for (const access of ['read-only', 'offline'] as const) {
    it(
      `moves them ${access}, copies them once, and opens them where they come`,
      costly(),
      async () => {
        const { map, orders, tables } = await world();
        await map.start(moveShard('b', 'c'));
        await map.close(access);
        const closed = { name: 'PartitionClosedError', message: new RegExp(`is ${access} while`) };
        await assert.rejects(orders.insert({ ...wingtip, id: 9, amount: 1 }), closed);
        await assert.rejects(
          orders.transaction().insert(Order, { tenant: 'zeta', id: 1, amount: 1 }).run(),
          closed,
        );
        if (access === 'offline') await assert.rejects(orders.get(wingtip), closed);
        else assert.equal((await orders.get(wingtip))?.amount, 0);
        // What does not move is written and read as ever.
        await orders.update(contoso, (order) => ({ ...order, amount: 7 }));
        // A program that was started before, whose map is old.
        const late = ordersOf(mapOf(tables, { refreshMs: 60_000 }));
        await assert.rejects(
          late.update(wingtip, (order) => ({ ...order, amount: 8 })),
          closed,
        );
        await map.backfill();
        assert.equal((await map.verify()).rows, 0);
        assert.equal((await map.cutOver()).rows, 0, 'nothing is copied again');
        await orders.update(wingtip, (order) => ({ ...order, amount: 9 }));
        await map.finish();
        await map.cleanUp();
        assert.equal((await orders.get(wingtip))?.amount, 9);
        assert.deepEqual(await partitionsIn(tables.b), []);
        assert.equal((await amountsIn(orders.queryAll())).length, allOf().length);
      },
    );
  }

  it('opens them again where they are when it is rolled back', async () => {
    const { map, orders } = await world();
    await map.start(moveShard('b', 'c'));
    await map.close('offline');
    await map.close('read-only');
    assert.equal((await orders.get(wingtip))?.amount, 0);
    await map.rollBack();
    await orders.update(wingtip, (order) => ({ ...order, amount: 3 }));
    assert.equal((await orders.get(wingtip))?.amount, 3);
    await assert.rejects(map.close('offline'), StaleMapError);
  });

  it('are closed by a later call beside the claim of a program that was killed when refused', async () => {
    const { map, orders, tables } = await world();
    await map.start(moveShard('b', 'c'));
    await map.close('offline');
    // Its program learns next that the partition, which nobody has opened, is closed.
    await claimPartition(tables.b, 'zeta');
    for (const access of ['offline', 'read-only'] as const) await map.close(access);
    await map.backfill();
    await map.cutOver();
    await map.finish();
    await map.cleanUp();
    assert.equal((await amountsIn(orders.queryAll())).length, allOf().length);
    assert.deepEqual(await partitionsIn(tables.b), []);
  });
});
