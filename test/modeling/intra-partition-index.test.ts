import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  ConditionFailedError,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  key,
  plain,
} from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  IndexValueTakenError,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { rowKeysOf } from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { Employee } from './support/employees.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const indexes = withIndexes(Employee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  badge: samePartition({
    sparse: true,
    rowKey: (p) => key`badge_${p.badge.padded(4)}`,
    include: ['firstName'],
  }),
  locker: samePartition({ sparse: true, rowKey: (p) => key`locker_${p.locker}`, include: [] }),
});

const jones = {
  department: 'Sales',
  id: 223,
  firstName: 'Jun',
  lastName: 'Jones',
  email: 'jonesj@contoso.com',
};
const keyOfJones = { department: 'Sales', id: 223 };

async function newEmployees() {
  const table = await tables.newTable();
  return { ...table, employees: indexedEntitiesOf(indexes, { table: table.gateway }) };
}

describe('an intra-partition index', () => {
  it('stores a copy under another RowKey in one transaction, and finds it by a point read', async () => {
    const { employees, gateway, takeKinds } = await newEmployees();
    await employees.insert(jones);
    assert.deepEqual(takeKinds(), ['transaction']);
    assert.deepEqual(await rowKeysOf(gateway), [
      'Sales/email_jonesj@contoso.com',
      'Sales/empid_000223',
    ]);
    takeKinds();
    const copy = await employees.by.email.get({ department: 'Sales', email: 'jonesj@contoso.com' });
    assert.deepEqual(takeKinds(), ['point-read']);
    assert.deepEqual(copy === undefined ? undefined : plain(copy), jones);
  });

  it('reads ranges of both keys as the guide writes them', async () => {
    const { employees } = await newEmployees();
    for (const [id, email] of [
      [99, 'a@contoso.com'],
      [100, 'ab@contoso.com'],
      [199, 'b@contoso.com'],
      [200, 'c@contoso.com'],
    ] as const) {
      await employees.insert({ ...jones, id, email });
    }
    const byId = employees.query({
      partition: { department: 'Sales' },
      rowKeyFrom: { id: 100 },
      rowKeyTo: { id: 199 },
    });
    assert.equal(byId.plan.class, 'range');
    assert.deepEqual(byId.plan.filters, [
      "PartitionKey eq 'Sales' and RowKey ge 'empid_000100' and RowKey le 'empid_000199'",
    ]);
    assert.deepEqual(
      (await byId.toArray({ max: 10 })).map(({ id }) => id),
      [100, 199],
    );
    const byEmail = employees.by.email.query({
      partition: { department: 'Sales' },
      rowKeyFrom: { email: 'a' },
      rowKeyBefore: { email: 'b' },
    });
    assert.deepEqual(byEmail.plan.filters, [
      "PartitionKey eq 'Sales' and RowKey ge 'email_a' and RowKey lt 'email_b'",
    ]);
    assert.deepEqual(
      (await byEmail.toArray({ max: 10 })).map(({ id }) => id),
      [99, 100],
    );
    const all = employees.query({ partition: { department: 'Sales' } });
    assert.deepEqual(
      (await all.toArray({ max: 10 })).map(({ id }) => id),
      [99, 100, 199, 200],
    );
  });

  it('moves the copy with its value, and reads the entity first', async () => {
    const { employees, gateway, takeKinds } = await newEmployees();
    const stored = await employees.insert(jones);
    takeKinds();
    await employees.replace({ ...stored, email: 'jun@contoso.com' });
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'transaction']);
    assert.deepEqual(await rowKeysOf(gateway), [
      'Sales/email_jun@contoso.com',
      'Sales/empid_000223',
    ]);
    await employees.merge(keyOfJones, { firstName: 'June' }, { ifMatch: 'any' });
    const copy = await employees.by.email.get({ department: 'Sales', email: 'jun@contoso.com' });
    assert.equal(copy?.firstName, 'June');
    await employees.update(keyOfJones, (current) => ({ ...current, email: 'j@contoso.com' }));
    await employees.delete(keyOfJones, { ifMatch: 'any' });
    assert.deepEqual(await rowKeysOf(gateway), []);
  });

  it('leaves the copy of another entity alone that had the value first', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert(jones);
    const second = { department: 'Sales', id: 224 };
    await entitiesOf(Employee, gateway).insert({ ...jones, ...second });
    const owner = async () =>
      (await employees.by.email.get({ department: 'Sales', email: jones.email }))?.id;
    await employees.merge(second, { firstName: 'June' }, { ifMatch: 'any' });
    assert.equal(await owner(), 223);
    await employees.merge(second, { email: 'other@contoso.com' }, { ifMatch: 'any' });
    assert.equal(await owner(), 223);
    await employees.delete(second, { ifMatch: 'any' });
    assert.equal(await owner(), 223);
    assert.deepEqual(await rowKeysOf(gateway), [
      'Sales/email_jonesj@contoso.com',
      'Sales/empid_000223',
    ]);
  });

  it('sends a single update when no copy changes', async () => {
    const { employees, takeKinds } = await newEmployees();
    const byBadge = withIndexes(Employee, {
      badge: samePartition({ sparse: true, rowKey: (p) => key`badge_${p.badge.padded(4)}` }),
    });
    const table = await tables.newTable();
    const badged = indexedEntitiesOf(byBadge, { table: table.gateway });
    await badged.insert(jones);
    await badged.merge(keyOfJones, { firstName: 'June' }, { ifMatch: 'any' });
    assert.deepEqual(table.takeKinds(), ['insert', 'point-read', 'update']);
    await employees.insert(jones);
    assert.deepEqual(takeKinds(), ['transaction']);
  });

  it('leaves out of a sparse index what is absent, and not what is 0 or the empty text', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert({ ...jones, badge: 0, locker: '' });
    await employees.insert({ ...jones, id: 224, email: 'other@contoso.com' });
    assert.deepEqual(
      (await rowKeysOf(gateway)).filter((name) => /badge|locker/.test(name)),
      ['Sales/badge_0000', 'Sales/locker_'],
    );
    const badge = await employees.by.badge.get({ department: 'Sales', badge: 0 });
    assert.deepEqual(badge === undefined ? undefined : plain(badge), {
      department: 'Sales',
      id: 223,
      firstName: 'Jun',
      badge: 0,
    });
    const found = await employees.by.locker.entity({ department: 'Sales', locker: '' });
    assert.equal(found?.id, 223);
    await employees.update(keyOfJones, (current) => ({ ...current, badge: undefined }));
    assert.equal(await employees.by.badge.get({ department: 'Sales', badge: 0 }), undefined);
  });

  it('indexes by a condition that a value can change', async () => {
    const table = await tables.newTable();
    const active = withIndexes(Employee, {
      short: samePartition({
        rowKey: (p) => key`short_${p.lastName}`,
        when: ({ lastName }) => lastName.length < 6,
      }),
    });
    const employees = indexedEntitiesOf(active, { table: table.gateway });
    await employees.insert(jones);
    assert.ok(await employees.by.short.get({ department: 'Sales', lastName: 'Jones' }));
    await employees.merge(keyOfJones, { lastName: 'Johnson' }, { ifMatch: 'any' });
    assert.deepEqual(await rowKeysOf(table.gateway), ['Sales/empid_000223']);
  });

  it('refuses a second entity with the same value, and writes nothing of it', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert(jones);
    const before = await rowKeysOf(gateway);
    await assert.rejects(employees.insert({ ...jones, id: 224 }), IndexValueTakenError);
    await assert.rejects(employees.insertIfAbsent({ ...jones, id: 224 }), IndexValueTakenError);
    await employees.insert({ ...jones, id: 225, email: 'other@contoso.com' });
    await assert.rejects(
      employees.merge(
        { department: 'Sales', id: 225 },
        { email: 'jonesj@contoso.com' },
        { ifMatch: 'any' },
      ),
      IndexValueTakenError,
    );
    assert.deepEqual(
      (await rowKeysOf(gateway)).filter((name) => !/225|other/.test(name)),
      before,
    );
  });

  it('takes the place of a copy that no entity wants any more', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert(jones);
    await gateway.write({
      kind: 'delete',
      key: { partitionKey: 'Sales', rowKey: 'empid_000223' },
      etag: '*',
    });
    await employees.insert({ ...jones, id: 224 });
    const copy = await employees.by.email.get({ department: 'Sales', email: jones.email });
    assert.equal(copy?.id, 224);
  });

  it('mends a copy that was lost with the next change of its value', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert(jones);
    await gateway.write({
      kind: 'delete',
      key: { partitionKey: 'Sales', rowKey: 'email_jonesj@contoso.com' },
      etag: '*',
    });
    await employees.merge(keyOfJones, { email: 'jun@contoso.com' }, { ifMatch: 'any' });
    assert.deepEqual(await rowKeysOf(gateway), [
      'Sales/email_jun@contoso.com',
      'Sales/empid_000223',
    ]);
    await employees.delete(keyOfJones, { ifMatch: 'any' });
    assert.deepEqual(await rowKeysOf(gateway), []);
  });

  it('refuses what the service would refuse of the entity alone', async () => {
    const { employees } = await newEmployees();
    const stored = await employees.insert(jones);
    await assert.rejects(employees.insert({ ...jones, email: 'x' }), EntityExistsError);
    assert.equal(await employees.insertIfAbsent({ ...jones, email: 'x' }), undefined);
    await employees.merge(keyOfJones, { firstName: 'June' }, { ifMatch: 'any' });
    await assert.rejects(employees.replace(stored), ConditionFailedError);
    await assert.rejects(employees.delete(stored), ConditionFailedError);
    const absent = { department: 'Sales', id: 9 };
    await assert.rejects(
      employees.merge(absent, { firstName: 'x' }, { ifMatch: 'any' }),
      EntityNotFoundError,
    );
    await assert.rejects(
      employees.update(absent, (each) => each),
      EntityNotFoundError,
    );
    assert.equal(await employees.deleteIfExists(absent), false);
  });

  it('creates and replaces by upserts', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.upsertReplace(jones);
    await employees.upsertMerge({ ...jones, email: 'one@contoso.com', badge: 7 });
    await employees.upsertReplace({ ...jones, email: 'two@contoso.com' });
    assert.deepEqual(await rowKeysOf(gateway), [
      'Sales/email_two@contoso.com',
      'Sales/empid_000223',
    ]);
  });
});
