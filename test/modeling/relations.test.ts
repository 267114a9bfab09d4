import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock, systemClock, type Clock } from '../../src/base/clock.js';
import {
  codecOf,
  DecodeError,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  ValueError,
  type TableGateway,
} from '../../src/modeling/index.js';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/one-to-many.js';
import { oneToOneOf } from '../../src/modeling/patterns/relations/one-to-one.js';
import { costly } from '../support/run-length.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { CountingKey } from './support/encryption-keys.js';
import { fillRow } from './support/full-rows.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';
import { regionalDepartmentOf, RegionalDepartment, RegionalEmployee } from './support/regions.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

/** Later than every mark of the test. */
const inTwoDays = manualClock((Date.now() + 2 * 86_400_000) * 1000);

function relationOf(table: TableGateway) {
  return oneToManyOf({
    parent: RegionalDepartment,
    child: RegionalEmployee,
    table,
    parentOf: regionalDepartmentOf,
    count: 'employees',
    attemptsMax: 200,
    clock: inTwoDays,
  });
}

const sales = { region: 'East', department: 'Sales' };

async function filled(table: TableGateway): Promise<TableGateway> {
  const departments = entitiesOf(RegionalDepartment, table);
  for (const name of ['Sales', 'Labs']) await departments.insert({ region: 'East', name });
  await departments.insert({ region: 'West', name: 'Sales' });
  const relation = relationOf(table);
  for (const id of [1, 2]) await relation.add({ ...sales, id });
  return table;
}

async function employee(table: TableGateway, region: string, id: number) {
  const found = await entitiesOf(RegionalEmployee, table).get({ region, id });
  assert.ok(found, `employee ${id} is not in ${region}`);
  return found;
}

/** The counts of the departments, and the actual numbers of employees. */
async function counts(table: TableGateway): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  const actual: Record<string, number> = {};
  for await (const { region, name, employees } of entitiesOf(
    RegionalDepartment,
    table,
  ).scanTable()) {
    found[`${region} ${name}`] = employees;
    actual[`${region} ${name}`] = 0;
  }
  for await (const { region, department } of entitiesOf(RegionalEmployee, table).scanTable()) {
    actual[`${region} ${department}`] = (actual[`${region} ${department}`] ?? 0) + 1;
  }
  assert.deepEqual(found, actual, 'counts differ from children');
  return found;
}

async function noLeftovers(table: TableGateway): Promise<void> {
  const { rows } = await table.page({ filter: "RowKey ge 'a'" });
  assert.deepEqual(
    rows.map(({ rowKey }) => rowKey),
    [],
  );
}

describe('one to many', () => {
  it('counts a child with the transaction that makes or removes it', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await filled(gateway);
    takeKinds();
    const relation = relationOf(gateway);
    await relation.add({ ...sales, id: 3 });
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    await relation.remove(await employee(gateway, 'East', 1));
    assert.deepEqual(await counts(gateway), { 'East Labs': 0, 'East Sales': 2, 'West Sales': 0 });
  });

  it('makes no child without a parent or with keys that are taken, and counts none', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const relation = relationOf(gateway);
    const homeless = relation.add({ region: 'East', department: 'None', id: 5 });
    await assert.rejects(homeless, { name: 'EntityNotFoundError' });
    await assert.rejects(relation.add({ ...sales, id: 1 }), { name: 'EntityExistsError' });
    const old = await employee(gateway, 'East', 1);
    await entitiesOf(RegionalEmployee, gateway).merge(old, { name: 'Al' });
    await assert.rejects(relation.remove(old), { name: 'ConditionFailedError' });
    assert.equal((await counts(gateway))['East Sales'], 2);
  });

  it('counts right among 16 writers', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        const relation = relationOf(gateway);
        const id = 100 + writer;
        await relation.add({ ...sales, id });
        if (writer % 2 === 0) await relation.remove(await employee(gateway, 'East', id));
        else if (writer % 4 === 1) {
          const child = await employee(gateway, 'East', id);
          await relation.move(child, { ...child, region: 'West' });
        }
      }),
    );
    assert.deepEqual(await counts(gateway), { 'East Labs': 0, 'East Sales': 6, 'West Sales': 4 });
  });

  it('corrects a count, also while children come', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const parent = { region: 'East', name: 'Sales' };
    await entitiesOf(RegionalDepartment, gateway).merge(
      parent,
      { employees: 77 },
      { ifMatch: 'any' },
    );
    const relation = relationOf(gateway);
    await Promise.all([
      relation.recount(parent),
      ...[11, 12, 13, 14].map((id) => relationOf(gateway).add({ ...sales, id })),
    ]);
    await relation.recount(parent);
    assert.equal((await counts(gateway))['East Sales'], 6);
    const none = relation.recount({ region: 'East', name: 'None' });
    await assert.rejects(none, { name: 'EntityNotFoundError' });
  });
});

