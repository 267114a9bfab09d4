import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  bulk,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  writesOf,
  type Entities,
  type FilterFields,
  type RowKey,
  type RowWrite,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  archiveEntities,
  type ArchiveOptions,
} from '../../src/modeling/patterns/high-volume-delete/index.js';
import {
  assignTexts,
  hashRouting,
  listRouting,
} from '../../src/modeling/patterns/shard-map/index.js';
import { keyOfWrite } from '../../src/modeling/table/gateway.js';
import { backUpShard, restoreShard } from '../../src/modeling/patterns/shard-map-manager/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { fillRow } from './support/full-rows.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import { startTables } from './support/observed-tables.js';
import { amountsIn, mapOf, newShardTables, Order, ordersOf } from './support/sharded-orders.js';
import { costly } from '../support/run-length.js';

const here = await startTables({ inMemory: true });
after(() => here[Symbol.asyncDispose]());

const Archived = defineEntity({
  type: 'ArchivedOrder',
  properties: { id: int32(), tenant: string(), total: int32() },
  partitionKey: (p) => key`${p.id.padded(4)}`,
  rowKey: (p) => key`${p.tenant}`,
});

const toArchive = ({ id, tenant, amount }: { id: number; tenant: string; amount: number }) => ({
  id,
  tenant,
  total: amount,
});

interface ArchiveWorld {
  readonly orders: Entities<typeof Order>;
  readonly options: ArchiveOptions<typeof Order, typeof Archived>;
}

async function world(count = 3) {
  const tables = await newShardTables(here, here);
  const map = mapOf(tables);
  await map.create(hashRouting(['a', 'b', 'c'], 8));
  const tenants = ['contoso', 'fabrikam', 'northwind', 'tailspin'];
  const writes: RowWrite[] = tenants.flatMap((tenant) =>
    Array.from({ length: count }, (_, id) => ({
      kind: 'upsert-replace' as const,
      row: writesOf(Order, { stamp: false }).upsertReplace({ tenant, id, amount: id }).row,
    })),
  );
  return { tables, map, orders: ordersOf(map), writes };
}

describe('rows that are loaded into shards', () => {
  it('come to the shard of their partition, a crash notwithstanding', costly(), async () => {
    const { map, orders, writes, tables } = await world(120);
    let position = 0;
    const stop = new AbortController();
    const onPosition = (at: number): void => {
      position = at;
      if (at > 0) stop.abort();
    };
    await bulk(map.table, writes, { concurrency: 1, signal: stop.signal, onPosition });
    assert.ok(position > 0 && position < writes.length, `${position}`);
    const report = await bulk(map.table, writes, { from: position });
    assert.deepEqual(report.failures, []);
    assert.equal((await orders.queryAll().toArray({ max: 999 })).length, writes.length);
    for (const name of ['a', 'b', 'c'] as const) {
      for await (const { tenant } of entitiesOf(Order, tables[name]).scanTable()) {
        assert.equal(await map.shardOf(tenant), name);
      }
    }
  });
});

