import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  defineEntity,
  DefinitionError,
  EntityExistsError,
  EntityNotFoundError,
  key,
  openAccountTables,
  openTable,
  string,
  transaction,
  type StoredRow,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  ManagerError,
  reference,
  sharded,
  shardMapManagerOf,
  type ShardMapManager,
  type ShardLocation,
} from '../../src/modeling/patterns/shard-map-manager/index.js';
import { moveShard } from '../../src/modeling/patterns/shard-map/index.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { Note, notesOn } from './support/notes.js';
import { startTables } from './support/observed-tables.js';
import { costly, sampled } from '../support/run-length.js';

const started = await startTables({ inMemory: true });
after(() => started[Symbol.asyncDispose]());

const CountryOrder = defineEntity({
  type: 'Order',
  properties: { tenant: string(), country: string() },
  partitionKey: (p) => key`${p.tenant}`,
  rowKey: () => key`order`,
});
const Country = defineEntity({
  type: 'Country',
  properties: { continent: string(), code: string(), name: string() },
  partitionKey: (p) => key`${p.continent}`,
  rowKey: (p) => key`${p.code}`,
});
const schema = {
  version: 1,
  sharded: [sharded(CountryOrder, 'tenant')],
  reference: [reference(Country, { table: 'countries' })],
} as const;

const Currency = defineEntity({
  type: 'Currency',
  properties: { code: string(), name: string() },
  partitionKey: () => key`all`,
  rowKey: (p) => key`${p.code}`,
});
const withCurrencies = {
  version: 2,
  sharded: schema.sharded,
  reference: [...schema.reference, reference(Currency, { table: 'currencies' })],
} as const;
const notes = notesOn('a');

let worlds = 0;

/** Shards a and b, registered, c, and the home of reference data. */
async function world() {
  worlds += 1;
  const control = (await started.newTable()).gateway;
  const account = openAccountTables(started.service);
  const named = (suffix: string) => {
    const place = `${suffix}${worlds}`;
    return {
      table: (name: string) => openTable(started.clientOf(`${name}${place}`)),
      account: { create: (name: string) => account.create(`${name}${place}`) },
    };
  };
  const shards = { a: named('a'), b: named('b'), c: named('c') };
  const home = named('home');
  const clock = manualClock(Date.now() * 1000);
  const settings = { control, shards, home, clock, refreshMs: 0, settleMs: 0 };
  const manager = shardMapManagerOf(settings);
  await manager.addShard('a');
  await manager.addShard('b');
  const map = await manager.create({
    name: 'orders',
    table: 'orders',
    schema,
    routing: { kind: 'hash', shards: ['a', 'b'], slots: 4 },
  });
  const countries = map.reference(Country);
  await countries.entities.insert({ continent: 'europe', code: 'de', name: 'Germany' });
  await countries.entities.insert({ continent: 'africa', code: 'za', name: 'South Africa' });
  return { manager, map, countries, clock, settings, shards, home };
}

type World = Awaited<ReturnType<typeof world>>;

async function namesOn({ countries }: World, shard: string): Promise<readonly string[]> {
  const found = await (await countries.on(shard)).scanTable().toArray({ max: 99 });
  return found.map(({ name }) => name);
}

/** The manager of a program that may be killed. */
function wrapped({ settings }: World, doomed: Doomed): ShardMapManager {
  const placed = ({ table, account }: ShardLocation): ShardLocation => ({
    table: (name) => doomed.wrap(table(name)),
    ...(account === undefined ? {} : { account: doomed.wrap(account) }),
  });
  const { a, b, c } = settings.shards;
  return shardMapManagerOf({
    ...settings,
    control: doomed.wrap(settings.control),
    home: placed(settings.home),
    shards: { a: placed(a), b: placed(b), c: placed(c) },
  });
}

const both = ['South Africa', 'Germany'];

