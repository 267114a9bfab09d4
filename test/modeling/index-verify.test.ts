import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { byLength, costly } from '../support/run-length.js';
import { entitiesOf, type RowKey, type TableGateway } from '../../src/modeling/index.js';
import { Employee } from './support/employees.js';
import {
  allRows,
  assertInStep,
  drain,
  driftsOf,
  employee,
  meddled,
  openEmployees,
  type Employees,
} from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const any = { ifMatch: 'any' };

async function newEmployees(count: number) {
  const [main, town, first] = [
    await tables.newTable(),
    await tables.newTable(),
    await tables.newTable(),
  ];
  const places = { table: main.gateway, town: town.gateway, firstName: first.gateway };
  const employees = openEmployees(places);
  const names = ['Jones', 'Smith', 'Taylor'];
  for (let id = 0; id < count; id++) {
    const lastName = names[id % 3] ?? 'Jones';
    const town = id % 2 === 0 ? `Town${id % 4}` : undefined;
    await employees.insert(employee(id, { lastName, firstName: `F${id % 5}`, town }));
  }
  await drain(places, employees);
  return { places, employees, takeKinds: main.takeKinds, main };
}

function summaryOf({ kind, index, primary, key }: Awaited<ReturnType<typeof driftsOf>>[number]) {
  return `${kind} ${index} ${key.partitionKey}/${key.rowKey} of ${primary.rowKey}`;
}

async function summaries(employees: Employees): Promise<string[]> {
  return (await driftsOf(employees.verify())).map(summaryOf).sort();
}

async function remove(table: TableGateway, partitionKey: string, rowKey: string): Promise<void> {
  await table.write({ kind: 'delete', key: { partitionKey, rowKey }, etag: '*' });
}

const primaryKey = (id: number): RowKey => ({
  partitionKey: 'Sales',
  rowKey: `empid_${String(id).padStart(6, '0')}`,
});

describe('verify', () => {
  it('finds nothing where nothing drifted', costly(), async () => {
    const { employees } = await newEmployees(20);
    await assertInStep(employees);
    let checked = 0;
    for await (const page of employees.verify()) checked += page.checked;
    // 20 entities in four indexes and 10 in a fifth, each counted from both sides.
    assert.equal(checked, 2 * (20 * 4 + 10));
  });

  it('tells what outside writers have left behind, of each index', costly(), async () => {
    const { employees, places } = await newEmployees(6);
    const alone = entitiesOf(Employee, places.table);
    // Written without the indexes: a new entity, a changed one and a deleted one.
    await alone.insert(employee(7, { town: 'Town9' }));
    await alone.merge(
      { department: 'Sales', id: 0 },
      { email: 'x@x', town: 'Town8', firstName: 'F9' },
      any,
    );
    await alone.delete({ department: 'Sales', id: 1 }, any);
    assert.deepEqual(await summaries(employees), [
      'dangling company company_Smith/Sales_000001 of empid_000001',
      'dangling email Sales/email_mail0@contoso.com of empid_000000',
      'dangling email Sales/email_mail1@contoso.com of empid_000001',
      'dangling firstName F0/EmployeeIDs of empid_000000',
      'dangling firstName F1/EmployeeIDs of empid_000001',
      'dangling lastName Sales/Smith of empid_000001',
      'dangling town Town0/Jones_Sales_000000 of empid_000000',
      'missing company company_Jones/Sales_000007 of empid_000007',
      'missing email Sales/email_mail7@contoso.com of empid_000007',
      'missing email Sales/email_x@x of empid_000000',
      'missing firstName F9/EmployeeIDs of empid_000000',
      'missing firstName Jun/EmployeeIDs of empid_000007',
      'missing lastName Sales/Jones of empid_000007',
      'missing town Town8/Jones_Sales_000000 of empid_000000',
      'missing town Town9/Jones_Sales_000007 of empid_000007',
      'stale company company_Jones/Sales_000000 of empid_000000',
    ]);
    const stale = (await driftsOf(employees.verify())).find(({ kind }) => kind === 'stale');
    assert.deepEqual(stale?.kind === 'stale' ? stale.names : [], ['firstName']);
  });

  it('reads one index alone, and changes nothing', costly(), async () => {
    const { employees, places, main } = await newEmployees(6);
    await remove(places.town, 'Town0', 'Jones_Sales_000000');
    await remove(places.table, 'Sales', 'email_mail1@contoso.com');
    const before = await allRows(places.table);
    main.takeKinds();
    const drifts = await driftsOf(employees.verify({ indexes: ['town'] }));
    assert.deepEqual(drifts.map(summaryOf), [
      'missing town Town0/Jones_Sales_000000 of empid_000000',
    ]);
    assert.ok(main.takeKinds().every((kind) => kind === 'query' || kind === 'point-read'));
    assert.deepEqual(await allRows(places.table), before);
  });

  it('goes on from the cursor of any page, in another process', async () => {
    const { employees, places } = await newEmployees(12);
    await remove(places.town, 'Town0', 'Jones_Sales_000000');
    await remove(places.table, 'Sales', 'email_mail11@contoso.com');
    const whole = await summaries(employees);
    assert.equal(whole.length, 2);
    const found: string[] = [];
    let cursor: string | undefined;
    let runs = 0;
    do {
      const again = openEmployees(places);
      const options = { pageRows: 5, ...(cursor === undefined ? {} : { cursor }) };
      for await (const page of again.verify(options)) {
        found.push(...page.drifts.map(summaryOf));
        cursor = page.cursor;
        break;
      }
      runs += 1;
    } while (cursor !== undefined);
    assert.ok(runs > 5, `${runs} runs`);
    assert.deepEqual([...new Set(found)].sort(), whole);
    await assert.rejects(driftsOf(employees.verify({ cursor: 'x' })), /no cursor/);
  });

  it('tells rows that cannot be read, and goes on', async () => {
    const { employees, places } = await newEmployees(3);
    const { partitionKey, rowKey } = primaryKey(1);
    const id = { type: 'String' as const, value: 'Employee' };
    const row = { partitionKey, rowKey, properties: { EntityType: id } };
    await places.table.write({ kind: 'upsert-replace', row });
    await remove(places.table, 'Sales', 'email_mail2@contoso.com');
    const drifts = await driftsOf(employees.verify({ indexes: ['email'] }));
    assert.deepEqual([...new Set(drifts.map(({ kind }) => kind))].sort(), [
      'missing',
      'unreadable',
    ]);
    const unreadable = drifts.find(({ kind }) => kind === 'unreadable');
    assert.match(unreadable?.kind === 'unreadable' ? unreadable.reason : '', /lacks 'firstName'/);
  });
});

