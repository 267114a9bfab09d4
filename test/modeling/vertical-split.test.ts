import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  DecodeError,
  double,
  EntityExistsError,
  EntityNotFoundError,
  int32,
  key,
  string,
  ValueError,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  defineVertical,
  verticalEntitiesOf,
  type SplitFault,
} from '../../src/modeling/patterns/vertical-split/index.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const started = await startTables({ inMemory: true });
after(() => started[Symbol.asyncDispose]());

const Product = defineVertical({
  type: 'Product',
  keys: { shop: string(), id: int32() },
  partitionKey: (p) => key`${p.shop}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
  groups: {
    about: { name: string(), price: double() },
    stock: { level: int32(), lastOrder: string().optional() },
    secret: { supplier: string() },
  },
  leader: 'about',
});

type Tables = Readonly<Record<'about' | 'stock' | 'secret', TableGateway>>;

async function newTables(): Promise<Tables> {
  return {
    about: (await started.newTable()).gateway,
    stock: (await started.newTable()).gateway,
    secret: (await started.newTable()).gateway,
  };
}

// Everything was written before.
const later = { clock: manualClock((Date.now() + 86_400_000) * 1000) };
const productsOf = (tables: Tables) => verticalEntitiesOf(Product, tables, later);
const lamp = { shop: 'berlin', id: 7, name: 'lamp', price: 9.5, level: 3, supplier: 'acme' };
const one = { shop: 'berlin', id: 7 };
const notFound = EntityNotFoundError;
const shown = (faults: readonly SplitFault[]) => faults.map(({ kind, group }) => [kind, group]);
const rowsIn = async (table: TableGateway) => (await table.page({})).rows;

describe('an entity that is split vertically', () => {
  it('has each group in its table, and is read and written as one', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await products.insert(lamp);
    await assert.rejects(products.insert(lamp), EntityExistsError);
    assert.deepEqual(await products.get(one), lamp);
    const told = JSON.stringify([await rowsIn(tables.about), await rowsIn(tables.stock)], (_, v) =>
      typeof v === 'bigint' ? String(v) : (v as unknown),
    );
    assert.ok(!told.includes('acme'), 'the secret is in its own table alone');
    await products.merge(one, { level: 2, price: 8 });
    const stock = await products.get(one, { groups: ['stock'] });
    assert.equal(stock?.level, 2);
    assert.equal((await products.get(one))?.price, 8);
    await assert.rejects(products.merge({ ...one, id: 8 }, { level: 1 }), EntityNotFoundError);
    assert.deepEqual(await products.verify(), []);
    await products.delete(one);
    await assert.rejects(products.delete(one), EntityNotFoundError);
    assert.equal(await products.get(one), undefined);
    for (const table of Object.values(tables)) assert.deepEqual(await rowsIn(table), []);
  });

  it('asks one table when one group is enough', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const tables = { ...(await newTables()), stock: gateway };
    const products = productsOf(tables);
    await products.insert(lamp);
    takeKinds();
    const nothing = {
      ...tables,
      about: started.gatewayOfNothing,
      secret: started.gatewayOfNothing,
    };
    await productsOf(nothing).get(one, { groups: ['stock'] });
    await productsOf(nothing).merge(one, { level: 1 });
    assert.deepEqual(takeKinds(), ['point-read', 'update']);
  });

  it('reads some properties from the groups that have them', async () => {
    const tables = await newTables();
    await productsOf(tables).insert(lamp);
    const nothing = started.gatewayOfNothing;
    const products = productsOf({ ...tables, secret: nothing });
    const found = await products.get(one, { select: ['name', 'level'] });
    assert.deepEqual(found, { ...one, name: 'lamp', level: 3 });
    const fewer = productsOf({ about: nothing, stock: tables.stock, secret: nothing });
    assert.deepEqual(await fewer.get(one, { select: ['level'] }), { ...one, level: 3 });
    const keys = productsOf({ ...tables, stock: nothing, secret: nothing });
    assert.deepEqual(await keys.get(one, { select: ['id'] }), one);
    const unknown: string = 'nothing';
    const select = [unknown as 'name'];
    await assert.rejects(products.get(one, { select }), ValueError);
  });

  it('are listed in the order of their keys, and no halves among them', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    const shops = ['aachen', 'berlin', 'bonn'];
    for (const shop of shops.toReversed()) {
      for (const id of [2, 1]) await products.insert({ ...lamp, shop, id });
    }
    // An insert under way, a half of nothing, and a change under way.
    const dying = productsOf({ ...tables, secret: started.gatewayOfNothing });
    await assert.rejects(dying.insert({ ...lamp, shop: 'berlin', id: 3 }));
    await tables.about.write({
      kind: 'delete',
      key: { partitionKey: 'bonn', rowKey: '000001' },
      etag: '*',
    });
    const killed = { ...tables.about, write: () => Promise.reject(new Error('killed')) };
    const about: TableGateway = { ...killed, get: (key) => tables.about.get(key) };
    const changing = productsOf({ ...tables, about });
    await assert.rejects(
      changing.merge({ shop: 'aachen', id: 1 }, { price: 1, level: 1 }),
      /killed/,
    );
    const listed = async (rows: AsyncIterable<{ readonly shop: string; readonly id: number }>) => {
      const found: string[] = [];
      for await (const { shop, id } of rows) found.push(`${shop} ${id}`);
      return found;
    };
    const all = ['aachen 1', 'aachen 2', 'berlin 1', 'berlin 2', 'bonn 2'];
    assert.deepEqual(await listed(products.scan()), all);
    assert.deepEqual(await listed(products.scan({ shop: 'berlin' })), ['berlin 1', 'berlin 2']);
    const shownOnly = productsOf({ ...tables, secret: started.gatewayOfNothing });
    const names = shownOnly.scan({}, { select: ['name', 'level'] });
    for await (const { name, level } of names) assert.deepEqual([name, level], ['lamp', 3]);
    const groups = shownOnly.scan({ shop: 'aachen' }, { groups: ['about'] });
    assert.deepEqual(await listed(groups), ['aachen 1', 'aachen 2']);
    await tables.stock.write({
      kind: 'delete',
      key: { partitionKey: 'berlin', rowKey: '000001' },
      etag: '*',
    });
    await assert.rejects(listed(products.scan()), DecodeError);
  });

  it('that a crash has left half made is found, and no entity after verify', async () => {
    await crashEverywhere<Tables>({
      prepare: newTables,
      run: (tables, doomed) =>
        productsOf({
          about: doomed.wrap(tables.about),
          stock: doomed.wrap(tables.stock),
          secret: doomed.wrap(tables.secret),
        }).insert(lamp),
      recover: async (tables) => {
        const products = productsOf(tables);
        const isThere = (await products.get(one)) !== undefined;
        await products.verify({ repair: true });
        assert.deepEqual(await products.verify(), []);
        assert.equal((await products.get(one)) !== undefined, isThere);
        if (!isThere) await products.insert(lamp);
      },
      check: async (tables) => {
        assert.deepEqual(await productsOf(tables).get(one), lamp);
      },
    });
  });

  it(
    'that a killed insert has left is no entity to a read, and the next insert takes it',
    costly(),
    async () => {
      const other = { ...lamp, name: 'desk', level: 8, supplier: 'globex' };
      const halves = { groups: ['stock', 'secret'] } as const;
      await crashEverywhere<Tables>({
        prepare: newTables,
        run: (tables, doomed) =>
          productsOf({
            about: doomed.wrap(tables.about),
            stock: doomed.wrap(tables.stock),
            secret: doomed.wrap(tables.secret),
          }).insert(lamp),
        crashRecovery: true,
        recover: async (tables, doomed) => {
          const products = productsOf({
            about: doomed.wrap(tables.about),
            stock: doomed.wrap(tables.stock),
            secret: doomed.wrap(tables.secret),
          });
          const found = await products.get(one, halves);
          const listed = [];
          for await (const row of products.scan({}, halves)) listed.push(row);
          assert.deepEqual(listed, found === undefined ? [] : [found]);
          const whole = await products.get(one);
          if (whole === undefined) await products.insert(other);
          else await assert.rejects(products.insert(other), EntityExistsError);
        },
        check: async (tables) => {
          const products = productsOf(tables);
          const found = await products.get(one);
          assert.ok(found !== undefined);
          assert.deepEqual(found, found.name === 'lamp' ? lamp : other);
          assert.deepEqual(await products.verify(), []);
          for (const table of Object.values(tables)) assert.equal((await rowsIn(table)).length, 1);
        },
      });
    },
  );

  it('is inserted by one of several at once, and keeps what is changed meanwhile', async () => {
    for (let round = 0; round < 5; round += 1) {
      const tables = await newTables();
      const inserts = [1, 2, 3, 4].map((level) =>
        productsOf(tables).insert({ ...lamp, level, supplier: `${level}` }),
      );
      const ends = await Promise.allSettled(inserts);
      const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
      assert.equal(refused.length, 3);
      for (const reason of refused) assert.ok(reason instanceof EntityExistsError, `${reason}`);
      const found = await productsOf(tables).get(one);
      assert.equal(found?.supplier, `${found?.level}`);
      assert.equal(ends[(found?.level ?? 0) - 1]?.status, 'fulfilled');
    }
    const tables = await newTables();
    const secret: TableGateway = {
      ...started.gatewayOfNothing,
      write: async (write) => {
        await productsOf(tables).merge(one, { price: 1 });
        return tables.secret.write(write);
      },
    };
    await productsOf({ ...tables, secret }).insert(lamp);
    assert.deepEqual(await productsOf(tables).get(one), { ...lamp, price: 1 });
  });

  it('that a crash has left half deleted is no entity, and can be inserted again', async () => {
    await crashEverywhere<Tables>({
      prepare: async () => {
        const tables = await newTables();
        await productsOf(tables).insert(lamp);
        return tables;
      },
      run: (tables, doomed) =>
        productsOf({
          about: doomed.wrap(tables.about),
          stock: doomed.wrap(tables.stock),
          secret: doomed.wrap(tables.secret),
        }).delete(one),
      recover: async (tables) => {
        const products = productsOf(tables);
        if ((await products.get(one)) !== undefined) await products.delete(one);
        // Also before anybody has repaired anything.
        await products.insert({ ...lamp, level: 9 });
      },
      check: async (tables) => {
        const products = productsOf(tables);
        assert.equal((await products.get(one))?.level, 9);
        assert.deepEqual(await products.verify(), []);
      },
    });
  });

  it('is changed in several groups as a whole, killed at any request', costly(), async () => {
    const doomedProducts = (tables: Tables, wrap: <T extends object>(port: T) => T) =>
      productsOf({
        about: wrap(tables.about),
        stock: wrap(tables.stock),
        secret: wrap(tables.secret),
      });
    const changes = { price: 8, level: 2, supplier: 'globex' };
    const requests = await crashEverywhere<Tables>({
      prepare: async () => {
        const tables = await newTables();
        await productsOf(tables).insert(lamp);
        return tables;
      },
      run: (tables, doomed) =>
        doomedProducts(tables, (port) => doomed.wrap(port)).merge(one, changes),
      crashRecovery: true,
      recover: (tables, doomed) =>
        doomedProducts(tables, (port) => doomed.wrap(port)).verify({ repair: true }),
      check: async (tables) => {
        const products = productsOf(tables);
        assert.deepEqual(await products.verify(), []);
        const found = await products.get(one);
        const isChanged = found?.price === 8;
        assert.deepEqual(found, isChanged ? { ...lamp, ...changes } : lamp);
        await products.merge(one, changes);
        assert.deepEqual(await products.get(one), { ...lamp, ...changes });
        for (const table of Object.values(tables)) assert.equal((await rowsIn(table)).length, 1);
      },
    });
    assert.equal(requests.length, 8);
  });

  it('tells a change that a crash has left, and takes back one that does not count', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await products.insert(lamp);
    const { about } = tables;
    const killed = (isBefore: boolean): TableGateway => ({
      table: about.table,
      get: (key, select) => about.get(key, select),
      page: (query) => about.page(query),
      transact: (writes) => about.transact(writes),
      write: async (write) => {
        if (!isBefore) await about.write(write);
        throw new Error('killed');
      },
    });
    const changed = { price: 8, level: 2 };
    for (const isBefore of [true, false]) {
      const dying = productsOf({ ...tables, about: killed(isBefore) });
      await assert.rejects(dying.merge(one, changed), /killed/);
      const young = verticalEntitiesOf(Product, tables);
      assert.deepEqual(shown(await young.verify({ repair: true })), []);
      assert.deepEqual(shown(await products.verify()), [['changing', 'stock']]);
      const told = await products.verify({ repair: true });
      assert.deepEqual(told, [{ kind: 'changing', group: 'stock', key: one, isRepaired: true }]);
      assert.deepEqual(await products.get(one), isBefore ? lamp : { ...lamp, ...changed });
    }
  });

  it('keeps what others have changed since a change that is ended later', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await products.insert({ ...lamp, lastOrder: '2024-05-01' });
    const { stock } = tables;
    const dying: TableGateway = {
      table: stock.table,
      get: (key, select) => stock.get(key, select),
      page: (query) => stock.page(query),
      write: (write) => stock.write(write),
      transact: () => Promise.reject(new Error('killed')),
    };
    const run = productsOf({ ...tables, stock: dying }).merge(one, {
      price: 8,
      level: 2,
      lastOrder: '2024-05-31',
    });
    await assert.rejects(run, /killed/);
    await products.merge(one, { level: 77 });
    // Another change of the same groups first ends the one that counts.
    await products.merge(one, { price: 7, lastOrder: '2024-06-01' });
    const expected = { ...lamp, price: 7, level: 77, lastOrder: '2024-06-01' };
    assert.deepEqual(await products.get(one), expected);
    assert.deepEqual(await products.verify(), []);
  });

  it('takes every one of several changes at once, each in all of its groups', async () => {
    const tables = await newTables();
    const programs = Array.from({ length: 4 }, () => productsOf(tables));
    const [first] = programs;
    assert.ok(first);
    await first.insert(lamp);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        programs.map((products, at) => products.merge(one, { level: at, supplier: `${at}` })),
      );
      const { supplier, level } = (await productsOf(tables).get(one)) ?? {};
      assert.equal(supplier, String(level));
      assert.deepEqual(await first.verify(), []);
    }
  });

  it('refuses a change that one of its groups cannot take before anything is written', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await products.insert(lamp);
    await assert.rejects(products.merge(one, { price: 1, level: 0.5 }), ValueError);
    await assert.rejects(products.merge({ ...one, id: 9 }, { price: 1, level: 1 }), notFound);
    const [half] = await rowsIn(tables.stock);
    assert.ok(half);
    await tables.stock.write({ kind: 'delete', key: half, etag: '*' });
    await assert.rejects(products.merge(one, { price: 1, level: 1, supplier: 'x' }), notFound);
    for (const table of [tables.about, tables.secret])
      assert.equal((await rowsIn(table)).length, 1);
    assert.equal((await products.get(one, { groups: ['about'] }))?.price, 9.5);
  });

  it('that lacks a half is told, and orphans of the last hour are left alone', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await products.insert(lamp);
    const [half] = await rowsIn(tables.stock);
    assert.ok(half);
    await tables.stock.write({ kind: 'delete', key: half, etag: '*' });
    await assert.rejects(products.get(one), DecodeError);
    assert.deepEqual(shown(await products.verify({ repair: true })), [['torn', 'stock']]);
    const { partitionKey, properties } = half;
    const row = { partitionKey, rowKey: '000008', properties };
    await tables.stock.write({ kind: 'insert', row });
    const young = verticalEntitiesOf(Product, tables);
    assert.deepEqual(shown(await young.verify({ repair: true })), []);
    assert.deepEqual(shown(await products.verify()), [
      ['torn', 'stock'],
      ['orphan', 'stock'],
    ]);
    assert.deepEqual(
      (await products.verify({ repair: true })).map(({ isRepaired }) => isRepaired),
      [false, true],
    );
    assert.deepEqual(shown(await products.verify()), [['torn', 'stock']]);
  });
});
