import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  entitiesOf,
  EntityNotFoundError,
  transaction,
  ValueError,
  type RowWrite,
} from '../../src/modeling/index.js';
import { announcement, openModel } from '../../src/modeling/model/index.js';
import {
  changeFeed,
  changeFeedOf,
  payloadOf,
  RowsChangedMessage,
} from '../../src/modeling/patterns/change-feed/index.js';
import { reasonOf } from '../../src/modeling/table/failure-of-one.js';
import { defineMessage, handle, keyPayload } from '../../src/modeling/worker/index.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { RegionalDepartment, RegionalEmployee } from './support/regions.js';

// Rows that a transaction requires and does not change.

const sales = { region: 'East', name: 'Sales' };
const jo = { region: 'East', department: 'Sales', id: 1 };

/** `overtake` runs once, before the transaction is sent that is to be overtaken. */
async function newDepartment() {
  const rows = new MemoryRows();
  const departments = entitiesOf(RegionalDepartment, new MemoryTable(rows));
  await departments.insert(sales);
  const sent: (readonly RowWrite[])[] = [];
  let overtake: (() => Promise<unknown>) | undefined;
  const table = new MemoryTable(rows);
  const transact = table.transact.bind(table);
  Object.assign(table, {
    transact: async (writes: readonly RowWrite[]) => {
      sent.push(writes);
      const first = overtake;
      overtake = undefined;
      await first?.();
      return transact(writes);
    },
  });
  const overtakenBy = (work: () => Promise<unknown>): void => {
    overtake = work;
  };
  return {
    rows,
    departments,
    employees: entitiesOf(RegionalEmployee, table),
    table,
    sent,
    overtakenBy,
  };
}

describe('a required row that an update leaves as it is', () => {
  for (const order of ['before', 'after'] as const) {
    it(`is a condition of the transaction (required ${order} the update)`, async () => {
      const { departments, employees, table, sent, overtakenBy } = await newDepartment();
      const hiring = () => {
        const writes = transaction(table).insert(RegionalEmployee, jo);
        if (order === 'before') writes.require(RegionalDepartment, sales);
        writes.update(RegionalDepartment, sales, () => undefined);
        return order === 'after' ? writes.require(RegionalDepartment, sales) : writes;
      };
      overtakenBy(() => departments.delete(sales, { ifMatch: 'any' }));
      await assert.rejects(
        hiring().run(),
        (error) => reasonOf(error) instanceof EntityNotFoundError,
      );
      assert.equal(await employees.get(jo), undefined);

      await departments.insert({ ...sales, employees: 5 });
      const [, guarded] = await hiring().run();
      const stored = await departments.get(sales);
      assert.equal(stored?.employees, 5);
      assert.ok(guarded?.etag !== undefined);
      assert.equal(sent.at(-1)?.length, 2);
    });
  }

  it('is read again when another writer has changed it', async () => {
    const { departments, employees, table, overtakenBy } = await newDepartment();
    overtakenBy(() => departments.merge(sales, { employees: 9 }, { ifMatch: 'any' }));
    const seen: number[] = [];
    await transaction(table)
      .insert(RegionalEmployee, jo)
      .require(RegionalDepartment, sales)
      .update(RegionalDepartment, sales, ({ employees }) => void seen.push(employees))
      .run();
    assert.deepEqual(seen, [0, 9]);
    assert.ok((await employees.get(jo)) !== undefined);
  });

  it('is told with its values to the update that waits', async () => {
    const { departments, table } = await newDepartment();
    await departments.merge(sales, { employees: 3 }, { ifMatch: 'any' });
    const guarding = transaction(table)
      .insert(RegionalEmployee, jo)
      .require(RegionalDepartment, sales)
      .update(RegionalDepartment, sales, () => undefined)
      .run();
    const counting = transaction(table).increment(RegionalDepartment, sales, 'employees').run();
    await Promise.all([guarding, counting]);
    assert.equal((await departments.get(sales))?.employees, 4);
  });

  it('is not written when nothing else is, or when it is not required', async () => {
    const { table, sent } = await newDepartment();
    const left = () => transaction(table).update(RegionalDepartment, sales, () => undefined);
    await left().require(RegionalDepartment, sales).run();
    assert.equal(sent.length, 0);
    await left().insert(RegionalEmployee, jo).run();
    assert.equal(sent.at(-1)?.length, 1);
  });
});

describe('a required row', () => {
  it('is not mixed up with one of another partition that has its RowKey', async () => {
    const { table } = await newDepartment();
    const writes = transaction(table).require(RegionalDepartment, sales);
    const other = { ...sales, region: 'West' };
    const deletes = () => writes.delete(RegionalDepartment, other, { ifMatch: '*' });
    assert.throws(deletes, (error) => {
      assert.ok(error instanceof ValueError);
      assert.match(error.message, /belongs to one partition/);
      return true;
    });
  });

  it('is not announced and in no feed, unless the transaction changes it', async () => {
    const Changed = defineMessage('changed', { payload: keyPayload(RegionalDepartment) });
    const heard: string[] = [];
    const model = openModel({
      table: new MemoryTable(new MemoryRows()),
      entities: { departments: RegionalDepartment, employees: RegionalEmployee },
      keeps: [
        changeFeed(),
        announcement({
          source: RegionalDepartment,
          message: Changed,
          of: ({ after }) => after && { ...after, name: `${after.name} ${after.employees}` },
        }),
      ],
      handlers: [handle(Changed, ({ name }) => Promise.resolve(void heard.push(name)))],
    });
    await model.entities.departments.insert(sales);
    const hiring = (id: number) =>
      transaction(model.table)
        .insert(RegionalEmployee, { ...jo, id })
        .require(RegionalDepartment, sales);
    await hiring(1).run();
    await hiring(2)
      .update(RegionalDepartment, sales, () => undefined)
      .run();
    await hiring(3).increment(RegionalDepartment, sales, 'employees').run();
    await model.drain();
    assert.deepEqual(heard, ['Sales 0', 'Sales 1']);
    const { events } = await changeFeedOf(model.table).read('East');
    const payloads = await Promise.all(events.map((each) => payloadOf(RowsChangedMessage, each)));
    const told = payloads.map((each) =>
      each?.rows.map(({ rowKey, change }) => `${change} ${rowKey}`),
    );
    assert.deepEqual(told, [
      ['inserted DEPARTMENT_Sales'],
      ['inserted EMPLOYEE_000001'],
      ['inserted EMPLOYEE_000002'],
      ['inserted EMPLOYEE_000003', 'replaced DEPARTMENT_Sales'],
    ]);
  });
});
