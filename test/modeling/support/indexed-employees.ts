import assert from 'node:assert/strict';
import { key, type StoredRow, type TableGateway } from '../../../src/modeling/index.js';
import {
  type CheckPage,
  type Drift,
  indexedEntitiesOf,
  indexEntity,
  indexTable,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../../src/modeling/patterns/indexes/index.js';
import { drainOutbox, testOutbox } from './index-outbox.js';
import { Employee } from './employees.js';

/** An index of each kind. */
export const EmployeeIndexes = withIndexes(Employee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  lastName: indexEntity({
    place: 'same-partition',
    rowKey: (p) => key`${p.lastName}`,
    list: 'EmployeeIDs',
    listUnitsMax: 128,
  }),
  company: otherPartition({
    partitionKey: (p) => key`company_${p.lastName}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
    include: ['firstName'],
  }),
  town: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.town}`,
    rowKey: (p) => key`${p.lastName}_${p.department}_${p.id.padded(6)}`,
    include: [],
  }),
  firstName: indexEntity({
    place: 'other-table',
    partitionKey: (p) => key`${p.firstName}`,
    rowKey: () => key`EmployeeIDs`,
    listUnitsMax: 128,
  }),
});

export interface EmployeeTables {
  readonly table: TableGateway;
  readonly town: TableGateway;
  readonly firstName: TableGateway;
}

export function openEmployees({ table, town, firstName }: EmployeeTables) {
  return indexedEntitiesOf(EmployeeIndexes, {
    table,
    tables: { town, firstName },
    outbox: testOutbox(table),
  });
}

export type Employees = ReturnType<typeof openEmployees>;

export function employee(id: number, given: Partial<NewEmployee> = {}): NewEmployee {
  return {
    department: 'Sales',
    id,
    firstName: 'Jun',
    lastName: 'Jones',
    email: `mail${id}@contoso.com`,
    ...given,
  };
}

export interface NewEmployee {
  readonly department: string;
  readonly id: number;
  readonly firstName: string;
  readonly lastName: string;
  readonly email: string;
  readonly town?: string | undefined;
}

/** Handles and deletes all intents. */
export function drain({ table }: EmployeeTables, employees: Employees): Promise<void> {
  return drainOutbox(table, employees.handler);
}

export async function driftsOf(pages: AsyncIterable<CheckPage>): Promise<Drift[]> {
  const drifts: Drift[] = [];
  for await (const page of pages) drifts.push(...page.drifts);
  return drifts;
}

/** Throws unless every index agrees with the entities. */
export async function assertInStep(employees: {
  verify(): AsyncIterable<CheckPage>;
}): Promise<void> {
  assert.deepEqual(await driftsOf(employees.verify()), []);
}

export async function allRows(table: TableGateway): Promise<StoredRow[]> {
  const rows: StoredRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await table.page(cursor === undefined ? {} : { cursor });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

export async function rowKeysOf(table: TableGateway): Promise<string[]> {
  return (await allRows(table)).map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`);
}

/** A gateway that calls `meddle` right before the first call of one method. */
export function meddled(
  table: TableGateway,
  method: 'write' | 'transact',
  meddle: () => Promise<unknown>,
): TableGateway {
  let isFirst = true;
  const before = async (called: 'write' | 'transact'): Promise<void> => {
    if (called !== method || !isFirst) return;
    isFirst = false;
    await meddle();
  };
  return {
    table: table.table,
    get: (...given) => table.get(...given),
    page: (...given) => table.page(...given),
    write: async (...given) => {
      await before('write');
      return table.write(...given);
    },
    transact: async (...given) => {
      await before('transact');
      return table.transact(...given);
    },
  };
}