/** Each default is another department than the one before. */
function changingDefaults() {
  let drawn = 0;
  const department = (): string => {
    drawn += 1;
    return drawn % 2 === 1 ? 'Sales' : 'Labs';
  };
  const employee = defineEntity({
    type: 'Employee',
    properties: { region: string(), id: int32(), department: string().default(department) },
    partitionKey: (p) => key`${p.region}`,
    rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
  });
  return { employee, drawn: () => drawn };
}

describe('a default that is a function', () => {
  const relationWith = (table: TableGateway) => {
    const { employee: child, drawn } = changingDefaults();
    const relation = oneToManyOf({
      parent: RegionalDepartment,
      child,
      table,
      parentOf: regionalDepartmentOf,
      count: 'employees',
    });
    return { relation, drawn };
  };

  it('is drawn once when a child is added: the parent that counts it is its own', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const { relation, drawn } = relationWith(gateway);
    await relation.add({ region: 'East', id: 7 });
    assert.equal(drawn(), 1);
    assert.deepEqual(await counts(gateway), { 'East Labs': 0, 'East Sales': 3, 'West Sales': 0 });
  });

  it('is drawn once when a child moves', async () => {
    for (const to of [
      { region: 'East', id: 8 },
      { region: 'East', id: 1 },
      { region: 'West', id: 8 },
    ]) {
      const { gateway } = await started.newTable();
      await filled(gateway);
      const { relation, drawn } = relationWith(gateway);
      const child = await relation.children.get({ region: 'East', id: 1 });
      assert.ok(child);
      await relation.move(child, to);
      assert.equal(drawn(), 1);
      const [left, joined] = to.region === 'East' ? [2, 0] : [1, 1];
      const expected = { 'East Labs': 0, 'East Sales': left, 'West Sales': joined };
      assert.deepEqual(await counts(gateway), expected);
    }
  });

  it('is drawn once for both of a pair', async () => {
    const { gateway: mainTable } = await started.newTable();
    const { gateway: other } = await started.newTable();
    for (const detailTable of [mainTable, other]) {
      const { employee: main, drawn } = changingDefaults();
      const { employee, drawn: drawnOfDetail } = changingDefaults();
      const detail = defineEntity({
        type: 'Detail',
        properties: employee.properties,
        partitionKey: (p) => key`${p.region}`,
        rowKey: (p) => key`DETAIL_${p.id.padded(6)}`,
      });
      const keyOf = ({ region, id }: { readonly region: string; readonly id: number }) => ({
        region,
        id,
      });
      const options = { main, mainTable, detail, detailTable, detailOf: keyOf, mainOf: keyOf };
      const id = detailTable === mainTable ? 1 : 2;
      await oneToOneOf(options).insert({ region: 'East', id }, { region: 'East', id });
      assert.deepEqual([drawn(), drawnOfDetail()], [1, 1]);
    }
  });
});

