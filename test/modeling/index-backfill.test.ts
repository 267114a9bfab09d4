import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { entitiesOf, key } from '../../src/modeling/index.js';
import {
  type BackfillPage,
  indexedEntitiesOf,
  indexEntity,
  indexTable,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { Employee } from './support/employees.js';
import { assertInStep, employee, meddled } from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { sampled, costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const any = { ifMatch: 'any' };

const indexes = withIndexes(Employee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  lastName: indexEntity({
    place: 'same-partition',
    rowKey: (p) => key`${p.lastName}`,
    listUnitsMax: 200,
  }),
  company: otherPartition({
    partitionKey: (p) => key`company_${p.lastName}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
    include: ['firstName'],
  }),
  town: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.town}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
    include: [],
  }),
  firstName: indexEntity({
    place: 'other-partition',
    partitionKey: (p) => key`first_${p.firstName}`,
    rowKey: () => key`EmployeeIDs`,
    listUnitsMax: 200,
  }),
});

type Name = keyof (typeof indexes)['declared'];
const names: readonly Name[] = ['email', 'lastName', 'company', 'town', 'firstName'];

async function newTable(count: number) {
  const main = await tables.newTable();
  const town = await tables.newTable();
  const alone = entitiesOf(Employee, main.gateway);
  for (let id = 0; id < count; id++) {
    const department = id % 3 === 0 ? 'Sales' : 'Marketing';
    const lastName = ['Jones', 'Smith'][id % 2] ?? '';
    const town = id % 4 === 0 ? 'Redmond' : undefined;
    await alone.insert(employee(id, { department, lastName, firstName: `F${id % 4}`, town }));
  }
  const open = () =>
    indexedEntitiesOf(indexes, {
      table: main.gateway,
      tables: { town: town.gateway },
      outbox: testOutbox(main.gateway),
    });
  const employees = open();
  const drain = () => drainOutbox(main.gateway, employees.handler);
  return { main, town, employees, open, drain };
}

async function pagesOf(pages: AsyncIterable<BackfillPage>): Promise<BackfillPage[]> {
  const all: BackfillPage[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

describe('backfill', () => {
  it('fills an index of each kind, and verifies it at the end', costly(), async () => {
    const { employees, drain } = await newTable(60);
    for (const name of names) {
      const pages = await pagesOf(employees.backfill(name));
      const written = pages.reduce((sum, page) => sum + page.written, 0);
      assert.equal(written, name === 'town' ? 15 : 60, name);
      assert.deepEqual([...new Set(pages.map(({ phase }) => phase))], ['fill', 'check']);
      assert.deepEqual(
        pages.flatMap(({ drifts }) => drifts),
        [],
      );
    }
    await assertInStep(employees);
    await drain();
  });

  it('writes many entities of a partition in one transaction', async () => {
    const { employees, main } = await newTable(60);
    main.takeKinds();
    await pagesOf(employees.backfill('email'));
    const kinds = main.takeKinds();
    // One transaction for the 20 of Sales and one for the 40 of Marketing.
    assert.equal(kinds.filter((kind) => kind === 'transaction').length, 2);
    assert.equal(kinds.filter((kind) => kind === 'insert').length, 0);
  });

  it('loses no change of the writers that work meanwhile', costly(), async () => {
    for (const name of sampled(names, 1)) {
      const { employees, open, drain } = await newTable(40);
      const filled = new AbortController();
      const writer = async (from: number): Promise<void> => {
        const mine = open();
        for (let step = 0; step < 200 && !filled.signal.aborted; step++) {
          const id = from + (step % 10);
          const department = id % 3 === 0 ? 'Sales' : 'Marketing';
          const at = { department, id };
          const changes = {
            email: `step${step}_${id}@x`,
            lastName: `Name${step % 3}`,
            firstName: `G${step % 2}`,
            town: 'Kirkland',
          };
          if (step % 7 === 3) await mine.deleteIfExists(at);
          else await mine.upsertMerge({ ...at, ...changes });
        }
      };
      const writers = [writer(0), writer(10), writer(20)];
      const pages = await pagesOf(employees.backfill(name, { pageRows: 10 }));
      filled.abort();
      await Promise.all(writers);
      assert.ok(pages.length > 4);
      await drain();
      const drifts = [];
      for await (const page of employees.verify({ indexes: [name] })) drifts.push(...page.drifts);
      assert.deepEqual(drifts, [], name);
    }
  });

  it('never stores the copy of an entity that has changed since it was read', async () => {
    const { employees, main } = await newTable(3);
    const at = { department: 'Sales', id: 0 };
    const meddling = meddled(main.gateway, 'transact', () =>
      employees.merge(at, { email: 'new@x' }, any),
    );
    const emails = withIndexes(Employee, { email: indexes.declared.email });
    const filling = indexedEntitiesOf(emails, { table: meddling });
    for await (const { phase } of filling.backfill('email')) if (phase === 'fill') break;
    const copies = await filling.by.email.scanTable().toArray({ max: 10 });
    assert.deepEqual(copies.map(({ email }) => email).sort(), [
      'mail1@contoso.com',
      'mail2@contoso.com',
      'new@x',
    ]);
  });

  it('goes on from the cursor of any page, in another process', costly(), async () => {
    const { open } = await newTable(33);
    let cursor: string | undefined;
    let written = 0;
    const phases = new Set<string>();
    do {
      const options = { pageRows: 10, ...(cursor === undefined ? {} : { cursor }) };
      for await (const page of open().backfill('company', options)) {
        cursor = page.cursor;
        written += page.written;
        phases.add(page.phase);
        break;
      }
    } while (cursor !== undefined);
    assert.equal(written, 33);
    assert.equal(phases.size, 2);
    const drifts = [];
    for await (const page of open().verify({ indexes: ['company'] })) drifts.push(...page.drifts);
    assert.deepEqual(drifts, []);
  });

  it('finds everything there when it runs again', costly(), async () => {
    const { employees } = await newTable(20);
    for (const name of names) {
      await pagesOf(employees.backfill(name));
      const pages = await pagesOf(employees.backfill(name));
      assert.deepEqual(
        pages.flatMap(({ drifts }) => drifts),
        [],
      );
    }
    await assertInStep(employees);
  });

  it('tells values that several entities have, and indexes the others', async () => {
    const { employees, main } = await newTable(10);
    const alone = entitiesOf(Employee, main.gateway);
    const at = (id: number) => ({ department: 'Marketing', id });
    await alone.merge(at(1), { email: 'same@x' }, any);
    await alone.merge(at(2), { email: 'same@x' }, any);
    const pages = await pagesOf(employees.backfill('email'));
    const drifts = pages.flatMap(({ drifts }) => drifts);
    assert.deepEqual([...new Set(drifts.map(({ kind }) => kind))], ['taken']);
    assert.deepEqual([...new Set(drifts.map(({ primary }) => primary.rowKey))], ['empid_000002']);
    const copies = employees.by.email.scanTable();
    assert.equal((await copies.toArray({ max: 20 })).length, 9);
  });
});
