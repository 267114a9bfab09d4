import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import {
  defineEntity,
  DefinitionError,
  EntityNotFoundError,
  int32,
  key,
  string,
  transaction,
  type StoredRow,
} from '../../src/modeling/index.js';
import { counter, openModel } from '../../src/modeling/model/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { reasonOf } from '../../src/modeling/table/failure-of-one.js';
import { crashEverywhere } from './support/crash-points.js';
import { CountingKey } from './support/encryption-keys.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { regionalDepartmentOf, RegionalDepartment, RegionalEmployee } from './support/regions.js';

// One-to-many relations over a table that counts the children by itself.

const common = {
  parent: RegionalDepartment,
  child: RegionalEmployee,
  parentOf: regionalDepartmentOf,
};

function openCounted(
  rows: MemoryRows,
  ifAbsent: 'insert' | 'refuse',
  wrap = (t: MemoryTable) => t,
  measure: (employee: { readonly id: number }) => number = () => 1,
) {
  return openModel({
    table: wrap(new MemoryTable(rows)),
    entities: { departments: RegionalDepartment, employees: RegionalEmployee },
    keeps: [
      counter({
        source: RegionalEmployee,
        view: RegionalDepartment,
        keyOf: regionalDepartmentOf,
        measures: { employees: measure },
        ifAbsent,
      }),
    ],
  });
}

const relationOver = (rows: MemoryRows, wrap?: (t: MemoryTable) => MemoryTable) =>
  oneToManyOf({ ...common, table: openCounted(rows, 'refuse', wrap).table });

async function filled(): Promise<MemoryRows> {
  const rows = new MemoryRows();
  const { departments } = openCounted(rows, 'refuse').entities;
  await departments.insert({ region: 'East', name: 'Sales' });
  await departments.insert({ region: 'East', name: 'Labs' });
  await departments.insert({ region: 'West', name: 'Sales' });
  return rows;
}

const countsIn = ({ all }: MemoryRows): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    all
      .filter(({ properties }: StoredRow) => 'employees' in properties)
      .map(({ partitionKey, rowKey, properties }) => [
        `${partitionKey} ${rowKey}`,
        properties['employees']?.value,
      ]),
  );

