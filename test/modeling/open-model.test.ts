import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  bulk,
  entitiesOf,
  EntityNotFoundError,
  Instant,
  TooLargeError,
  transaction,
  TransactionFailedError,
  ValueError,
  writesOf,
} from '../../src/modeling/index.js';
import { announcement, openModel } from '../../src/modeling/model/index.js';
import { defineMessage, handle } from '../../src/modeling/worker/index.js';
import { oneToManyOptions } from './support/staff-relation.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/index.js';
import { eventViewOf } from '../../src/modeling/patterns/materialised-views/index.js';
import { MemoryLists } from './support/memory-lists.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';
import {
  Company,
  StaffDepartment,
  StaffEmployee,
  employeeOf,
  openStaff,
  openWholeStaff,
} from './support/staff.js';
import { costly } from '../support/run-length.js';
import { deferred } from '../../src/base/async/deferred.js';

// One declaration of a table: what it keeps, and what runs to keep it.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const sales = { department: 'Sales' };
const at = (id: number) => ({ ...sales, id });
const any = { ifMatch: 'any' };

async function newStaff() {
  const [observed, mails] = await Promise.all([tables.newTable(), tables.newTable()]);
  const places = { table: observed.gateway, mails: mails.gateway, names: new MemoryLists() };
  const model = openWholeStaff(places);
  return { ...observed, places, model, ...model.entities };
}

async function driftsOf(model: { verify(): AsyncIterable<unknown> }): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const drift of model.verify()) found.push(drift);
  return found;
}

