import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../src/base/clock.js';
import {
  defineEntity,
  entitiesOf,
  enumeration,
  int32,
  key,
  string,
  upgradeRows,
  ValueError,
  bulk,
  writesOf,
  type TableGateway,
  type UpgradeReport,
} from '../../src/modeling/index.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const PersonOne = defineEntity({
  type: 'Person',
  properties: { team: string(), id: int32(), name: string() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
});
const Person = defineEntity({
  type: 'Person',
  version: 2,
  properties: { team: string(), id: int32(), first: string(), last: string() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`${p.id.padded(4)}`,
}).upgrading(PersonOne, ({ name, ...person }) => {
  const [first, last] = name.split(' ');
  if (first === undefined || last === undefined) throw new ValueError(`'${name}' is one word`);
  return { ...person, first, last };
});

async function filled(table: TableGateway, count: number): Promise<void> {
  const make = writesOf(PersonOne);
  await bulk(
    table,
    Array.from({ length: count }, (_, id) =>
      make.insert({ team: `t${id % 2}`, id, name: `Jo Smith${id}` }),
    ),
  );
}

async function withPeople(count: number) {
  const table = await started.newTable();
  await filled(table.gateway, count);
  table.takeKinds();
  return { ...table, people: entitiesOf(Person, table.gateway) };
}

async function versionsOf(table: TableGateway): Promise<readonly number[]> {
  const { rows } = await table.page({});
  return rows.map(({ properties }) => Number(properties['EntityVersion']?.value ?? 1));
}

describe('upgradeRows', () => {
  it('stores every row in the new form, by transactions, and once', async () => {
    const { people, gateway, takeKinds } = await withPeople(150);
    await people.insert({ team: 't0', id: 1000, first: 'Al', last: 'New' });
    await gateway.write({
      kind: 'insert',
      row: { partitionKey: 't0', rowKey: 'other', properties: {} },
    });
    takeKinds();
    const dry = await upgradeRows(people, { dryRun: true });
    assert.deepEqual(dry, { checked: 151, outdated: 150, upgraded: 0, failures: [] });
    assert.deepEqual(takeKinds(), ['query']);
    const report = await upgradeRows(people);
    assert.deepEqual(report, { checked: 151, outdated: 150, upgraded: 150, failures: [] });
    assert.deepEqual(takeKinds(), ['query', 'transaction', 'transaction']);
    const stored = await gateway.get({ partitionKey: 't1', rowKey: '0007' });
    assert.equal(stored?.properties['last']?.value, 'Smith7');
    assert.equal(stored.properties['EntityVersion']?.value, 2);
    assert.equal(stored.properties['name'], undefined);
    assert.equal((await upgradeRows(people)).outdated, 0);
    assert.deepEqual(takeKinds(), ['point-read', 'query']);
  });

  it('leaves what cannot be upgraded, and tells it', async () => {
    const { people, gateway } = await withPeople(3);
    await entitiesOf(PersonOne, gateway).insert({ team: 't0', id: 9, name: 'Single' });
    const { upgraded, failures } = await upgradeRows(people);
    assert.equal(upgraded, 3);
    assert.deepEqual(
      failures.map(({ rowKey, error }) => [rowKey, error.message]),
      [['0009', "'Single' is one word"]],
    );
  });

  it('leaves what the definition cannot store, and upgrades the others', async () => {
    const { gateway } = await started.newTable();
    const PaintOne = defineEntity({
      type: 'Paint',
      properties: { id: int32(), colour: string() },
      partitionKey: () => key`paints`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    });
    const Paint = defineEntity({
      type: 'Paint',
      version: 2,
      properties: { id: int32(), colour: enumeration('red', 'green') },
      partitionKey: () => key`paints`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    }).upgrading(PaintOne, (paint) => ({ ...paint, colour: paint.colour as 'red' }));
    const olds = entitiesOf(PaintOne, gateway);
    for (const [id, colour] of ['red', 'mauve', 'green'].entries()) {
      await olds.insert({ id, colour });
    }
    const paints = entitiesOf(Paint, gateway);
    for (const dryRun of [true, false]) {
      const { upgraded, failures } = await upgradeRows(paints, { dryRun });
      assert.equal(upgraded, dryRun ? 0 : 2);
      assert.deepEqual(
        failures.map(({ rowKey, error }) => [rowKey, error.name]),
        [['0001', 'ValueError']],
      );
    }
    assert.deepEqual(await versionsOf(gateway), [2, 1, 2]);
  });

  it('upgrades one partition alone', async () => {
    const { people, gateway } = await withPeople(6);
    assert.equal((await upgradeRows(people, { partition: { team: 't0' } })).upgraded, 3);
    assert.deepEqual(await versionsOf(gateway), [2, 2, 2, 1, 1, 1]);
  });

  it('takes what others have written meanwhile as it is', async () => {
    const { gateway } = await withPeople(4);
    const olds = entitiesOf(PersonOne, gateway);
    let isFirst = true;
    const overtaken: TableGateway = {
      table: gateway.table,
      get: (rowKey, select) => gateway.get(rowKey, select),
      write: (write) => gateway.write(write),
      transact: (writes) => gateway.transact(writes),
      page: async (query) => {
        const page = await gateway.page(query);
        if (isFirst) {
          isFirst = false;
          await olds.merge({ team: 't0', id: 0 }, { name: 'Not Smith' }, { ifMatch: 'any' });
          await olds.delete({ team: 't0', id: 2 }, { ifMatch: 'any' });
          await entitiesOf(Person, gateway).update({ team: 't1', id: 1 }, (person) => ({
            ...person,
            last: 'Newer',
          }));
        }
        return page;
      },
    };
    const report = await upgradeRows(entitiesOf(Person, overtaken));
    assert.deepEqual(report, { checked: 4, outdated: 4, upgraded: 2, failures: [] });
    const found = await entitiesOf(Person, gateway).scanTable().toArray({ max: 9 });
    assert.deepEqual(
      found.map(({ last }) => last),
      ['Smith', 'Newer', 'Smith3'],
    );
    assert.deepEqual(await versionsOf(gateway), [2, 2, 2]);
  });

  it('tells its progress, is stopped after a page and goes on from its cursor', async () => {
    const { people, gateway } = await withPeople(10);
    const stop = new AbortController();
    const seen: UpgradeReport[] = [];
    const first = await upgradeRows(people, {
      pageRows: 4,
      signal: stop.signal,
      onProgress: (report) => {
        seen.push(report);
        stop.abort();
      },
    });
    assert.equal(seen.length, 1);
    assert.equal(first.upgraded, 4);
    assert.ok(first.cursor);
    const rest = await upgradeRows(people, { pageRows: 4, from: first.cursor });
    assert.equal(rest.upgraded, 6);
    assert.equal(rest.cursor, undefined);
    assert.ok((await versionsOf(gateway)).every((version) => version === 2));
  });

  it('writes no more rows a second than it may', async () => {
    const { people } = await withPeople(10);
    const clock = manualClock();
    const waits: number[] = [];
    await upgradeRows(people, {
      pageRows: 4,
      rowsPerSecond: 2,
      clock,
      timers: {
        start: (delayMs, callback, argument) => {
          waits.push(delayMs);
          clock.advanceMicros(delayMs * 1000);
          return started.hurriedTimers.start(0, callback, argument);
        },
      },
    });
    assert.deepEqual(waits, [2000, 2000]);
  });

  it('that is killed anywhere is ended by running it again', async () => {
    await crashEverywhere<TableGateway>({
      prepare: async () => {
        const { gateway } = await started.newTable();
        await filled(gateway, 4);
        return gateway;
      },
      run: (table, doomed) => upgradeRows(entitiesOf(Person, doomed.wrap(table)), { pageRows: 2 }),
      recover: (table) => upgradeRows(entitiesOf(Person, table)),
      check: async (table) => assert.deepEqual(await versionsOf(table), [2, 2, 2, 2]),
    });
  });
});
