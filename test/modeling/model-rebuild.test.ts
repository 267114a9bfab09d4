import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entitiesOf, ValueError, type RowPage, type RowQuery } from '../../src/modeling/index.js';
import {
  counter,
  openModel,
  type ModelDrift,
  type ModelPage,
  type ModelRebuildOptions,
} from '../../src/modeling/model/index.js';
import { MemoryLists } from './support/memory-lists.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import {
  Badge,
  Company,
  StaffDepartment,
  StaffEmployee,
  employeeOf,
  openStaff,
} from './support/staff.js';
import { costly } from '../support/run-length.js';

// What follows from entities, after somebody went past the model.

const sales = { department: 'Sales' };
const contoso = { name: 'contoso' };
const any = { ifMatch: 'any' };

/** Lets others write while employees are counted. */
class CountedTable extends MemoryTable {
  onCount: (() => Promise<void>) | undefined;

  override async page(query: RowQuery): Promise<RowPage> {
    const page = await super.page(query);
    const { rowKey } = query;
    const isCount = typeof rowKey === 'object' && rowKey.from === 'empid_';
    if (isCount) await this.onCount?.();
    return page;
  }
}

const newTable = (table: string) => new MemoryTable(new MemoryRows(), { table });

async function newStaff() {
  const table = new CountedTable(new MemoryRows());
  const names = new MemoryLists();
  const mails = new MemoryTable(new MemoryRows(), { table: 'mails' });
  const open = () => openStaff({ table, mails, names });
  const model = open();
  await model.entities.departments.insert({ ...sales, title: 'Sales' });
  for (const id of [1, 102, 103, 104, 105]) {
    await model.entities.badges.insert({ ...sales, id });
    await entitiesOf(StaffEmployee, model.table).insert(employeeOf(id));
  }
  await model.drain();
  return { table, open, model };
}

/** Goes past the model: wrong counts beside and elsewhere, a wrong copy and a copy of nobody. */
async function corrupt(table: MemoryTable): Promise<void> {
  await entitiesOf(StaffDepartment, table).merge(sales, { count: 7, lead: 'Nobody' }, any);
  await entitiesOf(Company, table).delete(contoso, any);
  await entitiesOf(Badge, table).merge({ ...sales, id: 103 }, { lastName: 'Nobody' }, any);
}

async function pagesOf(
  model: { rebuild(options?: ModelRebuildOptions): AsyncIterable<ModelPage> },
  options?: ModelRebuildOptions,
): Promise<{ readonly repaired: number; readonly drifts: number }> {
  let [repaired, drifts] = [0, 0];
  for await (const page of model.rebuild(options)) {
    repaired += page.repaired;
    drifts += page.drifts.length;
  }
  return { repaired, drifts };
}

async function driftsOf(model: { verify(): AsyncIterable<ModelDrift> }): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const drift of model.verify()) found.push('derived' in drift && drift.derived.of);
  return found;
}

describe('a count without a key', () => {
  const measures = { count: () => 1 };

  it('is in the summary of the partition of each entity', async () => {
    const table = newTable('staff');
    const model = openModel({
      table,
      entities: { employees: StaffEmployee, departments: StaffDepartment },
      keeps: [counter({ source: StaffEmployee, view: StaffDepartment, measures })],
    });
    const { employees, departments } = model.entities;
    for (const [id, department] of ['Sales', 'Sales', 'Support'].entries()) {
      await employees.insert(employeeOf(id, { department }));
    }
    assert.equal((await departments.get(sales))?.count, 2);
    assert.equal((await departments.get({ department: 'Support' }))?.count, 1);
    assert.deepEqual(await driftsOf(model), []);
  });

  it('is refused where the PartitionKey does not tell the summary', () => {
    const options = { source: StaffEmployee, view: Company, measures };
    assert.throws(() => counter(options as never), {
      name: 'DefinitionError',
      message: "Company: the PartitionKey of Employee has no 'name': keyOf says what counts it",
    });
  });
});

