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
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  defineVertical,
  verticalEntitiesOf,
  type SplitFault,
} from '../../src/modeling/patterns/vertical-split/index.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';

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