describe('a model', () => {
  it('keeps everything by one transaction, and the rest by its messages', costly(), async () => {
    const { model, employees, departments, companies, badges, takeKinds } = await newStaff();
    await badges.insert({ department: 'Sales', id: 1 });
    await departments.insert({ ...sales, title: 'Sales' });
    await model.drain();
    takeKinds();
    await model
      .transaction()
      .insert(StaffEmployee, employeeOf(1))
      .insert(StaffEmployee, employeeOf(2, { lastName: 'Smith' }))
      .increment(StaffDepartment, sales, 'changes')
      .run();
    assert.deepEqual(
      takeKinds().filter((kind) => kind !== 'point-read' && kind !== 'insert'),
      ['transaction'],
    );
    const { count, salaries, changes, lead, title } = (await departments.get(sales)) ?? {};
    assert.deepEqual(
      { count, salaries, changes, lead, title },
      { count: 2, salaries: 20, changes: 1, lead: 'Jones', title: 'Sales' },
    );
    assert.equal((await employees.by.email.get({ ...sales, email: '2@x' }))?.lastName, 'Smith');
    assert.equal(await employees.by.mail.get({ ...at(1), email: '1@x' }), undefined);
    assert.ok((await driftsOf(model)).length > 0);
    const { unfinished } = await model.drain();
    assert.deepEqual(unfinished, []);
    assert.equal((await employees.by.mail.get({ ...at(1), email: '1@x' }))?.lastName, 'Jones');
    assert.equal((await companies.get({ name: 'contoso' }))?.count, 2);
    assert.equal((await badges.get(at(1)))?.lastName, 'Jones');
    assert.deepEqual(await driftsOf(model), []);
    await employees.merge(at(1), { lastName: 'Brown' }, any);
    await employees.delete(at(2), any);
    await model.drain();
    assert.deepEqual(await driftsOf(model), []);
    const after = await departments.get(sales);
    assert.deepEqual([after?.count, after?.salaries, after?.lead], [1, 10, 'Brown']);
  });

  it('refuses before it sends what cannot be one transaction, and what it counts itself', async () => {
    const { model, departments, takeKinds } = await newStaff();
    const stored = await departments.insert({ ...sales, title: 'Sales' });
    takeKinds();
    const begin = () => model.transaction().insert(StaffEmployee, employeeOf(1));
    assert.throws(() => begin().insert(StaffEmployee, employeeOf(1)), ValueError);
    assert.throws(
      () => begin().insert(StaffEmployee, employeeOf(1, { department: 'Support' })),
      /one partition/,
    );
    const many = model.transaction();
    for (let id = 0; id < 50; id += 1) many.insert(StaffEmployee, employeeOf(id));
    await assert.rejects(many.run(), TooLargeError);
    assert.ok(!takeKinds().includes('transaction'));
    await assert.rejects(
      departments.insert({ department: 'New', count: 3 }),
      /counted by the table/,
    );
    await assert.rejects(departments.replace({ ...stored, count: 3 }), /counted by the table/);
    await assert.rejects(
      begin().increment(StaffDepartment, sales, 'count').run(),
      (error) => error instanceof TransactionFailedError && /counted/.test(error.message),
    );
    await begin().run();
    await departments.upsertReplace({ ...sales, title: 'Other' });
    assert.equal((await departments.get(sales))?.count, 1);
    const nowhere = transaction(model.table).increment(
      StaffDepartment,
      { department: 'None' },
      'changes',
    );
    await assert.rejects(nowhere.run(), EntityNotFoundError);
  });

  it('reads what is in a partition in lists by type, and nothing else of it', async () => {
    const { model, departments, takeKinds } = await newStaff();
    await departments.insert({ ...sales, title: 'Sales' });
    for (const id of [2, 1]) await model.entities.employees.insert(employeeOf(id));
    takeKinds();
    const found = await model.read(['employees', 'departments'], sales);
    assert.deepEqual(takeKinds(), ['query']);
    assert.deepEqual(
      [found.employees.map(({ id }) => id), found.departments.map(({ count }) => count)],
      [[1, 2], [2]],
    );
    assert.deepEqual(Object.keys(found), ['employees', 'departments']);
    assert.deepEqual(await model.read(['employees'], { department: 'None' }), { employees: [] });
    const tooMany = model.read(['employees', 'departments'], sales, { max: 2 });
    await assert.rejects(tooMany, /more than 2 items/);
    await assert.rejects(model.read(['employees', 'events'], sales), /one query each/);
    await assert.rejects(model.read(['nobody' as 'employees'], sales), /no 'nobody'/);
    // @ts-expect-error: the PartitionKey of both is the department.
    await assert.rejects(model.read(['employees', 'departments'], { id: 1 }), ValueError);
  });

  it('lets the changes of patterns join a transaction', costly(), async () => {
    const { model, departments } = await newStaff();
    await departments.insert({ ...sales, title: 'Sales' });
    const relation = oneToManyOf({ ...oneToManyOptions, table: model.table });
    await model
      .transaction()
      .join(relation.adding(employeeOf(1)))
      .insert(StaffEmployee, employeeOf(2))
      .run();
    assert.equal((await departments.get(sales))?.changes, 1);
    await model.drain();
    assert.deepEqual(await driftsOf(model), []);
  });

  it('tells what it has written, also to the update that waits', costly(), async () => {
    const { model, employees, departments } = await newStaff();
    await employees.insert(employeeOf(1));
    const inserted = await departments.upsertReplace({ ...sales, title: 'Sales' });
    assert.deepEqual([inserted.count, inserted.lead], [1, 'Jones']);
    const [first, second] = await Promise.all(
      ['a', 'b'].map((title) =>
        departments.update(sales, (current) => ({ ...current, title, lead: 'somebody' })),
      ),
    );
    assert.deepEqual([first?.lead, second?.lead, second?.count], ['Jones', 'Jones', 1]);
    await model.drain();
    assert.deepEqual(await driftsOf(model), []);
  });

  it('counts once when many change one row at the same time', costly(), async () => {
    const { places, model, departments } = await newStaff();
    await departments.insert({ ...sales, title: 'Sales' });
    const others = [openWholeStaff(places), openWholeStaff(places)];
    await Promise.all(
      Array.from({ length: 9 }, (_, id) =>
        (others[id % 3] ?? model)
          .transaction()
          .insert(StaffEmployee, employeeOf(id, { lastName: `name${id % 2}` }))
          .increment(StaffDepartment, sales, 'changes')
          .run(),
      ),
    );
    await model.drain();
    const found = await departments.get(sales);
    assert.deepEqual([found?.count, found?.changes], [9, 9]);
    assert.deepEqual(await driftsOf(model), []);
  });

  it(
    'keeps the messages of what was deleted with its partition, beyond a page as well',
    costly(),
    async () => {
      const table = new MemoryTable(new MemoryRows(), { table: 'staff' });
      const places = { table, mails: table, names: new MemoryLists() };
      for (const what of ['index elsewhere', 'counter elsewhere'] as const) {
        const model = openStaff(places, what);
        const make = writesOf(StaffEmployee, { stamp: false });
        const ids = Array.from({ length: 1100 }, (_, id) => id);
        const { failures } = await bulk(
          model.table,
          ids.map((id) => make.insert(employeeOf(id))),
        );
        assert.deepEqual(failures, []);
        const { deleted } = await deleteWhere(model.table, { partitionKey: 'Sales' });
        assert.equal(deleted, ids.length);
        assert.deepEqual((await model.drain()).unfinished, []);
        assert.deepEqual(await driftsOf(model), [], what);
      }
    },
  );

  it('has marks of what is counted elsewhere until they are forgotten', costly(), async () => {
    const { model, gateway, employees } = await newStaff();
    await employees.insert(employeeOf(1));
    await model.drain();
    const marks = async (): Promise<number> => {
      const rowKey = { from: '~applied_', before: '~applied`' };
      return (await gateway.page({ partitionKey: 'company_contoso', rowKey })).rows.length;
    };
    assert.equal(await marks(), 1);
    const later = Instant.ofDate(new Date(Date.now() + 3_600_000));
    await eventViewOf(Company, model.table).forget({ name: 'contoso' }, later);
    assert.equal(await marks(), 0);
    assert.deepEqual(await driftsOf(model), []);
  });

  it('acts on its own messages at once while it runs, and stops when it is closed', async () => {
    const { gateway } = await tables.newTable();
    const Hired = defineMessage<{ id: number }, { id: number }>('hired', {
      payload: {
        encode: ({ id }) => ({ id }),
        decode: (payload) => ({ id: Number(Object(payload)['id']) }),
      },
    });
    const heard: number[] = [];
    const { promise: told, resolve: tell } = deferred();
    await using model = openModel({
      table: gateway,
      entities: { employees: StaffEmployee, companies: Company },
      keeps: [
        announcement({
          source: StaffEmployee,
          message: Hired,
          of: ({ before, after }) =>
            before === undefined && after !== undefined ? { id: after.id } : undefined,
        }),
      ],
      handlers: [
        handle(Hired, async ({ id }) => {
          heard.push(id);
          tell();
          await Promise.resolve();
        }),
      ],
    });
    const running = model.run();
    await entitiesOf(StaffEmployee, model.table).insert(employeeOf(7));
    await told;
    await model.entities.employees.merge(at(7), { salary: 11 }, any);
    await model.close();
    await running;
    assert.deepEqual(heard, [7]);
  });
});
