import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import {
  codecOf,
  defineEntity,
  double,
  entitiesOf,
  Instant,
  int32,
  int64,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { eventViewOf } from '../../src/modeling/patterns/materialised-views/applied-events.js';
import { partitionViewOf } from '../../src/modeling/patterns/materialised-views/partition-view.js';
import { shardedCounterOf } from '../../src/modeling/patterns/materialised-views/sharded-counter.js';
import { crashEverywhere } from './support/crash-points.js';
import { fillRow } from './support/full-rows.js';
import { startTables } from './support/observed-tables.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const TitledEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    title: string().default('Engineer'),
    salary: double().optional(),
  },
});

const Totals = defineEntity({
  type: 'Totals',
  properties: {
    department: string(),
    title: string(),
    employees: int32().default(0),
    payroll: double().default(0),
    badges: int64().default(0n),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`totals_${p.title}`,
});

function viewOf(table: TableGateway, attemptsMax = 200) {
  return partitionViewOf({
    source: TitledEmployee,
    view: Totals,
    table,
    attemptsMax,
    keyOf: ({ department, title }) => (title === 'Ghost' ? undefined : { department, title }),
    measures: {
      employees: () => 1,
      payroll: ({ salary }) => salary ?? 0,
      badges: ({ id }) => BigInt(id),
    },
  });
}

type View = ReturnType<typeof viewOf>;
const employees = (table: TableGateway) => entitiesOf(TitledEmployee, table);
const sales = { department: 'Sales' };
const engineers = { ...sales, title: 'Engineer' };

async function sums(view: View, title = 'Engineer') {
  const found = await view.read({ ...sales, title });
  return found && [found.employees, found.payroll, found.badges];
}

describe('a view of a partition', () => {
  it('changes with an entity in one transaction', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const view = viewOf(gateway);
    await view.insert({ ...sales, id: 1, salary: 10.5 });
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    await view.insert({ ...sales, id: 2 });
    assert.deepEqual(await sums(view), [2, 10.5, 3n]);
    const one = await employees(gateway).get({ ...sales, id: 1 });
    assert.ok(one);
    await view.replace(one, { ...one, salary: 20 });
    assert.deepEqual(await sums(view), [2, 20, 3n]);
    const two = await employees(gateway).get({ ...sales, id: 2 });
    assert.ok(two);
    await view.delete(two);
    assert.deepEqual(await sums(view), [1, 20, 1n]);
    assert.deepEqual(await view.verify(sales), []);
  });

  it('counts an entity with the values that it is stored with', async () => {
    const { gateway } = await started.newTable();
    let drawn = 0;
    const Drawn = defineEntity({
      ...asEmployee,
      properties: { ...numbered, salary: double().default(() => (drawn += 1)) },
    });
    const view = partitionViewOf({
      source: Drawn,
      view: Totals,
      table: gateway,
      keyOf: ({ department }) => ({ department, title: 'Engineer' }),
      measures: { payroll: ({ salary }) => salary },
    });
    await view.insert({ ...sales, id: 1 });
    assert.equal((await view.read(engineers))?.payroll, 1);
    assert.deepEqual(await view.verify(sales), []);
    assert.equal(drawn, 1);
  });

  it('follows an entity that is made smaller, whose row has no room for what it lacks', async () => {
    const { gateway } = await started.newTable();
    const [a, b, c] = [int32().optional(), int32().optional(), int32().optional()];
    const Roomy = defineEntity({
      ...asEmployee,
      properties: { ...numbered, salary: double().default(1), a, b, c },
    });
    const view = partitionViewOf({
      source: Roomy,
      view: Totals,
      table: gateway,
      keyOf: ({ department }) => ({ department, title: 'Engineer' }),
      measures: { employees: () => 1, badges: ({ a = 0 }) => BigInt(a) },
    });
    await view.insert({ ...sales, id: 1, a: 1, b: 2, c: 3 });
    await fillRow(gateway, codecOf(Roomy).key({ ...sales, id: 1 }), 'a', 'b', 'c');
    const full = await entitiesOf(Roomy, gateway).get({ ...sales, id: 1 });
    assert.ok(full);
    await view.replace(full, { ...full, a: undefined, b: undefined, c: undefined });
    const summary = await view.read(engineers);
    assert.deepEqual([summary?.employees, summary?.badges], [1, 0n]);
  });

  it('moves an entity from one summary to another, and leaves out what has none', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const view = viewOf(gateway);
    await view.insert({ ...sales, id: 1 });
    await view.insert({ ...sales, id: 2, title: 'Ghost' });
    const one = await employees(gateway).get({ ...sales, id: 1 });
    assert.ok(one);
    takeKinds();
    await view.replace(one, { ...one, title: 'Manager' });
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'transaction']);
    assert.deepEqual(await sums(view), [0, 0, 0n]);
    assert.deepEqual(await sums(view, 'Manager'), [1, 0, 1n]);
    assert.equal(await sums(view, 'Ghost'), undefined);
    assert.deepEqual(await view.verify(sales), []);
  });

  it('counts what satisfies its condition, before and after a change and when it is rebuilt', async () => {
    const { gateway } = await started.newTable();
    const view = partitionViewOf({
      source: TitledEmployee,
      view: Totals,
      table: gateway,
      keyOf: ({ department, title }) => ({ department, title }),
      where: (p) => p.salary.gt(100).or(p.title.eq('Manager')),
      measures: { employees: () => 1, payroll: ({ salary }) => salary ?? 0 },
    });
    await view.insert({ ...sales, id: 1, salary: 50 });
    await view.insert({ ...sales, id: 2, salary: 150 });
    await view.insert({ ...sales, id: 3, title: 'Manager' });
    assert.equal((await view.read(engineers))?.employees, 1);
    assert.equal((await view.read({ ...sales, title: 'Manager' }))?.employees, 1);
    const one = await employees(gateway).get({ ...sales, id: 1 });
    assert.ok(one);
    await view.replace(one, { ...one, salary: 200 });
    assert.equal((await view.read(engineers))?.payroll, 350);
    assert.deepEqual(await view.verify(sales), []);
    await employees(gateway).update({ ...sales, id: 2 }, (each) => ({ ...each, salary: 1 }));
    assert.equal((await view.rebuild(sales)).length, 1);
    assert.equal((await view.read(engineers))?.employees, 1);
  });

  it('tells the caller of conflicts in the entity, and then counts nothing', async () => {
    const { gateway } = await started.newTable();
    const view = viewOf(gateway);
    await view.insert({ ...sales, id: 1 });
    const old = await employees(gateway).get({ ...sales, id: 1 });
    assert.ok(old);
    await assert.rejects(view.insert({ ...sales, id: 1 }), { name: 'EntityExistsError' });
    await view.replace(old, { ...old, salary: 1 });
    await assert.rejects(view.replace(old, { ...old, salary: 5 }), {
      name: 'ConditionFailedError',
    });
    await assert.rejects(view.delete(old), { name: 'ConditionFailedError' });
    await assert.rejects(view.replace(old, { ...old, id: 7 }), /cannot change keys/);
    assert.deepEqual(await sums(view), [1, 1, 1n]);
  });

  it('says what is stored, whatever 16 writers do at the same time', async () => {
    const { gateway } = await started.newTable();
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        const view = viewOf(gateway);
        const id = writer + 1;
        await view.insert({ ...sales, id, salary: id });
        const entity = await employees(gateway).get({ ...sales, id });
        assert.ok(entity);
        if (writer % 4 === 0) await view.delete(entity);
        else if (writer % 4 === 1) await view.replace(entity, { ...entity, title: 'Manager' });
        else await view.replace(entity, { ...entity, salary: 100 });
      }),
    );
    const view = viewOf(gateway);
    assert.deepEqual(await view.verify(sales), []);
    assert.deepEqual((await sums(view))?.slice(0, 2), [8, 800]);
    assert.deepEqual((await sums(view, 'Manager'))?.slice(0, 2), [4, 2 + 6 + 10 + 14]);
  });

  it('shows drift and is rebuilt, also when there was none or all has gone', async () => {
    const { gateway } = await started.newTable();
    const view = viewOf(gateway);
    for (const id of [1, 2, 3]) await employees(gateway).insert({ ...sales, id, salary: 0.1 });
    await entitiesOf(Totals, gateway).insert({ ...sales, title: 'Gone', employees: 9, badges: 5n });
    await entitiesOf(TitledEmployee, gateway).insert({ department: 'Other', id: 9 });
    const drift = await view.verify(sales);
    assert.deepEqual(
      drift.map((each) => [each.key, each.stored['employees'] ?? 0, each.actual['employees']]),
      [
        [{ ...sales, title: 'Gone' }, 9, 0],
        [engineers, 0, 3],
      ],
    );
    assert.equal((await view.rebuild(sales)).length, 2);
    assert.deepEqual(await view.verify(sales), []);
    assert.deepEqual(await view.rebuild(sales), []);
    assert.deepEqual((await sums(view))?.[0], 3);
    assert.deepEqual(await sums(view, 'Gone'), [0, 0, 0n]);
  });

  it('is rebuilt rightly while entities change', costly(), async () => {
    const { gateway } = await started.newTable();
    for (let id = 1; id <= 20; id++) await employees(gateway).insert({ ...sales, id });
    const changes = Array.from({ length: 8 }, async (_, writer) => {
      const view = viewOf(gateway);
      for (let round = 0; round < 3; round++) {
        await view.insert({ ...sales, id: 100 + writer * 10 + round, salary: 1 });
      }
    });
    await Promise.all([...changes, viewOf(gateway).rebuild(sales)]);
    assert.deepEqual(await viewOf(gateway).verify(sales), []);
    assert.equal((await sums(viewOf(gateway)))?.[0], 44);
  });

  it('is not written over by a rebuild that compared it before it changed', async () => {
    const { gateway } = await started.newTable();
    await viewOf(gateway).insert({ ...sales, id: 1 });
    await employees(gateway).insert({ ...sales, id: 2 });
    const outcomes: string[] = [];
    const disturbed: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      page: (query) => gateway.page(query),
      transact: (writes) => gateway.transact(writes),
      write: async (write) => {
        if (outcomes.length === 0) await viewOf(gateway).insert({ ...sales, id: 3 });
        const sent = gateway.write(write);
        const [{ status }] = await Promise.allSettled([sent]);
        outcomes.push(status);
        return sent;
      },
    };
    await viewOf(disturbed).rebuild(sales);
    assert.deepEqual(outcomes, ['rejected', 'fulfilled']);
    assert.equal((await sums(viewOf(gateway)))?.[0], 3);
  });

  it('never differs from its entities wherever a crash or a lost answer hits', async () => {
    const requests = await crashEverywhere<TableGateway>({
      prepare: async () => (await started.newTable()).gateway,
      run: async (table, doomed) => {
        const view = viewOf(doomed.wrap(table));
        await view.insert({ ...sales, id: 1, salary: 5 });
        await view.insert({ ...sales, id: 2, salary: 6 });
        const one = await employees(table).get({ ...sales, id: 1 });
        assert.ok(one);
        await view.replace(one, { ...one, title: 'Manager' });
      },
      recover: () => Promise.resolve(),
      check: async (table) => assert.deepEqual(await viewOf(table).verify(sales), []),
    });
    assert.equal(requests.length, 7);
  });

  it('refuses measures that cannot be kept', async () => {
    const { gateway } = await started.newTable();
    const NoDefault = defineEntity({
      type: 'NoDefault',
      properties: { department: string(), employees: int32() },
      partitionKey: (p) => key`${p.department}`,
      rowKey: () => key`totals`,
    });
    const make = (measures: object) => () =>
      partitionViewOf({
        source: TitledEmployee,
        view: NoDefault,
        table: gateway,
        keyOf: ({ department }) => ({ department }),
        measures,
      });
    assert.throws(make({ employees: () => 1 }), /NoDefault.employees cannot be a measure/);
    assert.throws(make({}), /needs a measure/);
  });
});

