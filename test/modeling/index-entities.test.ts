import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { entitiesOf, key, plain, type TableGateway } from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  indexEntity,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import {
  isInRowList,
  planRowListChange,
  readRowList,
} from '../../src/modeling/patterns/index-entities/row-list.js';
import { changeList, type KeyList } from '../../src/modeling/patterns/index-entities/key-list.js';
import { costly } from '../support/run-length.js';
import { ListedEmployee } from './support/employees.js';
import { allRows, assertInStep, rowKeysOf } from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const byLastName = withIndexes(ListedEmployee, {
  lastName: indexEntity({
    place: 'same-partition',
    rowKey: (p) => key`${p.lastName}`,
    list: 'EmployeeIDs',
  }),
});

const jones = {
  department: 'Sales',
  id: 123,
  lastName: 'Jones',
  email: 'jones@contoso.com',
  raises: 0,
};
const keyOfJones = { department: 'Sales', id: 123 };
const named = { department: 'Sales', lastName: 'Jones' };

async function newEmployees() {
  const table = await tables.newTable();
  return { ...table, employees: indexedEntitiesOf(byLastName, { table: table.gateway }) };
}

async function applied(
  table: TableGateway,
  change: { readonly add: KeyList; readonly remove: KeyList },
): Promise<number> {
  const writes = await planRowListChange(table, head, layout, change);
  if (writes.length > 0) await table.transact(writes);
  return writes.length;
}

const head = { partitionKey: 'p', rowKey: 'Jones' };
const layout = { name: 'Keys', system: {}, unitsMax: 128 };

describe('index entities in the same partition', () => {
  it('list the RowKeys of all entities with a value, kept in one transaction', async () => {
    const { employees, gateway, takeKinds } = await newEmployees();
    await employees.insert(jones);
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    await employees.insert({ ...jones, id: 223 });
    const row = await gateway.get({ partitionKey: 'Sales', rowKey: 'Jones' });
    assert.deepEqual(row?.properties, {
      EntityType: { type: 'String', value: 'Employee.lastName' },
      EmployeeIDs: { type: 'String', value: '["empid_000123","empid_000223"]' },
    });
  });

  it('give the entities by a point read and one for each, in the order of their keys', async () => {
    const { employees, takeKinds } = await newEmployees();
    for (const id of [9, 3, 7]) await employees.insert({ ...jones, id });
    await employees.insert({ ...jones, id: 4, lastName: 'Smith' });
    takeKinds();
    assert.deepEqual(await employees.by.lastName.keys(named), [
      { department: 'Sales', id: 3 },
      { department: 'Sales', id: 7 },
      { department: 'Sales', id: 9 },
    ]);
    assert.deepEqual(takeKinds(), ['point-read']);
    const found = [];
    for await (const each of employees.by.lastName.entities(named)) found.push(plain(each));
    const threeOfThem = [
      { ...jones, id: 3 },
      { ...jones, id: 7 },
      { ...jones, id: 9 },
    ];
    assert.deepEqual(found, threeOfThem);
    assert.deepEqual(
      takeKinds(),
      Array.from({ length: 4 }, () => 'point-read'),
    );
    const nobody = { department: 'Sales', lastName: 'Nobody' };
    assert.deepEqual(await employees.by.lastName.keys(nobody), []);
  });

  it('move an entity between lists in one transaction, and go with their last entry', async () => {
    const { employees, gateway, takeKinds } = await newEmployees();
    await employees.insert(jones);
    takeKinds();
    await employees.merge(keyOfJones, { lastName: 'Smith' }, { ifMatch: 'any' });
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'point-read', 'transaction']);
    assert.deepEqual(await rowKeysOf(gateway), ['Sales/Smith', 'Sales/empid_000123']);
    await employees.merge(keyOfJones, { email: 'smith@contoso.com' }, { ifMatch: 'any' });
    takeKinds();
    await employees.delete(keyOfJones, { ifMatch: 'any' });
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'transaction']);
    assert.deepEqual(await rowKeysOf(gateway), []);
  });

  it('lose nothing when 16 writers change one of them at the same time', async () => {
    const { gateway, employees } = await newEmployees();
    const writers = Array.from({ length: 16 }, () =>
      indexedEntitiesOf(byLastName, { table: gateway }),
    );
    await Promise.all(
      writers.map(async (writer, index) => {
        for (const step of [0, 1, 2]) await writer.insert({ ...jones, id: index * 10 + step });
        await writer.merge(
          { department: 'Sales', id: index * 10 },
          { lastName: 'Smith' },
          { ifMatch: 'any' },
        );
        await writer.delete({ department: 'Sales', id: index * 10 + 1 }, { ifMatch: 'any' });
      }),
    );
    const keys = await employees.by.lastName.keys(named);
    assert.deepEqual(
      keys.map(({ id }) => id),
      Array.from({ length: 16 }, (_, index) => index * 10 + 2),
    );
    const smiths = await employees.by.lastName.keys({ department: 'Sales', lastName: 'Smith' });
    assert.equal(smiths.length, 16);
    await assertInStep(employees);
  });

  it('leave out entities that no longer have the value', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert(jones);
    await employees.insert({ ...jones, id: 124 });
    const alone = entitiesOf(ListedEmployee, gateway);
    await alone.merge(keyOfJones, { lastName: 'Smith' }, { ifMatch: 'any' });
    const found = [];
    for await (const { id } of employees.by.lastName.entities(named)) found.push(id);
    assert.deepEqual(found, [124]);
  });
});

