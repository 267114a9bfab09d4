import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  copiesOf,
  defineEntity,
  entitiesOf,
  int32,
  key,
  RequestError,
  rowKeyOf,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { crashEverywhere } from './support/crash-points.js';
import { fillRow } from './support/full-rows.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';
import { wrappedMethods } from './support/wrapped-methods.js';
import { costly } from '../support/run-length.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const ManagedDepartment = defineEntity({
  type: 'Department',
  properties: {
    name: string(),
    managerId: int32().optional(),
    managerName: string().optional(),
    budget: int32().default(0),
  },
  partitionKey: () => key`departments`,
  rowKey: (p) => key`${p.name}`,
});
const Manager = defineEntity({
  type: 'Employee',
  properties: { id: int32(), name: string() },
  partitionKey: (p) => key`${p.id.padded(6)}`,
  rowKey: () => key`employee`,
});

function worldOf(employees: TableGateway, departments: TableGateway) {
  const all = entitiesOf(ManagedDepartment, departments);
  const managers = copiesOf({
    source: Manager,
    sourceTable: employees,
    target: ManagedDepartment,
    targetTable: departments,
    sourceOf: ({ managerId }) => (managerId === undefined ? undefined : { id: managerId }),
    copy: (manager) => ({ managerName: manager?.name }),
    targetsOf: ({ id }) => all.query({ partition: {}, where: (p) => p.managerId.eq(id) }),
    attemptsMax: 200,
  });
  return { managers, departments: all, employees: entitiesOf(Manager, employees) };
}

async function newWorld() {
  const [employees, departments] = [await started.newTable(), await started.newTable()];
  const world = worldOf(employees.gateway, departments.gateway);
  await world.employees.insert({ id: 1, name: 'Jo' });
  await world.employees.insert({ id: 2, name: 'Al' });
  await world.managers.insert({ name: 'Sales', managerId: 1 });
  await world.managers.insert({ name: 'Labs' });
  const take = () => [employees.takeKinds(), departments.takeKinds()];
  const drift = async (name: string) => {
    const stored = await world.departments.get({ name });
    return stored && (await world.managers.drift(stored));
  };
  take();
  return { ...world, take, drift, gateways: [employees.gateway, departments.gateway] as const };
}

const sales = { name: 'Sales' };

