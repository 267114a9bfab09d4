import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import { referenceCopiesOf } from '../../src/modeling/patterns/reference-copies.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const Department = defineEntity({
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
const Employee = defineEntity({
  type: 'Employee',
  properties: { id: int32(), name: string() },
  partitionKey: (p) => key`${p.id.padded(6)}`,
  rowKey: () => key`employee`,
});

function worldOf(employees: TableGateway, departments: TableGateway) {
  const all = entitiesOf(Department, departments);
  const managers = referenceCopiesOf({
    source: Employee,
    sourceTable: employees,
    target: Department,
    targetTable: departments,
    sourceOf: ({ managerId }) => (managerId === undefined ? undefined : { id: managerId }),
    copy: (department, manager) => ({ ...department, managerName: manager?.name }),
    targetsOf: ({ id }) => all.query({ partition: {}, where: (p) => p.managerId.eq(id) }),
  });
  return { managers, departments: all, employees: entitiesOf(Employee, employees) };
}

async function newWorld() {
  const [employees, departments] = [await started.newTable(), await started.newTable()];
  const world = worldOf(employees.gateway, departments.gateway);
  await world.employees.insert({ id: 1, name: 'Jo' });
  await world.employees.insert({ id: 2, name: 'Al' });
  await world.managers.insert({ name: 'Sales', managerId: 1 });
  await world.managers.insert({ name: 'Labs' });
  const take = () => [employees.takeKinds(), departments.takeKinds()];
  take();
  return { ...world, take, gateways: [employees.gateway, departments.gateway] as const };
}

const sales = { name: 'Sales' };

describe('copies where the target refers to its source', () => {
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
    const { managers, departments, employees, take } = await newWorld();
    await managers.update({ name: 'Labs' }, (labs) => ({ ...labs, managerId: 1 }));
    await employees.update({ id: 1 }, (jo) => ({ ...jo, name: 'Jo Smith' }));
    assert.equal(await managers.isRight(sales), false);
    assert.equal(await managers.refresh({ id: 1 }), 2);
    assert.equal((await departments.get({ name: 'Labs' }))?.managerName, 'Jo Smith');
    take();
    assert.equal(await managers.refresh({ id: 1 }), 0);
    assert.ok(!take().flat().includes('update'), 'what is right is not written');
    await employees.delete({ id: 1 }, { ifMatch: 'any' });
    assert.equal(await managers.refresh({ id: 1 }), 2);
    assert.equal((await departments.get(sales))?.managerName, undefined);
    assert.equal(await managers.isRight(sales), true);
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

  it('are right after the next refresh, wherever a change or a refresh dies', async () => {
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
      check: async ({ managers, departments }) => {
        assert.equal(await managers.isRight(sales), true);
        assert.ok((await departments.get(sales))?.managerName !== undefined);
      },
    });
  });
});