describe('a list in rows', () => {
  it(
    'goes on in chunks when it is long, and says what it should after any changes',
    costly(),
    async () => {
      const text = fc.nat(200).map((id) => `empid_${String(id).padStart(6, '0')}`);
      const texts = fc.array(text, { maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ add: texts, remove: texts }), { maxLength: 25 }),
          async (changes) => {
            const { gateway } = await tables.newTable();
            let model: KeyList = [];
            for (const change of changes) {
              await applied(gateway, change);
              model = changeList(model, change);
            }
            assert.deepEqual(await readRowList(gateway, head, layout), model);
            for (const each of ['empid_000000', 'empid_000100', ...model.slice(0, 3)]) {
              assert.equal(
                await isInRowList((at) => gateway.get(at), head, layout, each),
                model.includes(each),
              );
            }
            await applied(gateway, { add: [], remove: model });
            assert.deepEqual(await allRows(gateway), []);
          },
        ),
        { numRuns: 12 },
      );
    },
  );

  it('holds more than a row can: past 1 MiB', async () => {
    const { gateway, takeKinds } = await tables.newTable();
    const large = { name: 'Keys', system: {}, unitsMax: 32_768 };
    const list = Array.from(
      { length: 4000 },
      (_, index) => `employee_${String(index).padStart(6, '0')}_${'x'.repeat(150)}`,
    );
    for (let at = 0; at < list.length; at += 400) {
      const add = list.slice(at, at + 400);
      await gateway.transact(await planRowListChange(gateway, head, large, { add, remove: [] }));
    }
    const bytes = list.reduce((sum, text) => sum + 2 * text.length, 0);
    assert.ok(bytes > 1_048_576, `${bytes} bytes`);
    takeKinds();
    assert.deepEqual(await readRowList(gateway, head, large), list);
    const [first, ...pages] = takeKinds();
    assert.equal(first, 'point-read');
    assert.ok(pages.length >= 1 && pages.every((kind) => kind === 'query'));
  });

  it('refuses the change that was planned before another', async () => {
    const { gateway } = await tables.newTable();
    const add = Array.from({ length: 30 }, (_, index) => `empid_${100 + index}`);
    await applied(gateway, { add, remove: [] });
    const plans = await Promise.all(
      ['empid_105a', 'empid_125a'].map((text) =>
        planRowListChange(gateway, head, layout, { add: [text], remove: [] }),
      ),
    );
    const results = await Promise.allSettled(plans.map((writes) => gateway.transact(writes)));
    assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  });

  it('makes a chunk that was lost anew', async () => {
    const { gateway } = await tables.newTable();
    const add = Array.from({ length: 30 }, (_, index) => `empid_${100 + index}`);
    await applied(gateway, { add, remove: [] });
    const rows = await allRows(gateway);
    const lost = rows.at(-1);
    assert.ok(lost !== undefined && rows.length > 3);
    await gateway.write({ kind: 'delete', key: lost, etag: '*' });
    await applied(gateway, { add: ['empid_999'], remove: [] });
    const list = await readRowList(gateway, head, layout);
    assert.ok(list.includes('empid_999'));
  });
});