describe('copies that are called for', () => {
  it('change with the reference in one update, and go with it', async () => {
    const { managers, departments, take } = await newWorld();
    assert.equal((await departments.get(sales))?.managerName, 'Jo');
    take();
    await managers.update(sales, (sale) => ({ ...sale, managerId: 2, budget: 7 }));
    assert.deepEqual(take(), [
      ['point-read', 'point-read'],
      ['point-read', 'update'],
    ]);
    const changed = await departments.get(sales);
    assert.deepEqual([changed?.managerName, changed?.budget], ['Al', 7]);
    await managers.update(sales, (sale) => ({ ...sale, managerId: undefined }));
    const without = await departments.get(sales);
    assert.deepEqual([without?.managerId, without?.managerName], [undefined, undefined]);
    const nobody = managers.update({ name: 'none' }, (sale) => sale);
    await assert.rejects(nobody, { name: 'EntityNotFoundError' });
    assert.equal(await managers.refreshTarget({ name: 'none' }), 'gone');
  });

  it('follow a change and a deletion of the source, by its key alone', async () => {
    const { managers, departments, employees, take, drift } = await newWorld();
    await managers.update({ name: 'Labs' }, (labs) => ({ ...labs, managerId: 1 }));
    await employees.update({ id: 1 }, (jo) => ({ ...jo, name: 'Jo Smith' }));
    assert.deepEqual(await drift('Sales'), { managerName: 'Jo Smith' });
    assert.equal(await managers.refresh({ id: 1 }), 2);
    assert.equal((await departments.get({ name: 'Labs' }))?.managerName, 'Jo Smith');
    take();
    assert.equal(await managers.refresh({ id: 1 }), 0);
    assert.ok(!take().flat().includes('update'), 'what is right is not written');
    await employees.delete({ id: 1 }, { ifMatch: 'any' });
    assert.deepEqual(await drift('Sales'), { managerName: undefined });
    assert.equal(await managers.refresh({ id: 1 }), 2);
    assert.equal((await departments.get(sales))?.managerName, undefined);
    assert.equal(await drift('Sales'), undefined);
  });

  it('leave those of another source, and pass over departments that are not there', async () => {
    const { gateways, departments } = await newWorld();
    const [people, units] = gateways;
    const all = copiesOf({
      source: Manager,
      sourceTable: people,
      target: ManagedDepartment,
      targetTable: units,
      sourceOf: ({ managerId: id }) => (id === undefined ? undefined : { id }),
      copy: (manager) => ({ managerName: manager?.name }),
      targetsOf: () => ['Sales', 'Labs', 'nowhere'].map((name) => ({ name })),
    });
    assert.equal(await all.refresh({ id: 2 }), 0);
    assert.equal((await departments.get(sales))?.managerName, 'Jo');
  });

  it('are those of a source that changes while they are stored', async () => {
    const { gateways, employees, departments } = await newWorld();
    let count = 0;
    const [people, units] = gateways;
    const racing: TableGateway = {
      table: units.table,
      get: (...args) => units.get(...args),
      page: (query) => units.page(query),
      transact: (writes) => units.transact(writes),
      write: async (write) => {
        if (count < 2) await employees.update({ id: 2 }, (al) => ({ ...al, name: `Al${++count}` }));
        return units.write(write);
      },
    };
    const { managers } = worldOf(people, racing);
    await managers.update(sales, (sale) => ({ ...sale, managerId: 2, budget: sale.budget + 1 }));
    const stored = await departments.get(sales);
    assert.deepEqual([stored?.managerName, stored?.budget], ['Al2', 1]);
    count = 0;
    await managers.insert({ name: 'New', managerId: 2 });
    assert.equal((await departments.get({ name: 'New' }))?.managerName, 'Al2');
  });

  it('end as their source does, however many refresh them while it changes', costly(), async () => {
    const { managers, employees, departments } = await newWorld();
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        await employees.update({ id: 1 }, (current) => ({ ...current, name: `name ${writer}` }), {
          attemptsMax: 500,
        });
        await managers.refresh({ id: 1 });
      }),
    );
    const jo = await employees.get({ id: 1 });
    assert.equal((await departments.get(sales))?.managerName, jo?.name);
  });

  it('are absent where a row of another type has the key of the source', async () => {
    const { managers, employees, departments, gateways } = await newWorld();
    await employees.delete({ id: 1 }, { ifMatch: 'any' });
    const row = { partitionKey: '000001', rowKey: 'employee' };
    const properties = { EntityType: { type: 'String', value: 'Marker' } } as const;
    await gateways[0].write({ kind: 'insert', row: { ...row, properties } });
    assert.equal(await managers.refresh({ id: 1 }), 1);
    assert.equal((await departments.get(sales))?.managerName, undefined);
  });

  it(
    'are right after the next refresh, wherever a change or a refresh dies',
    costly(),
    async () => {
      await crashEverywhere({
        prepare: newWorld,
        run: async ({ gateways: [people, units], employees }, doomed) => {
          const { managers } = worldOf(doomed.wrap(people), doomed.wrap(units));
          await managers.update(sales, (sale) => ({ ...sale, managerId: 2 }));
          await employees.update({ id: 2 }, (al) => ({ ...al, name: 'Al Smith' }));
          await managers.refresh({ id: 2 });
        },
        recover: async ({ managers }) => {
          for (const id of [1, 2]) await managers.refresh({ id });
        },
        check: async ({ drift, departments }) => {
          assert.equal(await drift('Sales'), undefined);
          assert.ok((await departments.get(sales))?.managerName !== undefined);
        },
      });
    },
  );

  it('are seen to be right in a row without room for the properties that it lacks', async () => {
    const { managers, departments, drift, gateways } = await newWorld();
    const stored = await departments.get(sales);
    assert.ok(stored);
    await fillRow(gateways[1], rowKeyOf(stored), 'managerId', 'managerName');
    assert.equal(await drift('Sales'), undefined);
    assert.equal(await managers.refreshTarget(sales), 'right');
    assert.equal(await managers.refresh({ id: 1 }), 0);
  });

  it('are refused in a row without room for what it lacks, which stays as it is', async () => {
    const { managers, employees, departments, gateways } = await newWorld();
    const stored = await departments.get(sales);
    assert.ok(stored);
    await fillRow(gateways[1], rowKeyOf(stored), 'managerId', 'managerName');
    const before = await gateways[1].get(rowKeyOf(stored));
    await employees.update({ id: 1 }, (jo) => ({ ...jo, name: 'Joanna' }));
    await assert.rejects(managers.refreshTarget(sales), { name: 'TooLargeError' });
    assert.deepEqual(await gateways[1].get(rowKeyOf(stored)), before);
  });

  it('are refreshed after one that is refused, whose error is thrown in the end', async () => {
    const [people, units] = [new MemoryTable(new MemoryRows()), new MemoryTable(new MemoryRows())];
    const { managers, employees, departments } = worldOf(people, units);
    await employees.insert({ id: 1, name: 'Jo' });
    const names = ['Ads', 'Labs', 'Sales'];
    for (const name of names) await managers.insert({ name, managerId: 1 });
    await fillRow(
      units,
      { partitionKey: 'departments', rowKey: 'Ads' },
      'managerId',
      'managerName',
    );
    await employees.update({ id: 1 }, (jo) => ({ ...jo, name: 'Joanna' }));
    await assert.rejects(managers.refresh({ id: 1 }), {
      name: 'TooLargeError',
      message: /\('departments', 'Ads'\)/,
    });
    const stored = await Promise.all(names.map((name) => departments.get({ name })));
    assert.deepEqual(
      stored.map((each) => each?.managerName),
      ['Jo', 'Joanna', 'Joanna'],
    );
  });

  it('are refreshed no further where the service does not answer', async () => {
    const [people, units] = [new MemoryTable(new MemoryRows()), new MemoryTable(new MemoryRows())];
    const { managers, employees } = worldOf(people, units);
    await employees.insert({ id: 1, name: 'Jo' });
    for (const name of ['Labs', 'Sales']) await managers.insert({ name, managerId: 1 });
    await employees.update({ id: 1 }, (jo) => ({ ...jo, name: 'Joanna' }));
    let reads = 0;
    const away = wrappedMethods<TableGateway>(units, (name, send) => {
      if (name !== 'get') return send();
      reads += 1;
      throw new RequestError('busy', { status: 503, code: 'ServerBusy' });
    });
    await assert.rejects(worldOf(people, away).managers.refresh({ id: 1 }), /busy/);
    assert.equal(reads, 1);
  });

  it('are refreshed in entities of older programs, which stores them in the form of today', async () => {
    const Old = defineEntity({
      type: 'Department',
      properties: { name: string(), managerId: int32(), money: int32() },
      partitionKey: () => key`departments`,
      rowKey: (p) => key`${p.name}`,
    });
    const New = defineEntity({
      type: 'Department',
      version: 2,
      properties: {
        name: string(),
        managerId: int32(),
        budget: int32(),
        managerName: string().optional(),
      },
      partitionKey: () => key`departments`,
      rowKey: (p) => key`${p.name}`,
    }).upgrading(Old, ({ money, ...department }) => ({ ...department, budget: money }));
    const table = new MemoryTable(new MemoryRows());
    await entitiesOf(Manager, table).insert({ id: 1, name: 'Jo' });
    await entitiesOf(Old, table).insert({ name: 'Sales', managerId: 1, money: 5 });
    const copies = copiesOf({
      source: Manager,
      sourceTable: table,
      target: New,
      targetTable: table,
      sourceOf: ({ managerId }) => ({ id: managerId }),
      targetsOf: () => [sales],
      copy: (manager) => ({ managerName: manager?.name }),
    });
    assert.equal(await copies.refresh({ id: 1 }), 1);
    const stored = await table.get({ partitionKey: 'departments', rowKey: 'Sales' });
    const { managerName, budget } = stored?.properties ?? {};
    assert.deepEqual([managerName?.value, budget?.value], ['Jo', 5]);
  });
});
