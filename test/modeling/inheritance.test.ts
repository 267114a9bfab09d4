import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  defineEntity,
  double,
  entitiesOf,
  int32,
  key,
  string,
  type KeyPart,
  type NumberKeyField,
  type RowProperties,
  type TableGateway,
} from '../../src/modeling/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import { samePartition, withIndexes } from '../../src/modeling/patterns/indexes/index.js';
import { mixedTableOf, updateProperties } from '../../src/modeling/patterns/inheritance.js';
import { crashEverywhere } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

const person = { department: string(), id: int32(), name: string() };
const Salaried = defineEntity({
  type: 'Employee',
  properties: { ...person, salary: double() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
});
const Contractor = defineEntity({
  type: 'Contractor',
  properties: { ...person, agency: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
});
/** Recognised by its RowKey alone. */
const Headcount = defineEntity({
  type: 'Department',
  properties: { department: string(), count: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`DEPARTMENT_${p.department}`,
  system: { type: false },
});

const department = 'SALES';

async function filled() {
  const table = await started.newTable();
  const { gateway } = table;
  await entitiesOf(Salaried, gateway).insert({ department, id: 123, name: 'Jo', salary: 5 });
  await entitiesOf(Contractor, gateway).insert({ department, id: 124, name: 'Al', agency: 'X' });
  await entitiesOf(Headcount, gateway).insert({ department, count: 2 });
  await gateway.write({
    kind: 'insert',
    row: {
      partitionKey: department,
      rowKey: 'EMPLOYEE_x',
      properties: { EntityType: { type: 'String', value: 'Ghost' } },
    },
  });
  table.takeKinds();
  return { ...table, mixed: mixedTableOf(gateway, Salaried, Contractor, Headcount) };
}

describe('a table of several types', () => {
  it('resolves each row to its type by EntityType or by its RowKey, in one read', async () => {
    const { mixed, takeKinds } = await filled();
    const query = mixed.query({ partition: { department } });
    assert.equal(query.plan.class, 'partition-scan');
    const found = await query.toArray({ max: 10 });
    assert.deepEqual(takeKinds(), ['query']);
    const told = found.map((each) => {
      switch (each.type) {
        case 'Employee':
          return `employee with ${each.entity.salary}`;
        case 'Contractor':
          return `contractor of ${each.entity.agency}`;
        case 'Department':
          return `department of ${each.entity.count}`;
        default:
          return `unknown ${String(each.row.properties['EntityType']?.value)}`;
      }
    });
    assert.deepEqual(told, [
      'department of 2',
      'employee with 5',
      'contractor of X',
      'unknown Ghost',
    ]);
  });

  it('groups a type by the prefix of its RowKeys', async () => {
    const { mixed } = await filled();
    const query = mixed.query({ partition: { department }, startsWith: 'EMPLOYEE_' });
    assert.equal(query.plan.class, 'range');
    assert.equal((await query.toArray({ max: 10 })).length, 3);
    const some = mixed.query({
      partition: { department },
      rowKeys: { from: 'EMPLOYEE_000124', before: 'EMPLOYEE_000200' },
    });
    assert.deepEqual(
      (await some.toArray({ max: 10 })).map(({ type }) => type),
      ['Contractor'],
    );
  });

  it('reads some types, each by its own condition', async () => {
    const { gateway, mixed } = await filled();
    await entitiesOf(Salaried, gateway).insert({ department, id: 125, name: 'Di', salary: 9 });
    await entitiesOf(Salaried, gateway).insert({ department, id: 126, name: 'Bo', salary: 1 });
    const partition = { department };
    const query = mixed.query({
      partition,
      where: { Employee: (p) => p.salary.gt(4), Department: 'all' },
    });
    const found = await query.toArray({ max: 10 });
    const told = found.map((each) =>
      each.type === 'Employee' ? each.entity.name : each.entity.count,
    );
    assert.deepEqual(told, [2, 'Jo', 'Di']);
    const none = mixed.query({ partition, where: { Department: (p) => p.count.gt(2) } });
    assert.deepEqual(await none.toArray({ max: 10 }), []);
    assert.match(none.plan.filters[0] ?? '', /count gt 2/);
  });

  it('agrees with what reads give where a condition is on a default or an older version', async () => {
    const { gateway } = await started.newTable();
    const properties = { department: string(), id: int32(), level: int32() };
    const keys = {
      partitionKey: (p: { department: KeyPart<'department', string> }) => key`${p.department}`,
      rowKey: (p: { id: NumberKeyField<'id', number> }) => key`T_${p.id.padded(3)}`,
    };
    const Old = defineEntity({ type: 'T', properties, ...keys });
    const New = defineEntity({
      type: 'T',
      version: 2,
      properties: { ...properties, grade: string().default('none') },
      ...keys,
    }).upgrading(Old, ({ level, ...rest }) => ({ ...rest, level: level * 10 }));
    await entitiesOf(Old, gateway).insert({ department, id: 1, level: 3 });
    await entitiesOf(Old, gateway).insert({ department, id: 2, level: 1 });
    await entitiesOf(New, gateway).insert({ department, id: 3, level: 30, grade: 'x' });
    const mixed = mixedTableOf(gateway, New, Headcount);
    const where = { T: 'all' } as const;
    assert.equal((await mixed.query({ partition: { department }, where }).first(9)).length, 3);
    const high = mixed.query({
      partition: { department },
      where: { T: (p) => p.level.eq(30).and(p.grade.eq('none')) },
    });
    const ids = (await high.toArray({ max: 9 })).map(({ entity }) => entity.id);
    assert.deepEqual(ids, [1]);
  });

  it('gives one row by its keys, whatever it is', async () => {
    const { mixed, takeKinds } = await filled();
    const found = await mixed.get({ partitionKey: department, rowKey: 'EMPLOYEE_000124' });
    assert.equal(found?.type === 'Contractor' && found.entity.name, 'Al');
    assert.equal(await mixed.get({ partitionKey: department, rowKey: 'none' }), undefined);
    assert.deepEqual(takeKinds(), ['point-read', 'point-read']);
  });

  it('refuses types that could not be told apart, and queries that contradict themselves', async () => {
    const { gateway, mixed } = await filled();
    assert.throws(() => mixedTableOf(gateway, Salaried, Salaried), /two definitions/);
    const both = {
      partition: { department },
      startsWith: 'b',
      rowKeys: { from: 'a', before: 'b' },
    };
    assert.throws(() => mixed.query(both), /not both/);
    const Elsewhere = defineEntity({
      type: 'Elsewhere',
      properties: { department: string() },
      partitionKey: (p) => key`else_${p.department}`,
      rowKey: () => key`all`,
    });
    const apart = mixedTableOf(gateway, Headcount, Elsewhere);
    assert.throws(() => apart.query({ partition: { department } }), /'else_SALES'/);
    const where = { Emploee: 'all' } as object;
    assert.throws(() => mixed.query({ partition: { department }, where }), /mean 'Employee'/);
    assert.throws(() => mixed.query({ partition: { department }, where: {} }), /names none of/);
  });
});

describe('a bag of properties', () => {
  const ghost = { partitionKey: department, rowKey: 'EMPLOYEE_x' };
  const employee = { partitionKey: department, rowKey: 'EMPLOYEE_000123' };
  const addOne = (bag: RowProperties): RowProperties | undefined => {
    const count = bag['Count'];
    if (count !== undefined && count.type !== 'Int32') return undefined;
    return { Count: { type: 'Int32', value: (count?.value ?? 0) + 1 } };
  };

  it('is changed without a type, and keeps the types of values', async () => {
    const { gateway, takeKinds } = await filled();
    await updateProperties(gateway, ghost, addOne);
    assert.deepEqual(takeKinds(), ['point-read', 'update']);
    const properties = await updateProperties(gateway, ghost, addOne);
    const expected = {
      EntityType: { type: 'String', value: 'Ghost' },
      Count: { type: 'Int32', value: 2 },
    };
    assert.deepEqual(properties, expected);
    assert.deepEqual((await gateway.get(ghost))?.properties, expected);
  });

  it('is left alone when the property is not there or not as expected', async () => {
    const { gateway, takeKinds } = await filled();
    const before = await gateway.get(employee);
    takeKinds();
    const raise = (bag: RowProperties): RowProperties | undefined =>
      bag['Missing'] && { Missing: { type: 'Int32', value: 1 } };
    await updateProperties(gateway, employee, raise);
    assert.deepEqual(takeKinds(), ['point-read']);
    assert.equal((await gateway.get(employee))?.etag, before?.etag);
    const none = updateProperties(gateway, { ...ghost, rowKey: 'none' }, addOne);
    await assert.rejects(none, { name: 'EntityNotFoundError' });
  });

  it('has what is computed anew where an index is kept of it', async () => {
    const { gateway } = await started.newTable();
    const Named = defineEntity({
      type: 'Named',
      properties: {
        ...person,
        sortName: string().computed({ name: string() }, ({ name }) => name.toLowerCase()),
      },
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`NAMED_${p.id.padded(6)}`,
    });
    const bySortName = withIndexes(Named, {
      sortName: samePartition({ rowKey: (p) => key`sort_${p.sortName}_${p.id.padded(6)}` }),
    });
    const model = openModel({ table: gateway, entities: { people: bySortName } });
    const { people } = model.entities;
    await people.insert({ department, id: 1, name: 'Jones' });
    const row = { partitionKey: department, rowKey: 'NAMED_000001' };
    await updateProperties(model.table, row, () => ({ name: { type: 'String', value: 'Smith' } }));
    assert.equal((await people.get({ department, id: 1 }))?.sortName, 'smith');
    const found = await people.by.sortName.get({ department, sortName: 'smith', id: 1 });
    assert.equal(found?.name, 'Smith');
    const former = { department, sortName: 'jones', id: 1 };
    assert.equal(await people.by.sortName.get(former), undefined);
  });

  it('takes the changes of 16 writers, each once', async () => {
    const { gateway } = await filled();
    const changes = Array.from({ length: 16 }, () =>
      updateProperties(gateway, employee, addOne, { attemptsMax: 200 }),
    );
    await Promise.all(changes);
    assert.equal((await gateway.get(employee))?.properties['Count']?.value, 16);
    const typed = await entitiesOf(Salaried, gateway).get({ department, id: 123 });
    assert.equal(typed?.salary, 5);
  });

  it('is changed once at most whatever request a crash hits', async () => {
    await crashEverywhere<TableGateway>({
      prepare: async () => (await filled()).gateway,
      run: (table, doomed) => updateProperties(doomed.wrap(table), employee, addOne),
      recover: () => Promise.resolve(),
      check: async (table) => {
        const count = (await table.get(employee))?.properties['Count']?.value ?? 0;
        assert.ok(count === 0 || count === 1);
      },
    });
  });
});