describe('reference data of shards', () => {
  it('are written once, and read beside the data of each shard', costly(), async () => {
    const made = await world();
    const { countries, manager, clock } = made;
    assert.deepEqual(await namesOn(made, 'a'), []);
    assert.equal(await countries.ageOf('a'), undefined);
    assert.deepEqual(await countries.distribute(), { partitions: 4, rows: 4 });
    assert.deepEqual(await countries.distribute(), { partitions: 0, rows: 0 });
    clock.advanceMicros(5e6);
    assert.equal(await countries.ageOf('a'), 5000);
    const { entities } = countries;
    await entities.merge({ continent: 'europe', code: 'de' }, { name: 'Allemagne' }, any);
    await entities.delete({ continent: 'africa', code: 'za' }, any);
    assert.deepEqual(await namesOn(made, 'b'), both);
    await countries.distribute();
    assert.deepEqual(await namesOn(made, 'b'), ['Allemagne']);
    assert.deepEqual(await countries.verify(), []);
    const copy = await countries.on('b');
    await assert.rejects(
      copy.insert({ continent: 'asia', code: 'jp', name: 'Japan' }),
      /read-only/,
    );
    await manager.addShard('c');
    assert.deepEqual(await namesOn(made, 'c'), ['Allemagne']);
    assert.equal(await countries.ageOf('c'), 0);
  });

  it(
    'are on a new shard before it is online, wherever its program is killed',
    costly(),
    async () => {
      await crashEverywhere<World>({
        prepare: world,
        run: (made, doomed) => wrapped(made, doomed).addShard('c'),
        recover: async (made) => {
          const found = (await made.manager.shards()).find(({ name }) => name === 'c');
          if (found?.status === 'online') assert.deepEqual(await namesOn(made, 'c'), both);
          await made.manager.addShard('c');
        },
        check: async (made) => {
          assert.deepEqual(await namesOn(made, 'c'), both);
          assert.deepEqual(
            (await made.countries.verify()).filter(({ shard }) => shard === 'c'),
            [],
          );
        },
      });
    },
  );

  it('keep a shard out that a program without their home would register', async () => {
    const { settings, manager } = await world();
    const { home: _, ...homeless } = settings;
    await assert.rejects(shardMapManagerOf(homeless).addShard('c'), DefinitionError);
    assert.deepEqual(
      (await manager.shards()).map(({ name }) => name),
      ['a', 'b'],
    );
  });

  it('are brought to a shard that is attached before it is online', async () => {
    const made = await world();
    const { countries, manager, map } = made;
    await countries.distribute();
    await manager.detach('b');
    const { entities } = countries;
    await entities.merge({ continent: 'europe', code: 'de' }, { name: 'Allemagne' }, any);
    await manager.attach('b', [map], { keep: 'map', write: true });
    assert.deepEqual(await namesOn(made, 'b'), ['South Africa', 'Allemagne']);
    assert.deepEqual(await namesOn(made, 'a'), both);
  });

  it(
    'are on a shard that was offline before programs read there, and its tables too',
    costly(),
    async () => {
      for (const status of sampled(['online', 'read-only'] as const, 1)) {
        const made = await world();
        const { countries, manager } = made;
        await countries.distribute();
        await manager.setShard('b', { status: 'offline' });
        const { entities } = countries;
        await entities.merge({ continent: 'europe', code: 'de' }, { name: 'Allemagne' }, any);
        const upgraded = await manager.upgrade('orders', withCurrencies);
        await upgraded.reference(Currency).entities.insert({ code: 'EUR', name: 'euro' });
        await countries.distribute();
        assert.equal((await upgraded.reference(Currency).distribute()).rows, 1);
        await manager.setShard('b', { status });
        assert.deepEqual(await namesOn(made, 'b'), ['South Africa', 'Allemagne']);
        const currencies = await upgraded.reference(Currency).on('b');
        assert.equal((await currencies.get({ code: 'EUR' }))?.name, 'euro');
      }
    },
  );

  it('are on a shard that comes back, wherever its program is killed', costly(), async () => {
    await crashEverywhere<World>({
      prepare: async () => {
        const made = await world();
        await made.manager.setShard('b', { status: 'offline' });
        return made;
      },
      run: (made, doomed) => wrapped(made, doomed).setShard('b', { status: 'online' }),
      recover: async (made) => {
        const { status } = (await made.manager.shards())[1] ?? {};
        if (status === 'online') assert.deepEqual(await namesOn(made, 'b'), both);
        await made.manager.setShard('b', { status: 'online' });
      },
      check: async (made) => assert.deepEqual(await namesOn(made, 'b'), both),
    });
  });

  it('keep a shard out that a program without their home would bring back', async () => {
    const { settings, manager } = await world();
    const { home: _, ...homeless } = settings;
    await manager.setShard('b', { status: 'offline' });
    const other = shardMapManagerOf(homeless);
    await assert.rejects(other.setShard('b', { status: 'online' }), DefinitionError);
    assert.equal((await manager.shards())[1]?.status, 'offline');
    await other.setShard('b', { region: 'eu' });
  });

  it('are written as those of any table', async () => {
    const { countries } = await world();
    const { entities } = countries;
    const germany = { continent: 'europe', code: 'de', name: 'Germany' };
    await assert.rejects(entities.insert(germany), EntityExistsError);
    await assert.rejects(
      entities.merge({ continent: 'europe', code: 'xx' }, { name: 'x' }, any),
      EntityNotFoundError,
    );
    await transaction(entities.table)
      .upsertReplace(Country, { ...germany, name: 'Deutschland' })
      .insert(Country, { continent: 'europe', code: 'fr', name: 'France' })
      .run();
    const found = await entities.query({ partition: { continent: 'europe' } }).toArray({ max: 9 });
    assert.deepEqual(
      found.map(({ name }) => name),
      ['Deutschland', 'France'],
    );
    // Writers of one partition at once follow each other.
    const codes = ['a', 'b', 'c', 'd'];
    await Promise.all(
      codes.map((code) => entities.insert({ continent: 'asia', code, name: code })),
    );
    await countries.distribute();
    assert.deepEqual(await countries.verify(), []);
  });

  it('agree in the end, wherever their worker is killed', costly(), async () => {
    await crashEverywhere<World>({
      prepare: world,
      run: async (made, doomed) => {
        const map = await wrapped(made, doomed).open('orders', schema);
        await map.reference(Country).distribute();
      },
      recover: ({ countries }) => countries.distribute(),
      check: async (made) => {
        for (const shard of ['a', 'b']) assert.deepEqual(await namesOn(made, shard), both);
        assert.deepEqual(await made.countries.verify(), []);
      },
    });
  });

  it('are brought up to date where a shard or their home was restored', costly(), async () => {
    const made = await world();
    const { countries, shards, home } = made;
    await countries.distribute();
    const before = [
      await copyOf(shards.a.table('countries')),
      await copyOf(home.table('countries')),
    ];
    const { entities } = countries;
    await entities.merge({ continent: 'europe', code: 'de' }, { name: 'Allemagne' }, any);
    await countries.distribute();
    await restore(shards.a.table('countries'), before[0] ?? []);
    assert.deepEqual(await countries.verify(), [{ shard: 'a', partitionKey: 'europe', rows: 1 }]);
    await countries.distribute();
    assert.deepEqual(await namesOn(made, 'a'), ['South Africa', 'Allemagne']);
    await restore(home.table('countries'), before[1] ?? []);
    await countries.distribute();
    assert.deepEqual(await namesOn(made, 'a'), both);
    // A row that somebody changed past the library, which no version tells.
    const row = { partitionKey: 'europe', rowKey: 'de' };
    await shards.b.table('countries').write({ kind: 'delete', key: row, etag: '*' });
    assert.deepEqual(await countries.distribute(), { partitions: 0, rows: 0 });
    assert.equal((await countries.verify({ repair: true })).length, 1);
    assert.deepEqual(await countries.verify(), []);
  });
});