describe('rebuild', () => {
  it('mends whatever drifted, while others write', costly(), async () => {
    const { employees, places } = await newEmployees(30);
    const alone = entitiesOf(Employee, places.table);
    for (let id = 0; id < 30; id += 3) {
      const changes = { email: `new${id}@x`, firstName: 'F0', town: 'Town1', lastName: 'Moved' };
      await alone.merge({ department: 'Sales', id }, changes, any);
    }
    for (let id = 1; id < 30; id += 7) await alone.delete({ department: 'Sales', id }, any);
    for (let id = 30; id < 34; id++) await alone.insert(employee(id));
    const writing = (async () => {
      for (let id = 40; id < byLength({ short: 48, long: 60 }); id++) {
        await employees.insert(employee(id, { lastName: 'Moved', town: 'Town1' }));
        await employees.merge({ department: 'Sales', id }, { lastName: 'Smith' }, any);
      }
    })();
    let repaired = 0;
    for await (const page of employees.rebuild({ pageRows: 20 })) repaired += page.repaired;
    await writing;
    assert.ok(repaired > 40, `${repaired} repaired`);
    await drain(places, employees);
    for await (const page of employees.rebuild()) assert.deepEqual(page.drifts, []);
    await assertInStep(employees);
  });

  it('never stores the row of an entity that has changed since it was read', costly(), async () => {
    for (const index of ['email', 'lastName'] as const) {
      const { employees, places } = await newEmployees(3);
      const gone = index === 'email' ? 'email_mail0@contoso.com' : 'Jones';
      await remove(places.table, 'Sales', gone);
      const changes = { email: 'new@x', lastName: 'Moved' };
      const table = meddled(places.table, 'transact', () =>
        employees.merge({ department: 'Sales', id: 0 }, changes, any),
      );
      const options = { indexes: [index], pageRows: 1000, concurrency: 1 };
      await driftsOf(openEmployees({ ...places, table }).rebuild(options));
      await drain(places, employees);
      await assertInStep(employees);
    }
  });

  it('makes indexes anew whose rows are all gone', costly(), async () => {
    const { employees, places } = await newEmployees(25);
    for (const table of [places.table, places.town, places.firstName]) {
      for (const row of await allRows(table)) {
        if (row.properties['EntityType']?.value === 'Employee') continue;
        await table.write({ kind: 'delete', key: row, etag: '*' });
      }
    }
    for await (const page of employees.rebuild()) assert.deepEqual(page.drifts, []);
    await assertInStep(employees);
    const smiths = await employees.by.lastName.keys({ department: 'Sales', lastName: 'Smith' });
    assert.equal(smiths.length, 8);
  });

  it('leaves what only people can mend, and tells it', async () => {
    const { employees, places } = await newEmployees(3);
    const alone = entitiesOf(Employee, places.table);
    await alone.merge({ department: 'Sales', id: 2 }, { email: 'mail1@contoso.com' }, any);
    const drifts = await driftsOf(employees.rebuild({ indexes: ['email'] }));
    assert.deepEqual(drifts.map(summaryOf), [
      'taken email Sales/email_mail1@contoso.com of empid_000002',
    ]);
    await employees.merge({ department: 'Sales', id: 1 }, { email: 'free@x' }, any);
    assert.deepEqual(await driftsOf(employees.rebuild({ indexes: ['email'] })), []);
    await drain(places, employees);
    await assertInStep(employees);
  });
});
