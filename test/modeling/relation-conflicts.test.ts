import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  EntityExistsError,
  key,
  TransactionFailedError,
  type TableGateway,
} from '../../src/modeling/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import {
  IndexValueTakenError,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { oneToManyOf, oneToOneOf } from '../../src/modeling/patterns/relations/index.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { regionalDepartmentOf, RegionalDepartment, RegionalEmployee } from './support/regions.js';
import { wrappedMethods } from './support/wrapped-methods.js';

// Whose row was in the way of a relation: one of its own, or one that the table adds.

const indexed = withIndexes(RegionalEmployee, {
  name: samePartition({ rowKey: (p) => key`NAME_${p.name}` }),
});
const sales = { region: 'East', name: 'Sales' };
const jo = { region: 'East', department: 'Sales', id: 1, name: 'Jo' };

async function newRelation(wrap = (table: TableGateway): TableGateway => table) {
  const rows = new MemoryRows();
  const { table, entities } = openModel({
    table: wrap(new MemoryTable(rows)),
    entities: { departments: RegionalDepartment, employees: indexed },
  });
  await entities.departments.insert(sales);
  const relation = oneToManyOf({
    parent: RegionalDepartment,
    child: RegionalEmployee,
    parentOf: regionalDepartmentOf,
    count: 'employees',
    table,
  });
  return { rows, relation };
}

/** A service that does not say which operation of a transaction failed. */
function withoutPlaces(table: TableGateway): TableGateway {
  return failingWith(
    table,
    ({ message, reason }) => new TransactionFailedError(message, undefined, reason),
  );
}

function failingWith(
  table: TableGateway,
  other: (error: TransactionFailedError) => unknown,
): TableGateway {
  return wrappedMethods(table, async (name, send) => {
    try {
      return await send();
    } catch (error) {
      throw name === 'transact' && error instanceof TransactionFailedError ? other(error) : error;
    }
  });
}

describe('a child whose insert meets a row', () => {
  for (const [service, wrap] of [
    ['says which', undefined],
    ['does not say which', withoutPlaces],
  ] as const) {
    it(`names the index and its row when that is in the way (the service ${service})`, async () => {
      const { rows, relation } = await newRelation(wrap);
      await relation.add(jo);
      const before = rows.all.length;
      await assert.rejects(relation.add({ ...jo, id: 2 }), (error) => {
        assert.ok(error instanceof IndexValueTakenError);
        assert.equal(error.index, 'name');
        assert.deepEqual(error.key, { partitionKey: 'East', rowKey: 'NAME_Jo' });
        return true;
      });
      assert.equal(rows.all.length, before);
    });
  }

  it('says that its keys are taken only of its own keys', async () => {
    const { relation } = await newRelation();
    await relation.add(jo);
    await assert.rejects(relation.add({ ...jo, name: 'Bo' }), EntityExistsError);
  });

  it('tells the failure of the transaction where the row is of the table beneath', async () => {
    let place: number | undefined = 7;
    const beneath = (table: TableGateway): TableGateway =>
      failingWith(
        table,
        ({ message, reason }) => new TransactionFailedError(message, place, reason),
      );
    const { relation } = await newRelation(beneath);
    await relation.add(jo);
    for (place of [7, undefined]) {
      await assert.rejects(relation.add({ ...jo, name: 'Bo' }), (error) => {
        assert.ok(error instanceof TransactionFailedError);
        assert.ok(error.reason instanceof EntityExistsError);
        return true;
      });
    }
  });

  it('tells apart the rows of a pair as well', async () => {
    const table = failingWith(
      new MemoryTable(new MemoryRows()),
      ({ message, reason }) => new TransactionFailedError(message, 2, reason),
    );
    const pairs = oneToOneOf({
      main: RegionalDepartment,
      mainTable: table,
      detail: RegionalEmployee,
      detailTable: table,
      detailOf: ({ region }) => ({ region, id: 1 }),
      mainOf: regionalDepartmentOf,
    });
    await pairs.insert(sales, jo);
    await assert.rejects(pairs.insert(sales, jo), TransactionFailedError);
  });
});