describe('a one-to-many relation without count', () => {
  it('leaves counting to the counter of the table, which counts each child once', async () => {
    const rows = await filled();
    const relation = relationOver(rows);
    await relation.add({ region: 'East', department: 'Sales', id: 1 });
    await relation.add({ region: 'East', department: 'Sales', id: 2 });
    const counted = (count: number): void => {
      const [labs, sales, other] = Object.values(countsIn(rows));
      assert.deepEqual([labs, sales, other], [0, count, 0]);
    };
    counted(2);
    const one = await relation.children.get({ region: 'East', id: 1 });
    assert.ok(one !== undefined);
    await relation.remove(one);
    counted(1);
    const lost = relation.add({ region: 'East', department: 'Nowhere', id: 3 });
    await assert.rejects(lost, EntityNotFoundError);
    assert.equal(rows.all.length, 4);
    await assert.rejects(relation.recount({ region: 'East', name: 'Sales' }), /the table counts/);
  });

  it('refuses a child without a parent also where the counter does not count it', async () => {
    const rows = await filled();
    const { table } = openCounted(rows, 'refuse', undefined, ({ id }) => (id < 100 ? 1 : 0));
    const lost = { region: 'East', department: 'Nowhere', id: 100 };
    await assert.rejects(oneToManyOf({ ...common, table }).add(lost), EntityNotFoundError);
    assert.equal(rows.all.length, 3);
  });

  it('requires the parent in the transaction that a child joins, and while another deletes it', async () => {
    const rows = await filled();
    const uncounted = () => 0;
    const { table, entities } = openCounted(rows, 'refuse', undefined, uncounted);
    const relation = oneToManyOf({ ...common, table });
    const child = (department: string, id: number) => ({ region: 'East', department, id });
    const lost = transaction(table).join(relation.adding(child('Nowhere', 1)));
    await assert.rejects(lost.run(), (error) => reasonOf(error) instanceof EntityNotFoundError);
    assert.equal(rows.all.length, 3);

    await transaction(table)
      .join(relation.adding(child('New', 1)))
      .join(relation.adding(child('New', 2)))
      .insert(RegionalDepartment, { region: 'East', name: 'New' })
      .run();
    await transaction(table)
      .join(relation.adding(child('New', 3)))
      .join(relation.adding(child('New', 4)))
      .run();
    assert.equal(rows.all.length, 8);

    const key = { region: 'East', name: 'Sales' };
    let isDeleted = false;
    const late = openCounted(
      rows,
      'refuse',
      (memory) => {
        const transact = memory.transact.bind(memory);
        return Object.assign(memory, {
          transact: async (writes: Parameters<typeof transact>[0]) => {
            if (!isDeleted) await entities.departments.delete(key, { ifMatch: '*' });
            isDeleted = true;
            return transact(writes);
          },
        });
      },
      uncounted,
    ).table;
    const overtaken = oneToManyOf({ ...common, table: late }).add(child('Sales', 5));
    await assert.rejects(overtaken, EntityNotFoundError);
    assert.ok(isDeleted);
    assert.equal(await entities.employees.get({ region: 'East', id: 5 }), undefined);
  });

  it('refuses a child that the counter counts in another row than its parent', async () => {
    const rows = await filled();
    const { table } = openCounted(rows, 'refuse');
    const relation = oneToManyOf({
      ...common,
      table,
      parentOf: ({ region }) => ({ region, name: 'Labs' }),
    });
    const message = /counts a child in another Department than its parent, in .*DEPARTMENT_Sales/;
    const added = { region: 'East', department: 'Sales', id: 1 };
    await assert.rejects(relation.add(added), message);
    assert.throws(() => relation.adding(added), message);
    assert.equal(rows.all.length, 3);
    await relation.add({ ...added, department: 'Labs' });
    const child = await relation.children.get({ region: 'East', id: 1 });
    assert.ok(child !== undefined);
    await assert.rejects(relation.move(child, { ...child, department: 'Sales' }), message);
  });

  it('adds a child that the counter does not count, whatever row its keyOf names', async () => {
    const keyOf = ({ id }: { readonly id: number }) => {
      if (id === 1) throw new TypeError('keyOf is for children that are counted');
      return { region: 'East', name: 'Labs' };
    };
    const { table, entities } = openModel({
      table: new MemoryTable(new MemoryRows()),
      entities: { departments: RegionalDepartment, employees: RegionalEmployee },
      keeps: [
        counter({
          source: RegionalEmployee,
          view: RegionalDepartment,
          keyOf,
          where: ({ name }) => name.eq('Ada'),
          measures: { employees: () => 1 },
          ifAbsent: 'refuse',
        }),
      ],
    });
    await entities.departments.insert({ region: 'East', name: 'Sales' });
    const relation = oneToManyOf({ ...common, table });
    await relation.add({ region: 'East', department: 'Sales', id: 1 });
    await relation.add({ region: 'East', department: 'Sales', id: 2 });
    await assert.rejects(
      relation.add({ region: 'East', department: 'Sales', id: 3, name: 'Ada' }),
      DefinitionError,
    );
  });

  it('leaves an encrypted measure as it is when a child that is not counted is added', async () => {
    const rows = new MemoryRows();
    const Team = defineEntity({
      type: 'Team',
      properties: { region: string(), name: string(), weight: int32().default(0).encrypted() },
      partitionKey: (p) => key`${p.region}`,
      rowKey: (p) => key`T_${p.name}`,
    });
    const { table, entities } = openModel({
      table: withEncryption(new MemoryTable(rows), { keys: keyRing(new CountingKey('k').kek) }),
      entities: { teams: Team, employees: RegionalEmployee },
      keeps: [
        counter({
          source: RegionalEmployee,
          view: Team,
          keyOf: regionalDepartmentOf,
          measures: { weight: ({ id }) => id },
          ifAbsent: 'refuse',
        }),
      ],
    });
    const sales = { region: 'East', name: 'Sales' };
    await entities.teams.insert(sales);
    const relation = oneToManyOf({ ...common, parent: Team, table });
    await relation.add({ region: 'East', department: 'Sales', id: 3 });
    await relation.add({ region: 'East', department: 'Sales', id: 0 });
    assert.equal((await entities.teams.get(sales))?.weight, 3);
  });

  it('counts a child that moves where it is, wherever the move is killed', async () => {
    await crashEverywhere<MemoryRows>({
      prepare: async () => {
        const rows = await filled();
        await relationOver(rows).add({ region: 'East', department: 'Sales', id: 1 });
        return rows;
      },
      run: async (rows, doomed) => {
        const relation = relationOver(rows, (table) => doomed.wrap(table));
        const child = await relation.children.get({ region: 'East', id: 1 });
        if (child !== undefined) await relation.move(child, { ...child, region: 'West' });
      },
      recover: async (rows) => {
        await relationOver(rows).finishMoves({ region: 'East' });
      },
      check: async (rows) => {
        const { employees } = openCounted(rows, 'refuse').entities;
        const there = await Promise.all(
          ['East', 'West'].map((region) => employees.get({ region, id: 1 })),
        );
        const regions = there.flatMap((each) => (each === undefined ? [] : [each.region]));
        const counted = Object.entries(countsIn(rows)).flatMap(([name, count]) =>
          count === 0 ? [] : [[name.split(' ')[0], count]],
        );
        assert.deepEqual(counted, [[regions[0], 1]]);
        assert.equal(regions.length, 1);
      },
    });
  });

  it('is refused where nobody counts, or a counter would make a parent, or both count', () => {
    const rows = new MemoryRows();
    const plain = new MemoryTable(rows);
    assert.throws(() => oneToManyOf({ ...common, table: plain }), {
      name: 'DefinitionError',
      message:
        /no counter of the table counts .*: give the property that does \(count\), or declare/,
    });
    const making = openCounted(rows, 'insert').table;
    assert.throws(
      () => oneToManyOf({ ...common, table: making }),
      /declare it with ifAbsent: 'refuse'/,
    );
    const { table } = openCounted(rows, 'refuse');
    const twice = () => oneToManyOf({ ...common, table, count: 'employees' });
    assert.throws(twice, /counted by a counter of the table: leave count out/);
  });
});