describe('an archive', () => {
  it(
    'gets what is old, of all shards, in a form of its own, and nothing is in neither',
    costly(),
    async () => {
      const { map, orders, writes } = await world();
      await bulk(map.table, writes);
      const archive = entitiesOf(Archived, (await here.newTable()).gateway);
      const stop = new AbortController();
      const options: ArchiveOptions<typeof Order, typeof Archived> = {
        from: orders,
        query: { where: (p) => p.amount.lt(2) },
        to: archive,
        convert: toArchive,
        concurrency: 1,
      };
      let seen = 0;
      const killed = archiveEntities({
        ...options,
        convert: (entity) => {
          seen += 1;
          if (seen === 4) stop.abort(new Error('killed'));
          return options.convert(entity);
        },
        signal: stop.signal,
      });
      await assert.rejects(killed, /killed/);
      const both = async () => [
        (await orders.queryAll().toArray({ max: 99 })).length,
        (await archive.scanTable().toArray({ max: 99 })).length,
      ];
      const [left = 0, moved = 0] = await both();
      assert.equal(left + moved, 12);
      await archiveEntities(options);
      assert.deepEqual(await both(), [4, 8]);
      assert.deepEqual(await archiveEntities(options), { archived: 0, changed: 0 });
    },
  );

  it('keeps where it was what has changed meanwhile, for the next time', async () => {
    const { map, orders, writes } = await world(1);
    await bulk(map.table, writes);
    const { gateway } = await here.newTable();
    const archive = entitiesOf(Archived, gateway);
    let change: Promise<unknown> | undefined;
    const slow: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      page: (query) => gateway.page(query),
      transact: (writes) => gateway.transact(writes),
      write: async (write) => {
        if (keyOfWrite(write).rowKey === 'contoso') {
          change ??= orders.merge({ tenant: 'contoso', id: 0 }, { amount: 5 }, { ifMatch: 'any' });
          await change;
        }
        return gateway.write(write);
      },
    };
    const options = { from: orders, to: archive, convert: toArchive };
    assert.deepEqual(await archiveEntities({ ...options, to: entitiesOf(Archived, slow) }), {
      archived: 3,
      changed: 1,
    });
    assert.deepEqual(await archiveEntities(options), { archived: 1, changed: 0 });
    const contoso = await archive.get({ id: 0, tenant: 'contoso' });
    assert.equal(contoso?.total, 5);
  });
});

describe('an archive whose program stands still before it writes', () => {
  /** Archives an order of 1, as all below 10; something happens before the first write. */
  async function standing(
    happen: (world: ArchiveWorld) => Promise<unknown>,
    more: Partial<ArchiveOptions<typeof Order, typeof Archived>> = {},
  ) {
    const [rows, archivedRows] = [new MemoryRows(), new MemoryRows()];
    const orders = entitiesOf(Order, new MemoryTable(rows));
    await orders.insert({ tenant: 'contoso', id: 0, amount: 1 });
    const options = {
      from: orders,
      query: { where: (p: FilterFields<typeof Order>) => p.amount.lt(10) },
      to: entitiesOf(Archived, new MemoryTable(archivedRows)),
      convert: toArchive,
      ...more,
    };
    let happened: Promise<unknown> | undefined;
    const before = async () => {
      happened ??= happen({ orders, options });
      await happened;
    };
    const to = entitiesOf(Archived, new MemoryTable(archivedRows, { before }));
    const report = await archiveEntities({ ...options, to });
    const amounts = async () => ({
      kept: (await orders.scanTable().toArray({ max: 9 })).map(({ amount }) => amount),
      archived: (await options.to.scanTable().toArray({ max: 9 })).map(({ total }) => total),
    });
    return { report, amounts, options };
  }

  it('keeps the latest change that another one has archived meanwhile', async () => {
    const { report, amounts } = await standing(async ({ orders, options }) => {
      await orders.merge({ tenant: 'contoso', id: 0 }, { amount: 5 }, { ifMatch: 'any' });
      await archiveEntities(options);
    });
    assert.deepEqual(report, { archived: 0, changed: 1 });
    assert.deepEqual(await amounts(), { kept: [], archived: [5] });
  });

  const grown = ({ orders }: ArchiveWorld) =>
    orders.merge({ tenant: 'contoso', id: 0 }, { amount: 50 }, { ifMatch: 'any' });

  it('takes back the copy of what is no longer to be archived, if it is the same', async () => {
    const left: RowKey[] = [];
    const full = async (world: ArchiveWorld): Promise<void> => {
      await grown(world);
      const { table, codec } = world.orders;
      await fillRow(table, codec.key({ tenant: 'contoso', id: 0 }), 'amount');
    };
    const { report, amounts, options } = await standing(full, {
      isSame: (read, current) => read.id === current.id,
      onCopyLeft: (copy) => left.push(copy),
    });
    assert.deepEqual(report, { archived: 0, changed: 1 });
    assert.deepEqual(await archiveEntities(options), { archived: 0, changed: 0 });
    assert.deepEqual(await amounts(), { kept: [50], archived: [] });
    assert.deepEqual(left, []);
  });

  it('leaves that copy and tells its key when nobody says that it is the same', async () => {
    const left: RowKey[] = [];
    const { amounts } = await standing(grown, { onCopyLeft: (copy) => left.push(copy) });
    assert.deepEqual(await amounts(), { kept: [50], archived: [1] });
    assert.deepEqual(left, [{ partitionKey: '0000', rowKey: 'contoso' }]);
  });

  it('ends what a killed one has begun', async () => {
    const { report, amounts } = await standing(({ options }) =>
      options.to.insert({ tenant: 'contoso', id: 0, total: 0 }),
    );
    assert.deepEqual(report, { archived: 1, changed: 0 });
    assert.deepEqual(await amounts(), { kept: [], archived: [1] });
  });
});

