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
import {
  indexedEntitiesOf,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { listUnits } from '../../src/modeling/patterns/index-entities/key-list.js';
import {
  planRowListChange,
  readRowList,
} from '../../src/modeling/patterns/index-entities/row-list.js';
import { Employee } from './support/employees.js';
import {
  assertInStep,
  drain,
  driftsOf,
  employee,
  openEmployees,
  type Employees,
  rowKeysOf,
} from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

// The repair of indexes for each kind of drift, and with writes between two of its requests.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const any = { ifMatch: 'any' };
const first = { department: 'Sales', id: 0 };
const second = { department: 'Sales', id: 1 };
const lastNames = ['Jones', 'Smith', 'Taylor'];
const emailOfFirst = 'mail0@contoso.com';

const Guest = defineEntity({
  type: 'Guest',
  properties: { event: string(), id: int32(), name: string(), note: string().optional() },
  partitionKey: (p) => key`${p.event}`,
  rowKey: (p) => key`guest_${p.id.padded(3)}`,
});
const GuestIndexes = withIndexes(Guest, {
  name: samePartition({ rowKey: (p) => key`name_${p.name}`, include: ['note'] }),
});

/** The employees Jones 0, Smith 1 and Taylor 2, with all indexes. */
async function threeEmployees() {
  const newGateway = async () => (await tables.newTable()).gateway;
  const places = {
    table: await newGateway(),
    town: await newGateway(),
    firstName: await newGateway(),
  };
  const employees = openEmployees(places);
  for (const [id, lastName] of lastNames.entries()) {
    await employees.insert(employee(id, { lastName }));
  }
  await drain(places, employees);
  const lose = (rowKey: string) =>
    places.table.write({ kind: 'delete', key: { partitionKey: 'Sales', rowKey }, etag: '*' });
  return { places, employees, lose };
}

/** A gateway that calls `meddle` once: before the first write, or after a page was read. */
function overtaken(
  table: TableGateway,
  at: 'first write' | 'first page' | 'second page',
  meddle: () => Promise<unknown>,
): TableGateway {
  let pages = 0;
  let isDone = false;
  const once = async (): Promise<void> => {
    if (isDone) return;
    isDone = true;
    await meddle();
  };
  const beforeWrite = () => (at === 'first write' ? once() : Promise.resolve());
  return {
    table: table.table,
    get: (key, select) => table.get(key, select),
    async page(query) {
      const page = await table.page(query);
      pages += 1;
      if (at === (pages === 1 ? 'first page' : 'second page')) await once();
      return page;
    },
    async write(write) {
      await beforeWrite();
      return table.write(write);
    },
    async transact(writes) {
      await beforeWrite();
      return table.transact(writes);
    },
  };
}

describe('a rebuild that is overtaken', () => {
  it('puts no copy back that its entity wants no more', async () => {
    const { places, employees, lose } = await threeEmployees();
    await lose(`email_${emailOfFirst}`);
    const table = overtaken(places.table, 'first write', () =>
      employees.merge(first, { email: 'new@contoso.com' }, any),
    );
    const mending = openEmployees({ ...places, table });
    assert.deepEqual(await driftsOf(mending.rebuild({ indexes: ['email'] })), []);
    await assertInStep(employees);
    assert.ok(!(await rowKeysOf(places.table)).includes(`Sales/email_${emailOfFirst}`));
  });

  it('puts no entity back into a list that it has left', async () => {
    const { places, employees, lose } = await threeEmployees();
    await lose('Jones');
    const table = overtaken(places.table, 'first write', () =>
      employees.merge(first, { lastName: 'Brown' }, any),
    );
    const mending = openEmployees({ ...places, table });
    assert.deepEqual(await driftsOf(mending.rebuild({ indexes: ['lastName'] })), []);
    await drain(places, employees);
    await assertInStep(employees);
    assert.deepEqual(
      await employees.by.lastName.keys({ department: 'Sales', lastName: 'Jones' }),
      [],
    );
  });

  it('leaves the copy of another entity alone that has taken the value over', async () => {
    const { places, employees } = await threeEmployees();
    // The first page has the copies, the second one the entities.
    const table = overtaken(places.table, 'second page', async () => {
      await employees.merge(first, { email: 'new@contoso.com' }, any);
      await employees.merge(second, { email: emailOfFirst }, any);
    });
    const mending = openEmployees({ ...places, table });
    for await (const _ of mending.rebuild({ indexes: ['email'], pageRows: 3 }));
    await assertInStep(employees);
    const found = await employees.by.email.entity({ department: 'Sales', email: emailOfFirst });
    assert.equal(found?.id, 1);
  });
});

describe('a rebuild', () => {
  it('takes entities out of lists to which they do not belong', async () => {
    const { places, employees } = await threeEmployees();
    const alone = entitiesOf(Employee, places.table);
    await alone.merge(first, { lastName: 'Brown' }, any);
    await alone.delete(second, any);
    let repaired = 0;
    for await (const page of employees.rebuild({ indexes: ['lastName'] })) {
      assert.deepEqual(page.drifts, []);
      repaired += page.repaired;
    }
    // Two wrong rows and a missing one.
    assert.equal(repaired, 3);
    assert.deepEqual(await driftsOf(employees.verify({ indexes: ['lastName'] })), []);
    for (const lastName of ['Jones', 'Smith']) {
      assert.deepEqual(await employees.by.lastName.keys({ department: 'Sales', lastName }), []);
    }
  });

  it('takes out of a copy what its entity has no longer', async () => {
    const { gateway } = await tables.newTable();
    const guests = indexedEntitiesOf(GuestIndexes, { table: gateway });
    const guest = { event: 'party', id: 1, name: 'Jones' };
    await guests.insert({ ...guest, note: 'late' });
    await entitiesOf(Guest, gateway).upsertReplace(guest);
    assert.deepEqual(
      (await driftsOf(guests.verify())).map((drift) => [
        drift.kind,
        drift.kind === 'stale' ? drift.names : [],
      ]),
      [['stale', ['note']]],
    );
    assert.deepEqual(await driftsOf(guests.rebuild()), []);
    assert.equal((await guests.by.name.get({ event: 'party', name: 'Jones' }))?.note, undefined);
    await assertInStep(guests);
  });
});

describe('the first phase of a backfill', () => {
  type Name = 'email' | 'lastName' | 'company' | 'firstName';

  /** Backfills an index of three entities while one of them is changed or deleted. */
  async function fillWhile(
    name: Name,
    at: 'first write' | 'first page',
    change: (employees: Employees) => Promise<unknown>,
  ): Promise<void> {
    const { places, employees } = await threeEmployees();
    const alone = entitiesOf(Employee, places.table);
    // Deletes all rows of the index, as if the index were new.
    for (const id of [0, 1, 2]) await employees.delete({ department: 'Sales', id }, any);
    await drain(places, employees);
    for (const [id, lastName] of lastNames.entries()) {
      await alone.insert(employee(id, { lastName }));
    }
    const table = overtaken(places.table, at, async () => {
      await change(employees);
      await drain(places, employees);
    });
    for await (const { phase } of openEmployees({ ...places, table }).backfill(name)) {
      if (phase === 'fill') break;
    }
    assert.deepEqual(await driftsOf(employees.verify({ indexes: [name] })), []);
  }

  const changes = { email: 'new@contoso.com', lastName: 'Brown', firstName: 'Zoe' };
  for (const name of ['email', 'lastName'] as const) {
    it(`leaves nothing of an entity that changes before its row is written: ${name}`, () =>
      fillWhile(name, 'first write', (employees) => employees.merge(first, changes, any)));
  }
  for (const name of ['email', 'lastName', 'company', 'firstName'] as const) {
    it(`leaves nothing of an entity that changes after it was read: ${name}`, () =>
      fillWhile(name, 'first page', (employees) => employees.merge(first, changes, any)));
    it(`leaves nothing of an entity that goes after it was read: ${name}`, () =>
      fillWhile(name, 'first page', (employees) => employees.delete(second, any)));
  }
});

describe('a list in several rows', () => {
  it('is verified and mended as one list', costly(), async () => {
    const { places, employees } = await threeEmployees();
    for (let id = 10; id < 40; id += 1) await employees.insert(employee(id));
    await drain(places, employees);
    const indexes = ['lastName', 'firstName'] as const;
    assert.ok((await rowKeysOf(places.table)).filter((name) => name.includes('\uffee')).length > 3);
    assert.deepEqual(await driftsOf(employees.verify({ indexes })), []);
    const alone = entitiesOf(Employee, places.table);
    await alone.delete({ department: 'Sales', id: 25 }, any);
    await alone.insert(employee(50));
    const drifts = await driftsOf(employees.verify({ indexes }));
    assert.deepEqual(
      drifts
        .map(({ kind, key: { rowKey }, primary }) => `${kind} ${rowKey} ${primary.rowKey}`)
        .sort(),
      [
        'dangling EmployeeIDs empid_000025',
        'dangling Jones empid_000025',
        'missing EmployeeIDs empid_000050',
        'missing Jones empid_000050',
      ],
    );
    assert.deepEqual(await driftsOf(employees.rebuild({ indexes })), []);
    assert.deepEqual(await driftsOf(employees.verify({ indexes })), []);
  });
});

describe('a list that grows', () => {
  const at = { partitionKey: 'p', rowKey: 'list' };
  const texts = ['1', '2', '3', '4'];

  async function rowsFor(lists: readonly (readonly string[])[], unitsMax: number) {
    const { gateway } = await tables.newTable();
    const layout = { name: 'Texts', system: {}, unitsMax };
    for (const add of lists) {
      const writes = await planRowListChange(gateway, at, layout, { add, remove: [] });
      await gateway.transact(writes);
    }
    assert.deepEqual(await readRowList(gateway, at, layout), lists.flat().sort());
    return (await rowKeysOf(gateway)).length;
  }

  it('goes on in further rows when it is one character too long for one', async () => {
    const units = listUnits(texts);
    assert.equal(await rowsFor([texts], units), 1);
    assert.equal(await rowsFor([texts], units - 1), 1 + 4);
  });

  it('cuts a further row when that is one character too long', async () => {
    const unitsMax = listUnits(texts) - 1;
    assert.equal(listUnits(['4', '41', '423']), unitsMax);
    assert.equal(await rowsFor([texts, ['41', '423']], unitsMax), 1 + 4);
    assert.equal(await rowsFor([texts, ['41', '4234']], unitsMax), 1 + 6);
  });
});

describe('a list in several rows that loses its first row', () => {
  it('takes texts in front of all others again', async () => {
    const { gateway } = await tables.newTable();
    const at = { partitionKey: 'p', rowKey: 'list' };
    const layout = { name: 'Texts', system: {}, unitsMax: listUnits(['1', '2', '3', '4']) - 1 };
    const changes = [
      { add: ['1', '2', '3', '4'], remove: [] },
      { add: [], remove: ['1'] },
      { add: ['0'], remove: [] },
    ];
    for (const change of changes) {
      await gateway.transact(await planRowListChange(gateway, at, layout, change));
    }
    assert.deepEqual(await readRowList(gateway, at, layout), ['0', '2', '3', '4']);
  });
});

describe('an intent', () => {
  it('brings what a copy includes up to date where its keys stay', async () => {
    const { places, employees } = await threeEmployees();
    await employees.merge(first, { firstName: 'Zoe' }, any);
    await drain(places, employees);
    const copy = await employees.by.company.get({ lastName: 'Jones', ...first });
    assert.equal(copy?.firstName, 'Zoe');
    await assertInStep(employees);
  });
});