describe('moving a child to another parent', () => {
  it('is one transaction within a partition', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await filled(gateway);
    const child = await employee(gateway, 'East', 1);
    takeKinds();
    await relationOf(gateway).move(child, { ...child, department: 'Labs' });
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'transaction']);
    assert.deepEqual(await counts(gateway), { 'East Labs': 1, 'East Sales': 1, 'West Sales': 0 });
    const moved = await employee(gateway, 'East', 1);
    takeKinds();
    await relationOf(gateway).move(moved, { ...moved, department: 'Sales', id: 9 });
    assert.equal((await employee(gateway, 'East', 9)).department, 'Sales');
    assert.equal((await counts(gateway))['East Sales'], 2);
  });

  it('goes to another partition with all that the child has', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await filled(gateway);
    const before = await employee(gateway, 'East', 1);
    await gateway.write({
      kind: 'merge',
      row: {
        partitionKey: 'East',
        rowKey: 'EMPLOYEE_000001',
        properties: { Unknown: { type: 'Int64', value: 5n } },
      },
      etag: '*',
    });
    await assert.rejects(relationOf(gateway).move(before, { ...before, region: 'West' }), {
      name: 'ConditionFailedError',
    });
    const child = await employee(gateway, 'East', 1);
    takeKinds();
    await relationOf(gateway).move(child, { ...child, region: 'West' });
    assert.deepEqual(takeKinds(), [
      'point-read',
      'point-read',
      'point-read',
      'transaction',
      'point-read',
      'transaction',
      'delete',
    ]);
    assert.deepEqual(await counts(gateway), { 'East Labs': 0, 'East Sales': 1, 'West Sales': 1 });
    const row = await gateway.get({ partitionKey: 'West', rowKey: 'EMPLOYEE_000001' });
    assert.deepEqual(row?.properties['Unknown'], { type: 'Int64', value: 5n });
    assert.deepEqual(row?.properties['EntityType'], { type: 'String', value: 'Employee' });
  });

  it('is refused while nothing has changed when it cannot end', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const relation = relationOf(gateway);
    const child = await employee(gateway, 'East', 1);
    const nowhere = relation.move(child, { ...child, region: 'North' });
    await assert.rejects(nowhere, { name: 'EntityNotFoundError' });
    await relation.add({ region: 'West', department: 'Sales', id: 1 });
    const taken = relation.move(child, { ...child, region: 'West' });
    await assert.rejects(taken, { name: 'EntityExistsError' });
    assert.deepEqual(await counts(gateway), { 'East Labs': 0, 'East Sales': 2, 'West Sales': 1 });
    await noLeftovers(gateway);
  });

  it(
    'ends after a crash at any request, with the child in one place and counted once',
    costly(),
    async () => {
      const move = async (table: TableGateway, doomed: Doomed) => {
        const child = await employee(table, 'East', 1);
        await relationOf(doomed.wrap(table)).move(child, { ...child, region: 'West' });
      };
      const finish = async (table: TableGateway, doomed: Doomed) => {
        const relation = relationOf(doomed.wrap(table));
        for (const region of ['East', 'West']) await relation.finishMoves({ region });
      };
      const requests = await crashEverywhere<TableGateway>({
        prepare: async () => filled((await started.newTable()).gateway),
        run: move,
        recover: finish,
        crashRecovery: true,
        check: async (table) => {
          const { 'East Sales': left = 0, 'West Sales': joined = 0 } = await counts(table);
          assert.equal(left + joined, 2);
          await noLeftovers(table);
        },
      });
      assert.equal(requests.length, 7);
    },
  );

  it('is finished once by 8 who find it interrupted', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const stopping: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      page: (query) => gateway.page(query),
      write: (write) => gateway.write(write),
      transact: (writes) => {
        const isArrival = writes.some(
          (write) => write.kind === 'insert' && write.row.partitionKey === 'West',
        );
        return isArrival ? Promise.reject(new Error('crash')) : gateway.transact(writes);
      },
    };
    const child = await employee(gateway, 'East', 1);
    await assert.rejects(relationOf(stopping).move(child, { ...child, region: 'West' }), /crash/);
    assert.equal(
      await entitiesOf(RegionalEmployee, gateway).get({ region: 'East', id: 1 }),
      undefined,
    );
    await Promise.all(
      Array.from({ length: 8 }, () => relationOf(gateway).finishMoves({ region: 'East' })),
    );
    assert.deepEqual(await counts(gateway), { 'East Labs': 0, 'East Sales': 1, 'West Sales': 1 });
  });

  it('is told as stuck when its end is taken meanwhile, and goes on when it is free', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    let isLate = true;
    const late: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      page: (query) => gateway.page(query),
      write: (write) => gateway.write(write),
      transact: async (writes) => {
        const result = await gateway.transact(writes);
        if (isLate) {
          isLate = false;
          await relationOf(gateway).add({ region: 'West', department: 'Sales', id: 1 });
        }
        return result;
      },
    };
    const child = await employee(gateway, 'East', 1);
    await assert.rejects(relationOf(late).move(child, { ...child, region: 'West' }), {
      name: 'EntityExistsError',
    });
    const relation = relationOf(gateway);
    const { finished, stuck } = await relation.finishMoves({ region: 'East' });
    assert.equal(finished, 0);
    assert.deepEqual(
      stuck.map(({ child: { partitionKey, rowKey } }) => [partitionKey, rowKey]),
      [['West', 'EMPLOYEE_000001']],
    );
    await relation.remove(await employee(gateway, 'West', 1));
    assert.equal((await relation.finishMoves({ region: 'East' })).finished, 1);
    assert.equal((await relation.finishMoves({ region: 'West' })).marksRemoved, 1);
    assert.equal((await counts(gateway))['West Sales'], 1);
    await noLeftovers(gateway);
  });

  it('keeps the mark of a move while somebody may still finish it', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const child = await employee(gateway, 'East', 1);
    const relation = oneToManyOf({
      ...relationOf(gateway).options,
      clock: manualClock(Date.now() * 1000),
    });
    await relation.move(child, { ...child, region: 'West' });
    assert.equal((await relation.finishMoves({ region: 'West' })).marksRemoved, 0);
    assert.equal((await relationOf(gateway).finishMoves({ region: 'West' })).marksRemoved, 1);
  });
});

