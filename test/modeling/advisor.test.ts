import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  defineEntity,
  embedded,
  entitiesOf,
  int32,
  key,
  rowBytes,
  string,
  transaction,
  writesOf,
  type Entities,
  type PartitionQuery,
  type RowWrite,
} from '../../src/modeling/index.js';
import { explain, measure, type Measurement } from '../../src/modeling/advisor/index.js';
import { stampUnits } from '../../src/modeling/advisor/sizes/stored-shape.js';
import {
  indexEntity,
  indexedEntitiesOf,
  indexTable,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { allRows } from './support/indexed-employees.js';
import { startTables, type ObservedTable, type ObservedTables } from './support/observed-tables.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

// The advisor against a real server: what it measures, and the requests that operations then send.

const HousedEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    email: string(),
    age: int32().optional(),
    address: embedded({ town: string(), zip: int32().optional() }),
  },
});

const someone = {
  department: 'New',
  lastName: 'Jones',
  email: 'a',
  address: { town: 'Kent' },
};

const names = ['Jones', 'Smith', 'Smith', 'Smith'];

/**
 * Sales has 1,500 employees and Legal 100; three of four are named Smith, every fifth has an age.
 */
function employees() {
  return Array.from({ length: 1_600 }, (_, id) => ({
    department: id < 1_500 ? 'Sales' : 'Legal',
    id,
    lastName: names[id % 4] ?? '',
    email: `mail${id}@contoso.com`,
    ...(id % 5 === 0 ? { age: id % 60 } : {}),
    address: { town: id % 2 === 0 ? 'Redmond' : 'Kent' },
  }));
}

async function fill({ gateway }: ObservedTable): Promise<void> {
  const make = writesOf(HousedEmployee);
  const writes = new Map<string, RowWrite[]>();
  for (const employee of employees()) {
    const of = writes.get(employee.department) ?? [];
    writes.set(employee.department, [...of, make.insert(employee)]);
  }
  for (const of of writes.values()) {
    for (let at = 0; at < of.length; at += 100) await gateway.transact(of.slice(at, at + 100));
  }
}

