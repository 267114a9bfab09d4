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
import { denormalisationOf } from '../../src/modeling/patterns/denormalisation.js';
import { crashEverywhere } from './support/crash-points.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

// The layout of the guide: a department has the details of its manager.
const Department = defineEntity({
  type: 'Department',
  properties: {
    company: string(),
    name: string(),
    budget: int32().default(0),
    managerName: string().optional(),
    managerEmail: string().optional(),
  },
  partitionKey: (p) => key`${p.company}`,
  rowKey: (p) => key`DEPARTMENT_${p.name}`,
});
const Employee = defineEntity({
  type: 'Employee',
  properties: {
    company: string(),
    id: int32(),
    manages: string(),
    name: string(),
    email: string(),
  },
  partitionKey: (p) => key`${p.company}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
});

function copiesOf(employees: TableGateway, departments: TableGateway = employees) {
  return denormalisationOf({
    source: Employee,
    sourceTable: employees,
    target: Department,
    targetTable: departments,
    targetsOf: ({ company, manages }) =>
      manages === '' ? [] : manages.split(' ').map((name) => ({ company, name })),
    copy: ({ name, email }) => ({ managerName: name, managerEmail: email }),
    attemptsMax: 200,
  });
}

const company = 'contoso';
const manager = { company, id: 1, manages: 'Sales Labs', name: 'Jo', email: 'jo@contoso.com' };

async function filled(employees: TableGateway, departments = employees): Promise<void> {
  await entitiesOf(Employee, employees).insert(manager);
  for (const name of ['Sales', 'Labs']) {
    await entitiesOf(Department, departments).insert({ company, name, budget: 5 });
  }
}

async function managers(departments: TableGateway): Promise<(string | undefined)[]> {
  const found = await entitiesOf(Department, departments)
    .query({ partition: { company } })
    .toArray({ max: 10 });
  return found.map(({ managerName }) => managerName);
}

async function jo(employees: TableGateway) {
  const found = await entitiesOf(Employee, employees).get({ company, id: 1 });
  assert.ok(found);
  return found;
}

describe('copies in the same partition', () => {
  it('change with their source in one transaction, without a read', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await filled(gateway);
    const source = await jo(gateway);
    takeKinds();
    await copiesOf(gateway).replace({ ...source, name: 'Joanna' });
    assert.deepEqual(takeKinds(), ['transaction']);
    assert.deepEqual(await managers(gateway), ['Joanna', 'Joanna']);
    const sales = await entitiesOf(Department, gateway).get({ company, name: 'Sales' });
    assert.deepEqual([sales?.budget, sales?.managerEmail], [5, 'jo@contoso.com']);
  });

  it('stay with their source when somebody else was faster, or one has nowhere to be', async () => {
    const { gateway } = await started.newTable();
    await filled(gateway);
    const copies = copiesOf(gateway);
    const old = await jo(gateway);
    await copies.replace({ ...old, name: 'Joanna' });
    await assert.rejects(copies.replace({ ...old, name: 'Late' }), {
      name: 'ConditionFailedError',
    });
    const homeless = { ...(await jo(gateway)), name: 'Lost', manages: 'Sales Nowhere' };
    await assert.rejects(copies.replace(homeless), { name: 'EntityNotFoundError' });
    assert.deepEqual(await managers(gateway), ['Joanna', 'Joanna']);
    assert.equal((await jo(gateway)).name, 'Joanna');
  });
});

describe('copies elsewhere', () => {
  it('are not replaced with their source, nor are rows of its table with the same keys', async () => {
    const { gateway: employees, takeKinds } = await started.newTable();
    const departments = (await started.newTable()).gateway;
    await filled(employees, departments);
    for (const name of ['Sales', 'Labs']) {
      await entitiesOf(Department, employees).insert({ company, name, managerName: 'other' });
    }
    const source = await jo(employees);
    takeKinds();
    await assert.rejects(copiesOf(employees, departments).replace({ ...source, name: 'Joanna' }), {
      name: 'ValueError',
      message: /cannot change in one transaction.*refresh\(\)/,
    });
    assert.deepEqual(takeKinds(), []);
    const changed = await entitiesOf(Department, employees).get({ company, name: 'Sales' });
    assert.deepEqual([changed?.managerName, (await jo(employees)).name], ['other', 'Jo']);
  });

  interface World {
    readonly employees: TableGateway;
    readonly departments: TableGateway;
  }
  const prepare = async (): Promise<World> => {
    const employees = (await started.newTable()).gateway;
    const departments = (await started.newTable()).gateway;
    await filled(employees, departments);
    return { employees, departments };
  };
  const key = { company, id: 1 };

  it('are refreshed by the key of their source, and again without harm', async () => {
    const { gateway: employees, takeKinds } = await started.newTable();
    const departments = (await started.newTable()).gateway;
    await filled(employees, departments);
    const copies = copiesOf(employees, departments);
    takeKinds();
    assert.equal(await copies.refresh(key), 'refreshed');
    assert.deepEqual(takeKinds(), ['point-read', 'point-read']);
    assert.deepEqual(await managers(departments), ['Jo', 'Jo']);
    assert.equal(await copies.refresh(key), 'refreshed');
    assert.equal(await copies.refresh({ company, id: 99 }), 'gone');
  });

  it('pass over departments that are not there', async () => {
    const { employees, departments } = await prepare();
    await entitiesOf(Department, departments).deleteIfExists({ company, name: 'Labs' });
    await copiesOf(employees, departments).refresh(key);
    assert.deepEqual(await managers(departments), ['Jo']);
  });

  it('are shown as drift until they are refreshed', async () => {
    const { employees, departments } = await prepare();
    const copies = copiesOf(employees, departments);
    const drift = await copies.verify(key);
    assert.deepEqual(
      drift.map(({ target }) => target.name),
      ['Sales', 'Labs'],
    );
    await copies.refresh(key);
    assert.deepEqual(await copies.verify(key), []);
    await entitiesOf(Department, departments).merge(
      { company, name: 'Labs' },
      { managerEmail: 'old' },
      { ifMatch: 'any' },
    );
    assert.equal((await copies.verify(key)).length, 1);
  });

  it('end as their source does, however many refresh them while it changes', async () => {
    const { employees, departments } = await prepare();
    await Promise.all(
      Array.from({ length: 16 }, async (_, writer) => {
        await entitiesOf(Employee, employees).update(
          key,
          (current) => ({ ...current, name: `name ${writer}` }),
          { attemptsMax: 500 },
        );
        await copiesOf(employees, departments).refresh(key);
      }),
    );
    const { name } = await jo(employees);
    assert.deepEqual(await managers(departments), [name, name]);
  });

  it('are right though a refresh writes what it read before somebody else changed the source', async () => {
    const { employees, departments } = await prepare();
    let isFirst = true;
    const slow: TableGateway = {
      table: departments.table,
      get: (key, select) => departments.get(key, select),
      page: (query) => departments.page(query),
      transact: (writes) => departments.transact(writes),
      write: async (write) => {
        if (isFirst) {
          isFirst = false;
          await entitiesOf(Employee, employees).merge(key, { name: 'new' }, { ifMatch: 'any' });
          await copiesOf(employees, departments).refresh(key);
        }
        return departments.write(write);
      },
    };
    await copiesOf(employees, slow).refresh(key);
    assert.deepEqual(await managers(departments), ['new', 'new']);
  });

  it('are right after a crash at any request, once the message is delivered again', async () => {
    const requests = await crashEverywhere<World>({
      prepare,
      run: async ({ employees, departments }, doomed) => {
        await entitiesOf(Employee, employees).merge(key, { name: 'new' }, { ifMatch: 'any' });
        await copiesOf(doomed.wrap(employees), doomed.wrap(departments)).refresh(key);
      },
      recover: ({ employees, departments }, doomed) =>
        copiesOf(doomed.wrap(employees), doomed.wrap(departments)).refresh(key),
      crashRecovery: true,
      check: async ({ employees, departments }) => {
        assert.deepEqual(await managers(departments), ['new', 'new']);
        assert.deepEqual(await copiesOf(employees, departments).verify(key), []);
      },
    });
    assert.deepEqual(requests, ['get', 'write', 'write', 'get']);
  });
});

describe('copies in entities of which older programs have stored some', () => {
  it('are refreshed and replaced, which stores them in the form of today', async () => {
    const keys = { company: string(), name: string() };
    const Old = defineEntity({
      type: 'Department',
      properties: { ...keys, money: int32() },
      partitionKey: (p) => key`${p.company}`,
      rowKey: (p) => key`DEPARTMENT_${p.name}`,
    });
    const New = defineEntity({
      type: 'Department',
      version: 2,
      properties: { ...keys, budget: int32(), managerName: string().optional() },
      partitionKey: (p) => key`${p.company}`,
      rowKey: (p) => key`DEPARTMENT_${p.name}`,
    }).upgrading(Old, ({ money, ...department }) => ({ ...department, budget: money }));
    const table = new MemoryTable(new MemoryRows());
    await entitiesOf(Employee, table).insert({ ...manager, manages: 'Sales Labs' });
    await entitiesOf(Old, table).insert({ company, name: 'Sales', money: 5 });
    const copies = denormalisationOf({
      source: Employee,
      sourceTable: table,
      target: New,
      targetTable: table,
      targetsOf: () => [{ company, name: 'Sales' }],
      copy: ({ name }) => ({ managerName: name }),
    });
    await copies.refresh(manager);
    const sales = () => entitiesOf(New, table).get({ company, name: 'Sales' });
    assert.deepEqual([(await sales())?.managerName, (await sales())?.budget], ['Jo', 5]);
    const read = await entitiesOf(Employee, table).get(manager);
    assert.ok(read !== undefined);
    await copies.replace({ ...read, name: 'Ann' });
    assert.deepEqual([(await sales())?.managerName, (await sales())?.budget], ['Ann', 5]);
  });
});
