import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  DecodeError,
  DefinitionError,
  double,
  EntityExistsError,
  EntityNotFoundError,
  int32,
  key,
  string,
  ValueError,
  type Row,
  type TableGateway,
} from '../../src/modeling/index.js';
import { EncryptionError, keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import {
  defineVertical,
  verticalEntitiesOf,
  type SplitFault,
} from '../../src/modeling/patterns/vertical-split/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { CountingKey } from './support/encryption-keys.js';
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
/** As a process sees them that is killed. */
const doomedProducts = ({ about, stock, secret }: Tables, doomed: Doomed) =>
  productsOf({
    about: doomed.wrap(about),
    stock: doomed.wrap(stock),
    secret: doomed.wrap(secret),
  });
const lamp = { shop: 'berlin', id: 7, name: 'lamp', price: 9.5, level: 3, supplier: 'acme' };
const one = { shop: 'berlin', id: 7 };
const notFound = EntityNotFoundError;
const shown = (faults: readonly SplitFault[]) => faults.map(({ kind, group }) => [kind, group]);
const rowsIn = async (table: TableGateway) => (await table.page({})).rows;

describe('an entity that is split vertically', () => {
  it('has one key in all of its tables, also where parts of it are made', async () => {
    let ids = 0;
    const Page = defineVertical({
      type: 'Page',
      keys: {
        title: string(),
        slug: string().computed({ title: string() }, ({ title }) => title.toLowerCase()),
        id: string().default(() => `id${(ids += 1)}`),
      },
      partitionKey: (p) => key`${p.slug}`,
      rowKey: (p) => key`${p.title}_${p.id}`,
      groups: { text: { body: string() }, use: { reads: int32() } },
      leader: 'text',
    });
    const { about: text, stock: use } = await newTables();
    const pages = verticalEntitiesOf(Page, { text, use }, later);
    await pages.insert({ title: 'A', body: 'new', reads: 1 });
    const made = { title: 'A', slug: 'a', id: 'id1' };
    assert.deepEqual(await pages.get(made), { ...made, body: 'new', reads: 1 });
    const again = pages.insert({ title: 'A', id: 'id1', body: 'other', reads: 2 });
    await assert.rejects(again, EntityExistsError);
  });

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
      about: { ...started.gatewayOfNothing },
      secret: { ...started.gatewayOfNothing },
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
    const fewer = productsOf({ about: { ...nothing }, stock: tables.stock, secret: nothing });
    assert.deepEqual(await fewer.get(one, { select: ['level'] }), { ...one, level: 3 });
    const keys = productsOf({ ...tables, stock: { ...nothing }, secret: nothing });
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
    const dying = productsOf({ ...tables, secret: { ...started.gatewayOfNothing } });
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
    const shownOnly = productsOf({ ...tables, secret: { ...started.gatewayOfNothing } });
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

  it('that a crash has left half made is found, and no entity after verify', costly(), async () => {
    await crashEverywhere<Tables>({
      prepare: newTables,
      run: (tables, doomed) => doomedProducts(tables, doomed).insert(lamp),
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
        run: (tables, doomed) => doomedProducts(tables, doomed).insert(lamp),
        crashRecovery: true,
        recover: async (tables, doomed) => {
          const products = doomedProducts(tables, doomed);
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

  it(
    'is inserted by one of several at once, and keeps what is changed meanwhile',
    costly(),
    async () => {
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
    },
  );

  it(
    'that a crash has left half deleted is no entity, and can be inserted again',
    costly(),
    async () => {
      await crashEverywhere<Tables>({
        prepare: async () => {
          const tables = await newTables();
          await productsOf(tables).insert(lamp);
          return tables;
        },
        run: (tables, doomed) => doomedProducts(tables, doomed).delete(one),
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
    },
  );

  it('is changed in several groups as a whole, killed at any request', costly(), async () => {
    const changes = { price: 8, level: 2, supplier: 'globex' };
    const requests = await crashEverywhere<Tables>({
      prepare: async () => {
        const tables = await newTables();
        await productsOf(tables).insert(lamp);
        return tables;
      },
      run: (tables, doomed) => doomedProducts(tables, doomed).merge(one, changes),
      crashRecovery: true,
      recover: (tables, doomed) => doomedProducts(tables, doomed).verify({ repair: true }),
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

  it('keeps what others have changed since a change that is ended later', costly(), async () => {
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

  it(
    'takes every one of several changes at once, each in all of its groups',
    costly(),
    async () => {
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
    },
  );

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

  it('is replaced as a whole, and inserted when it is not there', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await assert.rejects(products.replace(lamp), notFound);
    await products.upsertReplace({ ...lamp, lastOrder: '2024-05-31' });
    const desk = { ...one, name: 'desk', price: 80, level: 1, supplier: 'globex' };
    await products.upsertReplace(desk);
    assert.deepEqual(await products.get(one), desk);
    await products.replace(lamp);
    assert.deepEqual(await products.get(one), lamp);
    const wrong = { ...desk, levle: 1 } as typeof desk;
    await assert.rejects(products.replace(wrong), /did you mean 'level'/);
    await assert.rejects(products.upsertReplace({ ...desk, level: 0.5 }), ValueError);
    await assert.rejects(products.insert({ ...wrong, id: 9 }), /did you mean 'level'/);
    await assert.rejects(products.insert({ ...desk, id: 9, level: 0.5 }), ValueError);
    assert.deepEqual(await products.get(one), lamp);
    assert.deepEqual(await products.verify(), []);
    for (const table of Object.values(tables)) assert.equal((await rowsIn(table)).length, 1);
  });

  for (const isThere of [true, false]) {
    it(
      `is replaced or inserted, killed at any request, where it is ${isThere ? '' : 'not '}there`,
      costly(),
      async () => {
        const before = { ...lamp, lastOrder: '2024-05-31' };
        const desk = { ...lamp, name: 'desk', level: 1, supplier: 'globex' };
        await crashEverywhere<Tables>({
          prepare: async () => {
            const tables = await newTables();
            if (isThere) await productsOf(tables).insert(before);
            return tables;
          },
          run: (tables, doomed) => doomedProducts(tables, doomed).upsertReplace(desk),
          crashRecovery: true,
          recover: (tables, doomed) => doomedProducts(tables, doomed).verify({ repair: true }),
          check: async (tables) => {
            const products = productsOf(tables);
            assert.deepEqual(await products.verify(), []);
            const found = await products.get(one);
            const isNew = found?.name === 'desk';
            assert.deepEqual(found, isNew ? desk : isThere ? before : undefined);
            await products.upsertReplace(desk);
            assert.deepEqual(await products.get(one), desk);
            for (const table of Object.values(tables))
              assert.equal((await rowsIn(table)).length, 1);
          },
        });
      },
    );
  }

  it('is what one of several replaces at once makes it', costly(), async () => {
    const tables = await newTables();
    const programs = Array.from({ length: 4 }, () => productsOf(tables));
    for (let round = 0; round < 3; round += 1) {
      const replaces = programs.map((products, at) =>
        products.upsertReplace({ ...lamp, price: at, level: at, supplier: `${at}` }),
      );
      await Promise.all(replaces);
      const products = productsOf(tables);
      const { price, level, supplier } = (await products.get(one)) ?? {};
      assert.deepEqual([level, supplier], [price, `${price}`]);
      assert.deepEqual(await products.verify(), []);
    }
  });

  it(
    'is replaced after a change that a crash has left, whatever the half shows',
    costly(),
    async () => {
      const tables = await newTables();
      const products = productsOf(tables);
      await products.insert(lamp);
      const dying = { ...started.gatewayOfNothing, table: tables.stock.table };
      const { stock } = tables;
      const killed: TableGateway = {
        ...dying,
        get: (key, select) => stock.get(key, select),
        write: (write) => stock.write(write),
      };
      const run = productsOf({ ...tables, stock: killed }).merge(one, { price: 8, level: 2 });
      await assert.rejects(run);
      // The half has this level already, and would get that of the change by the repair.
      await products.replace({ ...lamp, price: 7 });
      await products.verify({ repair: true });
      assert.deepEqual(await products.get(one), { ...lamp, price: 7 });
    },
  );

  it('that lacks a half is not replaced', async () => {
    const tables = await newTables();
    const products = productsOf(tables);
    await products.insert(lamp);
    const [half] = await rowsIn(tables.stock);
    assert.ok(half);
    await tables.stock.write({ kind: 'delete', key: half, etag: '*' });
    await assert.rejects(products.replace({ ...lamp, price: 1 }), DecodeError);
    await assert.rejects(products.upsertReplace({ ...lamp, price: 1 }), DecodeError);
    assert.equal((await products.get(one, { groups: ['about'] }))?.price, 9.5);
  });

  it('has no property with a name that its rows need', () => {
    for (const name of ['splitPair', 'splitChange', 'splitRemoved', 'splitBefore']) {
      const define = () =>
        defineVertical({
          type: 'Odd',
          keys: { id: int32() },
          partitionKey: () => key`odd`,
          rowKey: (p) => key`${p.id.padded(4)}`,
          groups: { one: { [name]: string() }, two: { other: string() } },
          leader: 'two',
        });
      assert.throws(define, DefinitionError, name);
    }
  });
});

describe('an entity that is split vertically, of which a group is encrypted', () => {
  const Sealed = defineVertical({
    type: 'Sealed',
    keys: { shop: string(), id: int32() },
    partitionKey: (p) => key`${p.shop}`,
    rowKey: (p) => key`${p.id.padded(6)}`,
    groups: {
      about: { name: string(), margin: string().encrypted() },
      secret: { supplier: string().optional(), terms: string().encrypted().optional() },
    },
    leader: 'about',
  });
  const wrapper = new CountingKey('split');
  const ring = { keys: keyRing(wrapper.kek) };
  interface Two {
    readonly about: TableGateway;
    readonly secret: TableGateway;
  }
  const sealedOf = ({ about, secret }: Two) => {
    const resolver = (_partition: string, row: string, property: string): boolean =>
      row.startsWith('0') && property === 'supplier';
    const tables = {
      about: withEncryption(about, ring),
      secret: withEncryption(secret, { ...ring, resolver }),
    };
    return verticalEntitiesOf(Sealed, tables, later);
  };
  const newTwo = async (): Promise<Two> => ({
    about: (await started.newTable()).gateway,
    secret: (await started.newTable()).gateway,
  });
  const hidden = (value: string) => `hidden ${value}`;
  const first = { ...one, name: 'lamp', margin: hidden('a'), supplier: hidden('b') };
  const second = { ...one, name: 'desk', margin: hidden('c'), terms: hidden('d') };
  const assertSealed = async ({ about, secret }: Two): Promise<void> => {
    assertSealedRows([...(await rowsIn(about)), ...(await rowsIn(secret))]);
  };
  const assertSealedRows = (rows: readonly Row[]): void => {
    for (const { properties } of rows) {
      for (const name of ['margin', 'supplier', 'terms', 'splitBefore']) {
        assert.ok((properties[name]?.type ?? 'Binary') === 'Binary', name);
      }
    }
  };

  it('is replaced without a value, or a digest of one, in plain in any row', async () => {
    const tables = await newTwo();
    await sealedOf(tables).insert(first);
    const written: Row[] = [];
    const noted = (table: TableGateway): TableGateway => ({
      table: table.table,
      get: (key, select) => table.get(key, select),
      page: (query) => table.page(query),
      write: (write) => {
        if (write.kind !== 'delete') written.push(write.row);
        return table.write(write);
      },
      transact: (writes) => {
        written.push(...writes.flatMap((write) => (write.kind === 'delete' ? [] : [write.row])));
        return table.transact(writes);
      },
    });
    const { about, secret } = tables;
    await sealedOf({ about: noted(about), secret: noted(secret) }).replace(second);
    // The part of the half, the leader, the half.
    assert.equal(written.length, 3);
    assertSealedRows(written);
  });

  it('is replaced, and shows nothing in plain whatever it is killed at', costly(), async () => {
    await crashEverywhere<Two>({
      prepare: async () => {
        const tables = await newTwo();
        await sealedOf(tables).insert(first);
        return tables;
      },
      run: ({ about, secret }, doomed) =>
        sealedOf({ about: doomed.wrap(about), secret: doomed.wrap(secret) }).replace(second),
      recover: async (tables) => {
        await assertSealed(tables);
        await sealedOf(tables).verify({ repair: true });
      },
      check: async (tables) => {
        const sealed = sealedOf(tables);
        assert.deepEqual(await sealed.verify(), []);
        const found = await sealed.get(one);
        assert.deepEqual(found, found?.name === 'desk' ? second : first);
        await sealed.replace(first);
        assert.deepEqual(await sealed.get(one), first);
        await assertSealed(tables);
      },
    });
  });

  it('is not merged where a property is encrypted, and nothing is written then', async () => {
    const Plain = defineVertical({
      type: 'Plain',
      keys: { shop: string(), id: int32() },
      partitionKey: (p) => key`${p.shop}`,
      rowKey: (p) => key`${p.id.padded(6)}`,
      groups: { about: { name: string() }, secret: { supplier: string(), since: int32() } },
      leader: 'about',
    });
    const { about, secret } = await newTwo();
    const encrypting = (name: string) => (_partition: string, row: string, property: string) =>
      row.startsWith('0') && property === name;
    const entity = { ...one, name: 'lamp', supplier: 'acme', since: 2024 };
    for (const [name, changes] of [
      ['supplier', { name: 'desk', supplier: 'globex' }],
      ['name', { name: 'desk', since: 2025 }],
    ] as const) {
      const tables = {
        about: withEncryption(about, { ...ring, resolver: encrypting(name) }),
        secret: withEncryption(secret, { ...ring, resolver: encrypting(name) }),
      };
      const products = verticalEntitiesOf(Plain, tables, later);
      await products.insert(entity);
      await assert.rejects(products.merge(one, changes), EncryptionError);
      assert.equal((await rowsIn(secret)).length, 1);
      assert.deepEqual(await products.get(one), entity);
      // A change of others beside what is encrypted.
      if (name === 'supplier') await products.merge(one, { name: 'desk', since: 2025 });
      await products.replace({ ...entity, supplier: 'globex' });
      assert.equal((await products.get(one))?.supplier, 'globex');
      await products.delete(one);
    }
  });
});