describe('a count in another table', () => {
  it('follows by messages, under the same PartitionKey as well, and is compared and mended', async () => {
    const [table, totals] = [newTable('staff'), newTable('totals')];
    const model = openModel({
      table,
      entities: { employees: StaffEmployee, departments: StaffDepartment },
      keeps: [
        counter({
          source: StaffEmployee,
          view: StaffDepartment,
          viewTable: totals,
          keyOf: ({ department }) => ({ department }),
          measures: { count: () => 1, salaries: ({ salary }) => salary },
        }),
      ],
    });
    const { employees, departments } = model.entities;
    const counted = async () => {
      await model.drain();
      const found = await entitiesOf(StaffDepartment, totals).get(sales);
      return [found?.count, found?.salaries];
    };
    await departments.insert({ ...sales, count: 7 });
    for (const id of [1, 2]) await employees.insert(employeeOf(id));
    assert.deepEqual(await driftsOf(model), ['Department']);
    assert.deepEqual(await counted(), [2, 20]);
    await employees.delete({ ...sales, id: 2 }, any);
    assert.deepEqual(await counted(), [1, 10]);
    assert.deepEqual(await driftsOf(model), []);
    await entitiesOf(StaffDepartment, totals).merge(sales, { count: 9 }, any);
    assert.deepEqual(await pagesOf(model), { repaired: 1, drifts: 0 });
    assert.deepEqual(await counted(), [1, 10]);
    assert.equal((await departments.get(sales))?.count, 7);
  });
});

describe('a rebuild of a model', () => {
  it('mends counts and copies, and only tells them in a dry run', async () => {
    const { table, model } = await newStaff();
    await corrupt(table);
    const before = table.rows.all;
    assert.deepEqual(await pagesOf(model, { dryRun: true }), { repaired: 0, drifts: 4 });
    assert.deepEqual(table.rows.all, before);
    assert.deepEqual(await pagesOf(model), { repaired: 4, drifts: 0 });
    const department = await model.entities.departments.get(sales);
    assert.deepEqual(
      [department?.count, department?.lead, department?.title],
      [5, 'Jones', 'Sales'],
    );
    assert.equal((await model.entities.companies.get(contoso))?.count, 5);
    assert.equal((await model.entities.badges.get({ ...sales, id: 103 }))?.lastName, 'Jones');
    assert.deepEqual(await driftsOf(model), []);
    assert.deepEqual(await pagesOf(model), { repaired: 0, drifts: 0 });
  });

  it('goes on from any page in another process', costly(), async () => {
    const { table, open } = await newStaff();
    await corrupt(table);
    let [repaired, cursor]: [number, string | undefined] = [0, undefined];
    do {
      const options: ModelRebuildOptions = cursor === undefined ? {} : { cursor };
      const { value } = await open()
        .rebuild({ ...options, pageRows: 2 })
        .next();
      repaired += value?.repaired ?? 0;
      cursor = value?.cursor;
    } while (cursor !== undefined);
    assert.equal(repaired, 4);
    assert.deepEqual(await driftsOf(open()), []);
    await assert.rejects(open().rebuild({ cursor: 'no cursor' }).next(), ValueError);
  });

  it('counts nothing twice that a message still tells', async () => {
    const { table, model } = await newStaff();
    await corrupt(table);
    await entitiesOf(StaffEmployee, model.table).insert(employeeOf(6));
    await pagesOf(model);
    await model.drain();
    assert.equal((await model.entities.companies.get(contoso))?.count, 6);
    assert.deepEqual(await driftsOf(model), []);
  });

  it(
    'tells a count that changes while its entities are read, and leaves it alone',
    costly(),
    async () => {
      const { table, model } = await newStaff();
      await corrupt(table);
      const told: unknown[] = [];
      let changes = 0;
      // One before those that were read already, and one behind them.
      table.onCount = async () => {
        changes += 1;
        await entitiesOf(StaffEmployee, model.table).insert(employeeOf(100 - changes));
        await entitiesOf(StaffEmployee, model.table).insert(employeeOf(900 + changes));
      };
      for await (const { drifts } of model.rebuild({ pageRows: 3 })) {
        for (const drift of drifts) told.push('derived' in drift && drift.derived.of);
      }
      table.onCount = undefined;
      await model.drain();
      assert.deepEqual(told, ['Department', 'Company']);
      assert.deepEqual(await driftsOf(model), ['Department', 'Company']);
      await pagesOf(model);
      assert.equal((await model.entities.companies.get(contoso))?.count, 5 + 2 * changes);
      assert.deepEqual(await driftsOf(model), []);
    },
  );
});