describe('an archive of an entity', () => {
  const contoso = { tenant: 'contoso', id: 0 };

  it('that a stale map finds where it was keeps the state that another one has archived', async () => {
    const rows = {
      a: new MemoryRows(),
      b: new MemoryRows(),
      c: new MemoryRows(),
      control: new MemoryRows(),
    };
    const opened = (options: { readonly refreshMs?: number } = {}) =>
      mapOf(
        {
          a: new MemoryTable(rows.a, { table: 'a' }),
          b: new MemoryTable(rows.b, { table: 'b' }),
          c: new MemoryTable(rows.c, { table: 'c' }),
          control: new MemoryTable(rows.control, { table: 'control' }),
        },
        options,
      );
    const map = opened();
    await map.create(listRouting({ contoso: 'a' }, 'b'));
    const orders = ordersOf(map);
    await orders.insert({ ...contoso, amount: 1 });
    const archivedRows = new MemoryRows();
    const options = {
      from: orders,
      to: entitiesOf(Archived, new MemoryTable(archivedRows)),
      convert: toArchive,
    };
    const meanwhile = async (): Promise<void> => {
      await map.start(assignTexts(['contoso'], 'b'));
      await map.backfill();
      await map.cutOver();
      await orders.merge(contoso, { amount: 5 }, { ifMatch: 'any' });
      assert.deepEqual(await archiveEntities(options), { archived: 1, changed: 0 });
    };
    let moved: Promise<void> | undefined;
    const before = () => (moved ??= meanwhile());
    const report = await archiveEntities({
      ...options,
      from: ordersOf(opened({ refreshMs: 3_600_000 })),
      to: entitiesOf(Archived, new MemoryTable(archivedRows, { before })),
    });
    assert.deepEqual(report, { archived: 0, changed: 1 });
    assert.equal((await options.to.get(contoso))?.total, 5);
  });

  it('keeps its copy when its key is used again before a repeated delete arrives', async () => {
    const orderRows = new MemoryRows();
    const orders = entitiesOf(Order, new MemoryTable(orderRows));
    await orders.insert({ ...contoso, amount: 1, note: 'first' });
    const repeating = wrappedMethods(new MemoryTable(orderRows), async (name, send, [given]) => {
      const answer = await send();
      if (name !== 'write' || (given as RowWrite).kind !== 'delete') return answer;
      // The client did not get the answer: it sends the delete again, later.
      await orders.insert({ ...contoso, amount: 2, note: 'second' });
      return send();
    });
    const to = entitiesOf(Archived, new MemoryTable(new MemoryRows()));
    const left: RowKey[] = [];
    const report = await archiveEntities({
      from: entitiesOf(Order, repeating),
      to,
      convert: toArchive,
      isSame: (read, current) => read.note === current.note,
      onCopyLeft: (copy) => left.push(copy),
    });
    assert.deepEqual(report, { archived: 0, changed: 1 });
    assert.equal((await to.get(contoso))?.total, 1);
    assert.equal((await orders.get(contoso))?.amount, 2);
    assert.deepEqual(left, [{ partitionKey: '0000', rowKey: 'contoso' }]);
  });

  /** An archive that has this row where the copy of order 0 of contoso goes. */
  async function beside(type: string) {
    const orders = entitiesOf(Order, new MemoryTable(new MemoryRows()));
    await orders.insert({ ...contoso, amount: 1 });
    await orders.insert({ tenant: 'fabrikam', id: 1, amount: 2 });
    const table = new MemoryTable(new MemoryRows());
    const properties = { EntityType: { type: 'String', value: type } } as const;
    const row = { partitionKey: '0000', rowKey: 'contoso', properties };
    await table.write({ kind: 'insert', row });
    return { orders, to: entitiesOf(Archived, table) };
  }

  it('writes over a copy that cannot be read', async () => {
    const { orders, to } = await beside('ArchivedOrder');
    const report = await archiveEntities({ from: orders, to, convert: toArchive });
    assert.deepEqual(report, { archived: 2, changed: 0 });
    assert.equal((await to.get(contoso))?.total, 1);
  });

  it('writes over the copy of an entity whose row has no room for what it lacks', async () => {
    const { orders, to } = await beside('ArchivedOrder');
    await fillRow(orders.table, orders.codec.key(contoso), 'amount');
    const report = await archiveEntities({ from: orders, to, convert: toArchive });
    assert.deepEqual(report, { archived: 2, changed: 0 });
    assert.equal((await to.get(contoso))?.total, 1);
    assert.deepEqual(await orders.scanTable().toArray({ max: 9 }), []);
  });

  it('refuses a copy that is too large before it sends a write', async () => {
    const { orders, to } = await beside('ArchivedOrder');
    await fillRow(orders.table, orders.codec.key(contoso), 'amount');
    const names: string[] = [];
    const noted = (table: TableGateway) =>
      wrappedMethods(table, (name, send) => {
        names.push(name);
        return send();
      });
    const archive = archiveEntities({
      from: orders.through(noted(orders.table)),
      query: { where: (p) => p.amount.eq(1) },
      to: to.through(noted(to.table)),
      convert: ({ amount, ...order }) => ({ ...order, total: amount }),
    });
    await assert.rejects(archive, { name: 'TooLargeError' });
    assert.deepEqual(new Set(names), new Set(['page']));
  });

  it('does not write over a row of another type', async () => {
    const { orders, to } = await beside('Invoice');
    const archive = archiveEntities({ from: orders, to, convert: toArchive });
    await assert.rejects(archive, /a row of another type at \('0000', 'contoso'\), which stays/);
    assert.equal((await orders.get(contoso))?.amount, 1);
  });

  it('has its latest state in one of both wherever a call is killed', async () => {
    interface World {
      readonly orders: MemoryRows;
      readonly archived: MemoryRows;
      latest: number;
    }
    const archive = ({ orders, archived }: World, doomed: Doomed) =>
      archiveEntities({
        from: entitiesOf(Order, doomed.wrap(new MemoryTable(orders))),
        to: entitiesOf(Archived, doomed.wrap(new MemoryTable(archived))),
        convert: toArchive,
      });
    await crashEverywhere<World>({
      prepare: async () => {
        const orders = new MemoryRows();
        await entitiesOf(Order, new MemoryTable(orders)).insert({ ...contoso, amount: 1 });
        return { orders, archived: new MemoryRows(), latest: 1 };
      },
      run: archive,
      restart: async (world) => {
        if (world.orders.all.length === 0) return;
        world.latest += 1;
        const orders = entitiesOf(Order, new MemoryTable(world.orders));
        await orders.merge(contoso, { amount: world.latest }, { ifMatch: 'any' });
      },
      recover: archive,
      crashRecovery: true,
      check: async ({ orders, archived, latest }) => {
        const found = await entitiesOf(Archived, new MemoryTable(archived)).get(contoso);
        assert.equal(found?.total, latest);
        assert.deepEqual(orders.all, []);
      },
    });
  });
});

describe('a backup of a shard', () => {
  it('is the shard again, with what its map needs', costly(), async () => {
    const { map, orders, writes, tables } = await world();
    await bulk(map.table, writes);
    const lines: string[] = [];
    for await (const line of backUpShard(tables.a)) lines.push(line);
    await assert.rejects(restoreShard(tables.a, lines), /restore into an empty table/);
    const { gateway } = await here.newTable();
    await restoreShard(gateway, lines);
    const renamed = mapOf({ ...tables, a: gateway });
    assert.deepEqual((await renamed.recovery.plan('map')).differences, []);
    const expected = await amountsIn(orders.queryAll());
    assert.deepEqual(await amountsIn(ordersOf(renamed).queryAll()), expected);
    const empty = (await here.newTable()).gateway;
    await assert.rejects(restoreShard(empty, [lines[0] ?? '', 'no row']), /line 2 of the backup/);
  });
});