describe('the tables of a shard that was detached', () => {
  it('are told and made, before programs use it', costly(), async () => {
    const { manager, settings, shards } = await world();
    await manager.detach('b');
    const orders = await manager.upgrade('orders', withCurrencies);
    const made = await manager.create(notes);
    const maps = [orders, made];
    const dry = await manager.attach('b', maps, { keep: 'map' });
    assert.deepEqual(dry.missing, ['notes', 'currencies']);
    assert.deepEqual([dry.unbound, dry.isOnline], [[], false]);
    await assert.rejects(shards.b.table('notes').page({}), { name: 'TableNotFoundError' });
    // Another shard is attached meanwhile.
    await manager.detach('a');
    await manager.attach('a', maps, { keep: 'map', write: true });
    const handmade = { ...settings, shards: { ...shards, b: { table: shards.b.table } } };
    await assert.rejects(
      shardMapManagerOf(handmade).attach('b', maps, { keep: 'map', write: true }),
      /the shard 'b' has no table 'notes', and its location makes none/,
    );
    await manager.attach('b', maps, { keep: 'map', write: true });
    await made.map.apply(moveShard('a', 'b'));
    await made.entities(Note).insert({ name: 'one', text: 'routed to b' });
    assert.equal(await (await orders.reference(Currency).on('b')).get({ code: 'x' }), undefined);
  });

  it('are there, wherever the program that attaches it is killed', costly(), async () => {
    const attach = async (manager: ShardMapManager): Promise<unknown> => {
      const orders = await manager.open('orders', withCurrencies);
      const maps = [orders, await manager.open('notes', notes.schema)];
      return manager.attach('b', maps, { keep: 'map', write: true });
    };
    await crashEverywhere<World>({
      prepare: async () => {
        const made = await world();
        await made.manager.detach('b');
        await made.manager.upgrade('orders', withCurrencies);
        await made.manager.create(notes);
        return made;
      },
      run: (made, doomed) => attach(wrapped(made, doomed)),
      recover: async (made) => {
        const { status } = (await made.manager.shards())[1] ?? {};
        if (status === 'online') await made.shards.b.table('notes').page({});
        await attach(made.manager);
      },
      check: async ({ manager }) => {
        const map = await manager.open('notes', notes.schema);
        await map.map.apply(moveShard('a', 'b'));
        await map.entities(Note).insert({ name: 'one', text: 'routed to b' });
      },
    });
  });

  it('are told where a map leads to one that is gone', async () => {
    const { manager, map, settings } = await world();
    await manager.detach('b');
    const { a, c } = settings.shards;
    const other = shardMapManagerOf({ ...settings, shards: { a, b: c } });
    const there = await other.open('orders', schema);
    const dry = await other.attach('b', [there], { keep: 'map' });
    assert.deepEqual([dry.missing, dry.unbound], [['orders', 'countries'], ['orders']]);
    const write = { keep: 'map', write: true } as const;
    await assert.rejects(other.attach('b', [there], write), ManagerError);
    await assert.rejects(manager.setShard('b', { status: 'online' }), /is detached: attach it/);
    await other.attach('b', [there], { ...write, unbound: 'taken' });
    assert.deepEqual((await other.attach('b', [there], { keep: 'map' })).missing, []);
    assert.equal(map.name, 'orders');
  });
});

const any = { ifMatch: 'any' } as const;

async function copyOf(table: TableGateway): Promise<readonly StoredRow[]> {
  return (await table.page({})).rows;
}

async function restore(table: TableGateway, rows: readonly StoredRow[]): Promise<void> {
  for (const { partitionKey, rowKey, properties } of rows) {
    await table.write({ kind: 'upsert-replace', row: { partitionKey, rowKey, properties } });
  }
}