// Calls that do not compile, and their errors at run time.
it('a view refuses names that are no numbers of it', async () => {
  const { gateway } = await started.newTable();
  const make = () =>
    partitionViewOf({
      source: TitledEmployee,
      view: Totals,
      table: gateway,
      keyOf: ({ department, title }) => ({ department, title }),
      measures: {
        // @ts-expect-error -- the view has no such property
        people: () => 1,
      },
    });
  assert.throws(make, /cannot be a measure/);
});

describe('a sharded counter', () => {
  const Visits = defineEntity({
    type: 'Visits',
    properties: {
      page: string(),
      shard: int32(),
      count: int64().default(0n),
      bytes: double().default(0),
    },
    partitionKey: (p) => key`${p.page}_${p.shard.padded(2)}`,
    rowKey: () => key`visits`,
  });
  const counterOf = (table: TableGateway, shards = 8) =>
    shardedCounterOf(Visits, table, {
      shard: 'shard',
      shards,
      measures: ['count', 'bytes'],
    });

  it('counts what 16 writers add at the same time, and adds its shards up', costly(), async () => {
    const { gateway } = await started.newTable();
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        const counter = counterOf(gateway);
        for (let round = 0; round < 5; round++) {
          await counter.add({ page: '/' }, { count: 1n, bytes: 0.5 });
        }
      }),
    );
    assert.deepEqual(await counterOf(gateway).read({ page: '/' }), { count: 80n, bytes: 40 });
    const { rows } = await gateway.page({});
    assert.ok(rows.length > 4 && rows.length <= 8, `${rows.length} shards are used`);
    assert.deepEqual(await counterOf(gateway).read({ page: '/other' }), { count: 0n, bytes: 0 });
  });

  it('adds by a read and an update, and reads each shard once', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const counter = counterOf(gateway, 4);
    await counter.add({ page: 'p' }, { count: 2n });
    assert.deepEqual(takeKinds(), ['point-read', 'insert']);
    assert.deepEqual(await counter.read({ page: 'p' }), { count: 2n, bytes: 0 });
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'point-read', 'point-read']);
  });

  it('keeps its sum when it gets more shards', async () => {
    const { gateway } = await started.newTable();
    for (let count = 0; count < 20; count++) {
      await counterOf(gateway, 2 + count).add({ page: 'p' }, { count: 1n });
    }
    assert.equal((await counterOf(gateway, 30).read({ page: 'p' })).count, 20n);
  });

  it('refuses shards that the keys cannot hold', async () => {
    const { gateway } = await started.newTable();
    assert.throws(() => counterOf(gateway, 101), { name: 'ValueError' });
    assert.throws(() => counterOf(gateway, 0), { name: 'DefinitionError' });
    const make = () =>
      shardedCounterOf(Visits, gateway, { shard: 'page', shards: 2, measures: ['count'] });
    assert.throws(make, /Visits.page is no int32/);
  });
});