describe('one to one', () => {
  const Photo = defineEntity({
    type: 'Photo',
    properties: { region: string(), id: int32(), address: string() },
    partitionKey: (p) => key`photos_${p.region}`,
    rowKey: (p) => key`${p.id.padded(6)}`,
  });
  const Badge = defineEntity({
    type: 'Badge',
    properties: { region: string(), id: int32(), color: string() },
    partitionKey: (p) => key`${p.region}`,
    rowKey: (p) => key`BADGE_${p.id.padded(6)}`,
  });
  const main = { ...sales, id: 1 };
  const mainOf = ({ region, id }: { readonly region: string; readonly id: number }) => ({
    region,
    id,
  });
  const badgesOf = (table: TableGateway) =>
    oneToOneOf({
      main: RegionalEmployee,
      mainTable: table,
      detail: Badge,
      detailTable: table,
      detailOf: mainOf,
      mainOf,
    });
  // Everything was written before.
  const later = manualClock((Date.now() + 86_400_000) * 1000);
  const photosOf = (table: TableGateway, photos: TableGateway, clock: Clock = systemClock) =>
    oneToOneOf({
      main: RegionalEmployee,
      mainTable: table,
      detail: Photo,
      detailTable: photos,
      detailOf: mainOf,
      mainOf,
      clock,
    });

  it('comes and goes in one transaction within a partition', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const badges = badgesOf(gateway);
    await badges.insert(main, { region: 'East', id: 1, color: 'red' });
    assert.deepEqual(takeKinds(), ['transaction']);
    const pair = await badges.get(main);
    assert.deepEqual(takeKinds(), ['point-read', 'point-read']);
    assert.equal(pair?.detail?.color, 'red');
    const again = badges.insert(main, { region: 'East', id: 1, color: 'blue' });
    await assert.rejects(again, { name: 'EntityExistsError' });
    takeKinds();
    await badges.delete(pair.main);
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    assert.deepEqual((await gateway.page({})).rows, []);
    assert.equal(await badges.get(main), undefined);
  });

  it('goes though the row of its entity has no room for the properties that it lacks', async () => {
    const table = new MemoryTable(new MemoryRows());
    const badges = badgesOf(table);
    await badges.insert(main, { region: 'East', id: 1, color: 'red' });
    await fillRow(table, codecOf(RegionalEmployee).key(mainOf(main)), 'department');
    const pair = await badges.get(main);
    assert.ok(pair);
    await badges.delete(pair.main);
    assert.deepEqual(table.rows.all, []);
  });

  /** A pair, and the row of its detail after it was written over. */
  async function writtenOver(type: string) {
    const table = new MemoryTable(new MemoryRows());
    const badges = badgesOf(table);
    await badges.insert(main, { region: 'East', id: 1, color: 'red' });
    const pair = await badges.get(main);
    assert.ok(pair);
    const properties = { EntityType: { type: 'String', value: type } } as const;
    const row = { ...codecOf(Badge).key(mainOf(main)), properties };
    await table.write({ kind: 'upsert-replace', row });
    return { table, badges, main: pair.main };
  }

  it('goes though its detail cannot be read', async () => {
    const { table, badges, main: read } = await writtenOver('Badge');
    await assert.rejects(badges.get(main), DecodeError);
    await badges.delete(read);
    assert.deepEqual(table.rows.all, []);
  });

  it('stays while a retired client library has encrypted its detail, which is deleted by its keys', async () => {
    const inner = new MemoryTable(new MemoryRows());
    const table = withEncryption(inner, { keys: keyRing(new CountingKey('master').kek) });
    const badges = badgesOf(table);
    await badges.insert(main, { region: 'East', id: 1, color: 'red' });
    const pair = await badges.get(main);
    assert.ok(pair);
    const properties = { _ClientEncryptionMetadata1: { type: 'String', value: '{}' } } as const;
    const row = { ...codecOf(Badge).key(mainOf(main)), properties };
    await inner.write({ kind: 'merge', row, etag: '*' });
    await assert.rejects(badges.delete(pair.main), /EncryptionError: .*pass legacy: 'accept'/);
    assert.equal(inner.rows.all.length, 2);
    await badges.details.deleteIfExists(mainOf(main));
    await badges.delete(pair.main);
    assert.deepEqual(inner.rows.all, []);
  });

  it('stays while a row of another type has the key of its detail', async () => {
    const { table, badges, main: read } = await writtenOver('Locker');
    const before = table.rows.all;
    await assert.rejects(badges.delete(read), /'BADGE_000001'.* has a row of another type/);
    assert.deepEqual(table.rows.all, before);
  });

  it('stays while a row of another type has the key of its detail in another partition', async () => {
    const table = new MemoryTable(new MemoryRows());
    const photos = photosOf(table, table);
    await photos.insert(main, { region: 'East', id: 1, address: 'x' });
    const pair = await photos.get(main);
    assert.ok(pair);
    const properties = { EntityType: { type: 'String', value: 'Locker' } } as const;
    const row = { ...codecOf(Photo).key(mainOf(main)), properties };
    await table.write({ kind: 'upsert-replace', row });
    const before = table.rows.all;
    await assert.rejects(photos.delete(pair.main), /'000001'.* has a row of another type/);
    assert.deepEqual(table.rows.all, before);
  });

  it('is in the table of its gateway when another account has a table of that name', async () => {
    const { gateway: table } = await started.newTable();
    const { gateway: there } = await started.newTable();
    const details: TableGateway = {
      table: table.table,
      get: (rowKey, select) => there.get(rowKey, select),
      page: (query) => there.page(query),
      write: (write) => there.write(write),
      transact: (writes) => there.transact(writes),
    };
    const badges = oneToOneOf({
      main: RegionalEmployee,
      mainTable: table,
      detail: Badge,
      detailTable: details,
      detailOf: mainOf,
      mainOf,
    });
    await badges.insert(main, { region: 'East', id: 1, color: 'red' });
    const pair = await badges.get(main);
    assert.equal(pair?.detail?.color, 'red');
    await badges.delete(pair.main);
    assert.deepEqual((await there.page({})).rows, []);
  });

  it('refuses a detail that belongs to another entity', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const other = badgesOf(gateway).insert(main, { region: 'East', id: 2, color: 'red' });
    await assert.rejects(other, /other keys than its entity says/);
    assert.deepEqual(takeKinds(), []);
  });

  it('never lacks its detail apart, wherever a crash hits, and orphans are found', async () => {
    interface World {
      readonly table: TableGateway;
      readonly photos: TableGateway;
    }
    const pairsOf = ({ table, photos }: World, doomed: Doomed) =>
      photosOf(doomed.wrap(table), doomed.wrap(photos), later);
    const requests = await crashEverywhere<World>({
      prepare: async () => ({
        table: (await started.newTable()).gateway,
        photos: (await started.newTable()).gateway,
      }),
      run: async (world, doomed) => {
        const pairs = pairsOf(world, doomed);
        const photo = (id: number) => ({ region: 'East', id, address: 'x' });
        await pairs.insert(main, photo(1));
        await pairs.insert({ ...main, id: 2 }, photo(2));
        const { main: read } = (await pairs.get(main)) ?? {};
        if (read !== undefined) await pairs.delete(read);
      },
      recover: (world, doomed) => pairsOf(world, doomed).removeOrphans({ region: 'East' }),
      crashRecovery: true,
      check: async (world) => {
        const mains = await entitiesOf(RegionalEmployee, world.table)
          .scanTable()
          .toArray({ max: 9 });
        const details = await entitiesOf(Photo, world.photos).scanTable().toArray({ max: 9 });
        assert.deepEqual(
          details.map(({ id }) => id),
          mains.map(({ id }) => id),
        );
      },
    });
    assert.equal(requests.length, 9);
  });

  it('deletes details whose rows have no room for the properties that they lack', async () => {
    const table = new MemoryTable(new MemoryRows());
    const photos = new MemoryTable(new MemoryRows());
    const east = { region: 'East' };
    const pairs = photosOf(table, photos, later);
    await pairs.insert(main, { ...east, id: 1, address: 'x' });
    const [photo] = photos.rows.all;
    assert.ok(photo);
    await fillRow(photos, photo, 'address');
    await entitiesOf(RegionalEmployee, table).delete(mainOf(main), { ifMatch: 'any' });
    const removed = [{ ...east, id: 1 }];
    assert.deepEqual(await pairs.removeOrphans(east), { removed, unreadable: [] });
    assert.deepEqual(photos.rows.all, []);
  });

  it('goes on after a detail or an entity that cannot be read, keeps it and reports it', async () => {
    const table = new MemoryTable(new MemoryRows());
    const photos = new MemoryTable(new MemoryRows());
    const east = { region: 'East' };
    const pairs = photosOf(table, photos, later);
    for (const id of [1, 2, 3]) await pairs.details.insert({ ...east, id, address: 'x' });
    await pairs.mains.insert({ ...main, id: 2 });
    const [detail] = photos.rows.all;
    const [entity] = table.rows.all;
    assert.ok(detail && entity);
    const version = { EntityVersion: { type: 'Int32', value: 99 } } as const;
    for (const [rows, row] of [[photos, detail] as const, [table, entity] as const]) {
      const { partitionKey, rowKey } = row;
      const merged = { partitionKey, rowKey, properties: version };
      await rows.write({ kind: 'merge', row: merged, etag: '*' });
    }
    const { removed, unreadable } = await pairs.removeOrphans(east);
    assert.deepEqual(removed, [{ ...east, id: 3 }]);
    assert.deepEqual(
      unreadable.map(({ partitionKey, rowKey, error }) => [partitionKey, rowKey, error.name]),
      [detail, entity].map(({ partitionKey, rowKey }) => [partitionKey, rowKey, 'DecodeError']),
    );
    assert.equal(photos.rows.all.length, 2);
  });

  it('leaves details that may belong to an insert under way', async () => {
    const { gateway: table } = await started.newTable();
    const { gateway: photos } = await started.newTable();
    await entitiesOf(Photo, photos).insert({ region: 'East', id: 1, address: 'x' });
    const east = { region: 'East' };
    const nothing = { removed: [], unreadable: [] };
    assert.deepEqual(await photosOf(table, photos).removeOrphans(east), nothing);
    const pairs = photosOf(table, photos, later);
    await assert.rejects(pairs.removeOrphans(east, { graceMs: -1 }), ValueError);
    assert.deepEqual(await pairs.removeOrphans(east, { graceMs: 2 * 86_400_000 }), nothing);
    assert.deepEqual((await pairs.removeOrphans(east)).removed, [{ ...east, id: 1 }]);
  });
});