describe('the advisor with a live table', () => {
  let tables: ObservedTables;
  let table: ObservedTable;
  let entities: Entities<typeof HousedEmployee>;
  let measured: Measurement<typeof HousedEmployee>;

  before(async () => {
    tables = await startTables();
    table = await tables.newTable();
    await fill(table);
    entities = entitiesOf(HousedEmployee, table.gateway);
    table.takeKinds();
    measured = await measure(HousedEmployee, table.gateway);
  });

  after(() => tables[Symbol.asyncDispose]());

  it('measures a whole table with the requests that it tells', () => {
    assert.deepEqual(table.takeKinds(), ['query', 'query']);
    const { requests, rows, isWhole, otherRows, partitions, properties } = measured;
    assert.deepEqual([requests, rows, isWhole, otherRows], [2, 1_600, true, 0]);
    assert.deepEqual(partitions.kind === 'counts' && partitions.counts, {
      Sales: 1_500,
      Legal: 100,
    });
    const { lastName, age, address, email } = properties;
    assert.deepEqual(lastName?.size, { average: 5, maximum: 5 });
    assert.deepEqual(lastName?.values?.kind === 'counts' && lastName.values.counts, {
      Jones: 400,
      Smith: 1_200,
    });
    assert.equal(age?.present, 0.2);
    assert.equal(email?.values, undefined, 'every email is another one');
    assert.deepEqual(address?.properties?.['town']?.size, { average: 5.5, maximum: 7 });
    assert.equal(address?.properties?.['zip']?.present, 0);
  });

  it('tells the bytes that the service counts', async () => {
    const report = explain(HousedEmployee, { ...measured, operations: [] });
    const rows = await allRows(table.gateway);
    const total = rows.reduce((sum, row) => {
      // The length of a write stamp is unknown in advance; the estimate uses an average one.
      const stamp = row.properties['WriteStamp'];
      const units = stamp?.type === 'String' ? stamp.value.length : 0;
      assert.ok(units > 0 && units <= stampUnits.maximum);
      return sum + rowBytes(row) + 2 * (stampUnits.average - units);
    }, 0);
    assert.equal(Math.round(report.capacity.bytes), total);
    assert.deepEqual(report.findings, []);
  });

  it('reads no more of a table than the sample', async () => {
    table.takeKinds();
    const part = await measure(HousedEmployee, table.gateway, { sample: 150 });
    assert.deepEqual([part.rows, part.requests, part.isWhole], [150, 1, false]);
    const spread = await measure(HousedEmployee, table.gateway, {
      sample: 100,
      from: [{ department: 'Sales' }, { department: 'Legal' }],
    });
    assert.deepEqual(spread.partitions.kind === 'counts' && spread.partitions.counts, {
      Legal: 50,
      Sales: 50,
    });
    assert.deepEqual([spread.requests, spread.isWhole], [2, false]);
    const every = await measure(HousedEmployee, table.gateway, { from: [{ department: 'Legal' }] });
    assert.deepEqual([every.rows, every.isWhole], [1_600, false], 'who knows what is before');
    assert.deepEqual(table.takeKinds(), Array.from({ length: 5 }).fill('query'));
    const { findings } = explain(HousedEmployee, { ...spread, operations: [] });
    assert.deepEqual(
      findings.map(({ code }) => code),
      ['partial-measurement'],
    );
  });

  it('does not take the rows of other types for its own', async () => {
    const mixed = await tables.newTable();
    const Review = defineEntity({
      type: 'Review',
      properties: { id: int32() },
      partitionKey: () => key`Sales`,
      rowKey: (p) => key`empid_${p.id.padded(6)}`,
    });
    await entitiesOf(Review, mixed.gateway).insert({ id: 1 });
    await entitiesOf(HousedEmployee, mixed.gateway).insert({ ...someone, id: 2 });
    const found = await measure(HousedEmployee, mixed.gateway);
    assert.deepEqual([found.rows, found.otherRows], [1, 1]);
  });

  it('expects the requests that reads then make', costly(), async () => {
    const sales = { department: 'Sales' };
    const smiths: PartitionQuery<typeof HousedEmployee> = {
      partition: sales,
      where: (p) => p.lastName.eq('Smith'),
    };
    const { operations } = explain(HousedEmployee, {
      ...measured,
      operations: [
        { kind: 'get', perSecond: 1 },
        { kind: 'query', perSecond: 1, query: { partition: sales } },
        { kind: 'query', perSecond: 1, query: { partition: { department: 'Legal' } } },
        { kind: 'query', perSecond: 1, query: { partitions: [sales, { department: 'Legal' }] } },
        { kind: 'query', perSecond: 1, query: smiths },
        { kind: 'query', perSecond: 1, query: { partition: sales, prefix: { id: 7 } } },
        { kind: 'query', perSecond: 1, query: { partition: sales }, take: 10 },
        { kind: 'scan', perSecond: 1 },
      ],
    });
    const observed: number[] = [];
    const count = async (work: () => Promise<unknown>) => {
      table.takeKinds();
      await work();
      observed.push(table.takeKinds().length);
    };
    await count(() => entities.get({ ...sales, id: 7 }));
    await count(() => entities.query({ partition: sales }).toArray({ max: 5_000 }));
    await count(() =>
      entities.query({ partition: { department: 'Legal' } }).toArray({ max: 5_000 }),
    );
    await count(() =>
      entities
        .queryPartitions({ partitions: [sales, { department: 'Legal' }] })
        .toArray({ max: 5_000 }),
    );
    await count(() => entities.query(smiths).toArray({ max: 5_000 }));
    await count(() => entities.query({ partition: sales, prefix: { id: 7 } }).first(5));
    await count(() => entities.query({ partition: sales }).first(10));
    await count(() => entities.scanTable().toArray({ max: 5_000 }));
    assert.deepEqual(observed, [1, 2, 1, 3, 2, 1, 1, 2]);
    operations.forEach(({ requests: { best, worst } }, at) => {
      const found = observed[at] ?? 0;
      assert.ok(best <= found && found <= worst, `${at}: ${found} of ${best} to ${worst}`);
    });
    // For exact facts the estimate must be equal too.
    for (const at of [0, 5, 6, 7]) {
      assert.equal(operations[at]?.requests.expected, observed[at], `${at}`);
    }
  });

  it('expects the requests that writes then make', async () => {
    const { operations } = explain(HousedEmployee, {
      ...measured,
      operations: [
        { kind: 'insert', perSecond: 1 },
        { kind: 'merge', perSecond: 1, changes: ['age'] },
        { kind: 'update', perSecond: 1 },
        { kind: 'transaction', perSecond: 1, writes: 2 },
        { kind: 'delete', perSecond: 1 },
      ],
    });
    const at = { department: 'New', id: 1 };
    table.takeKinds();
    const observed: string[][] = [];
    const take = () => observed.push([...table.takeKinds()]);
    await entities.insert({ ...someone, id: 1 });
    take();
    await entities.merge(at, { age: 5 }, { ifMatch: 'any' });
    take();
    await entities.update(at, (current) => ({ ...current, age: 6 }));
    take();
    await transaction(table.gateway)
      .insert(HousedEmployee, { ...someone, id: 2 })
      .insert(HousedEmployee, { ...someone, id: 3 })
      .run();
    take();
    await entities.delete(at, { ifMatch: 'any' });
    take();
    assert.deepEqual(
      operations.map(({ requests }) => requests.expected),
      observed.map(({ length }) => length),
    );
    assert.deepEqual(
      operations.map(({ classes }) =>
        classes.filter(({ requests }) => requests.expected > 0).map((each) => each.class),
      ),
      observed,
    );
  });

  it('expects the requests that writes with indexes then make', async () => {
    const indexed = withIndexes(HousedEmployee, {
      email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
      name: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
      town: indexTable({
        partitionKey: (p) => key`${p.lastName}`,
        rowKey: (p) => key`${p.id.padded(6)}`,
        include: [],
      }),
    });
    const [main, town] = [await tables.newTable(), await tables.newTable()];
    const outbox = testOutbox(main.gateway);
    const open = indexedEntitiesOf(indexed, {
      table: main.gateway,
      tables: { town: town.gateway },
      outbox,
    });
    const { operations } = explain(indexed, {
      ...measured,
      operations: [
        { kind: 'insert', perSecond: 1 },
        { kind: 'merge', perSecond: 1, changes: ['age'] },
        { kind: 'merge', perSecond: 1, changes: ['lastName'] },
        { kind: 'merge', perSecond: 1, changes: ['email'] },
        { kind: 'look-up', perSecond: 1, index: 'email' },
        { kind: 'look-up', perSecond: 1, index: 'name', returns: 1 },
        { kind: 'delete', perSecond: 1 },
      ],
    });
    // A put, a get and a delete; the relay of this test passes intents on itself.
    const queueRequests = 3;
    const observed: (readonly string[])[] = [];
    const rows: number[] = [];
    const count = async (work: () => Promise<unknown>) => {
      main.takeKinds();
      await work();
      const kinds = main.takeKinds();
      observed.push(kinds);
      rows.push(kinds.includes('transaction') ? (main.reports.at(-1)?.entities ?? 0) : 1);
    };
    const at = { department: 'New', id: 1 };
    const any = { ifMatch: 'any' };
    await count(() => open.insert({ ...someone, id: 1 }));
    await drainOutbox(main.gateway, open.handler);
    const later = [...main.takeKinds().slice(0, -1), ...town.takeKinds()];
    const [inserted] = operations;
    assert.equal((inserted?.requestsLater.expected ?? 0) - queueRequests, later.length);
    // The relay queries the intent, the worker reads the entity twice, the relay deletes the
    // intent.
    const inMain = ['query', 'point-read', 'point-read', 'delete'];
    assert.deepEqual(later, [...inMain, 'point-read', 'insert']);
    await count(() => open.merge(at, { age: 5 }, any));
    await count(() => open.merge(at, { lastName: 'Smith' }, any));
    await count(() => open.merge(at, { email: 'b' }, any));
    await count(() => open.by.email.get({ department: 'New', email: 'b' }));
    await count(async () => {
      for await (const _ of open.by.name.entities({ department: 'New', lastName: 'Smith' }))
        continue;
    });
    await count(() => open.delete(at, any));
    assert.deepEqual(
      operations.map(({ requests }) => requests.expected),
      observed.map(({ length }) => length),
    );
    // Rows of the caller's transaction, without those that the worker writes later.
    assert.deepEqual(rows, [4, 2, 5, 3, 1, 1, 4]);
  });
});