describe('a view of events', () => {
  const Count = defineEntity({
    type: 'Count',
    properties: { name: string(), count: int32().default(0) },
    partitionKey: (p) => key`view_${p.name}`,
    rowKey: () => key`count`,
  });
  const all = { name: 'a/b' };
  const viewOf = (table: TableGateway) => eventViewOf(Count, table, { attemptsMax: 200 });
  const increase = (view: ReturnType<typeof viewOf>, event: string) =>
    view.apply(event, all, (current) => ({ ...all, count: (current?.count ?? 0) + 1 }));

  it('applies each event once, however often and in what order they come', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const view = viewOf(gateway);
    assert.equal(await increase(view, 'a'), 'applied');
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    assert.equal(await increase(view, 'b/#'), 'applied');
    assert.equal(await increase(view, 'a'), 'applied-before');
    assert.equal((await view.read(all))?.count, 2);
  });

  it('applies each event once though 16 workers have all of them', costly(), async () => {
    const { gateway } = await started.newTable();
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        const found: string[] = [];
        for (let event = 0; event < 4; event++) {
          found.push(await increase(viewOf(gateway), `event ${(event + worker) % 4}`));
        }
        return found;
      }),
    );
    assert.equal(outcomes.flat().filter((outcome) => outcome === 'applied').length, 4);
    assert.equal((await viewOf(gateway).read(all))?.count, 4);
  });

  it('counts an event once though a crash or a lost answer has it delivered again', async () => {
    await crashEverywhere<TableGateway>({
      prepare: async () => (await started.newTable()).gateway,
      run: (table, doomed) => increase(viewOf(doomed.wrap(table)), 'event'),
      recover: (table, doomed) => increase(viewOf(doomed.wrap(table)), 'event'),
      check: async (table) => assert.equal((await viewOf(table).read(all))?.count, 1),
      crashRecovery: true,
    });
  });

  it('forgets old events, and nothing else', async () => {
    const { gateway } = await started.newTable();
    const view = viewOf(gateway);
    for (const event of ['a', 'b', 'c']) await increase(view, event);
    await setTimeout(2);
    const { deleted } = await view.forget(all, Instant.ofDate(new Date(Date.now() + 1000)));
    assert.equal(deleted, 3);
    assert.equal((await view.read(all))?.count, 3);
    await increase(view, 'new');
    assert.equal((await view.forget(all, Instant.parse('2001-01-01'))).found, 0);
  });
});
