import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  DecodeError,
  codecOf,
  defineEntity,
  double,
  embedded,
  entitiesOf,
  instant,
  Instant,
  int32,
  json,
  key,
  list,
  plain,
  string,
  transaction,
  type CreateOf,
} from '../../src/modeling/index.js';
import { createDeterministicKey } from '../../src/modeling/encryption/deterministic-keys.js';
import { withEncryption } from '../../src/modeling/encryption/encrypted-table.js';
import { EncryptionError } from '../../src/modeling/encryption/encryption-error.js';
import { encryptedEquals } from '../../src/modeling/encryption/equality.js';
import { keyRing } from '../../src/modeling/encryption/key-wrapper.js';
import {
  largeJson,
  largePropertiesOf,
  largeString,
} from '../../src/modeling/patterns/large-entities/large-properties.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/large-table.js';
import { entityPayload } from '../../src/modeling/worker/index.js';
import { CountingKey } from './support/encryption-keys.js';
import { startTables } from './support/observed-tables.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

// Definitions whose properties are encrypted, large, or both.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const SecretEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    email: string().encrypted(),
    salary: double().encrypted().optional(),
    review: json<{ readonly grade: number }>().named('Review').encrypted().optional(),
    since: instant().encrypted().default(Instant.parse('2020-01-01T00:00:00.0000001Z')),
  },
});

const jones: CreateOf<typeof SecretEmployee> = {
  department: 'Sales',
  id: 123,
  lastName: 'Jones',
  email: 'jonesj@contoso.com',
  salary: 4711.5,
  review: { grade: 2 },
};

async function fixture() {
  const { gateway: table } = await tables.newTable();
  const kek = new CountingKey('kek-1');
  const deterministic = {
    properties: ['email'],
    keys: [await createDeterministicKey('d1', kek.kek)],
  };
  const options = { keys: keyRing(kek.kek), deterministic };
  const encrypted = withEncryption(table, options);
  return { table, encrypted, options, employees: entitiesOf(SecretEmployee, encrypted) };
}

describe('a definition with encrypted properties', () => {
  it('is inserted, read, replaced, updated and queried as any other', async () => {
    const { table, employees } = await fixture();
    const inserted = await employees.insert(jones);
    const read = await employees.get(jones);
    assert.deepEqual(read && plain(read), plain(inserted));
    assert.equal(read?.since.toString(), '2020-01-01T00:00:00.0000001Z');
    const stored = await table.get({ partitionKey: 'Sales', rowKey: 'empid_000123' });
    const types = ['email', 'salary', 'Review', 'since', 'lastName'].map(
      (name) => stored?.properties[name]?.type,
    );
    assert.deepEqual(types, ['Binary', 'Binary', 'Binary', 'Binary', 'String']);
    await employees.replace({ ...read, lastName: 'Smith' });
    const updated = await employees.update(jones, (now) => ({ ...now, salary: 5000 }));
    assert.equal(updated.salary, 5000);
    const found = await employees
      .query({ partition: jones, where: (p) => p.lastName.eq('Smith') })
      .toArray({ max: 10 });
    assert.deepEqual(found.map(plain), [plain(updated)]);
    const selected = await employees.get(jones, { select: ['email'] });
    assert.equal(selected?.email, 'jonesj@contoso.com');
  });

  it('is found by a deterministic property', async () => {
    const { encrypted, employees } = await fixture();
    await employees.insert(jones);
    await employees.insert({ ...jones, id: 124, email: 'smith@contoso.com' });
    const condition = await encryptedEquals(
      encrypted,
      SecretEmployee,
      'email',
      'jonesj@contoso.com',
    );
    const found = await employees
      .query({ partition: jones, where: (p) => p.lastName.eq('Jones').and(condition) })
      .toArray({ max: 10 });
    assert.deepEqual(
      found.map(({ id }) => id),
      [123],
    );
    const salary = encryptedEquals(encrypted, SecretEmployee, 'salary', 1);
    await assert.rejects(salary, /'salary' cannot be looked up/);
  });

  it('is written in transactions', async () => {
    const { encrypted, employees } = await fixture();
    await transaction(encrypted)
      .insert(SecretEmployee, jones)
      .insert(SecretEmployee, { ...jones, id: 124 })
      .run();
    assert.equal((await employees.get({ department: 'Sales', id: 124 }))?.salary, 4711.5);
  });

  it('is never stored in plain by a table that was opened without encryption', async () => {
    const { table, employees } = await fixture();
    const careless = entitiesOf(SecretEmployee, table);
    await assert.rejects(careless.insert(jones), /must be encrypted/);
    await assert.rejects(
      transaction(table).insert(SecretEmployee, jones).run(),
      /must be encrypted/,
    );
    await employees.insert(jones);
    await assert.rejects(careless.get(jones), /'email' that was not decrypted/);
  });

  it('is not taken in plain from whoever wrote it so', async () => {
    const { table, employees, options } = await fixture();
    const { encrypt: _, ...row } = codecOf(SecretEmployee).toRow(jones);
    await table.write({ kind: 'insert', row });
    await assert.rejects(employees.get(jones), (error: Error) => {
      assert.ok(error instanceof DecodeError);
      assert.match(error.message, /unencrypted: 'accept'/);
      return true;
    });
    const migrating = entitiesOf(
      SecretEmployee,
      withEncryption(table, { ...options, unencrypted: 'accept' }),
    );
    await migrating.update(jones, (now) => ({ ...now }));
    assert.equal((await employees.get(jones))?.email, jones.email);
  });

  it('keeps properties encrypted that it does not know', async () => {
    const { table, encrypted, employees } = await fixture();
    await employees.insert(jones);
    const Older = defineEntity({
      type: 'Employee',
      properties: { department: string(), id: int32(), lastName: string() },
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`empid_${p.id.padded(6)}`,
    });
    await entitiesOf(Older, encrypted).update(jones, (now) => ({ ...now, lastName: 'Smith' }));
    const stored = await table.get({ partitionKey: 'Sales', rowKey: 'empid_000123' });
    assert.equal(stored?.properties['salary']?.type, 'Binary');
    assert.deepEqual((await employees.get(jones))?.salary, 4711.5);
  });

  it('is not sent whole in a message when it has encrypted properties of a newer version', async () => {
    const { encrypted, employees } = await fixture();
    await employees.insert(jones);
    const { salary, since, review, email, ...properties } = SecretEmployee.properties;
    assert.ok(salary && since && review && email);
    const Older = defineEntity({ ...asEmployee, properties });
    const older = await entitiesOf(Older, encrypted).get(jones);
    assert.ok(older);
    const payload = entityPayload(Older);
    assert.throws(() => payload.encode(older), {
      name: 'ValueError',
      message: /'empid_000123'.* has encrypted properties \(.*salary.*\)/,
    });
    assert.doesNotThrow(() => payload.encode({ department: 'Sales', id: 1, lastName: 'Hall' }));
  });

  it('encrypts each property of an embedded object, and every item of a list', async () => {
    const { table, encrypted } = await fixture();
    const Person = defineEntity({
      type: 'Person',
      properties: {
        id: string(),
        home: embedded({ city: string(), zip: int32() }).encrypted(),
        names: list<string>().encrypted(),
      },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`person`,
    });
    const people = entitiesOf(Person, encrypted);
    const jones = { id: '1', home: { city: 'Redmond', zip: 98052 }, names: ['Jo', 'Jones'] };
    await people.insert(jones);
    const stored = await table.get({ partitionKey: '1', rowKey: 'person' });
    const types = ['home_city', 'home_zip', 'names'].map((name) => stored?.properties[name]?.type);
    assert.deepEqual(types, ['Binary', 'Binary', 'Binary']);
    const read = await people.get({ id: '1' });
    assert.deepEqual(read && plain(read), jones);
    const home = encryptedEquals(encrypted, Person, 'home', jones.home);
    await assert.rejects(home, /stored as several properties/);
  });

  it('cannot be merged: not by its types, and not at run time', async () => {
    const { employees, encrypted } = await fixture();
    await employees.insert(jones);
    // @ts-expect-error -- an encrypted entity takes no merge
    await assert.rejects(employees.merge(jones, { lastName: 'Smith' }, { ifMatch: 'any' }));
    await assert.rejects(employees.upsertMerge(jones), /encrypt/);
    const row = { ...codecOf(SecretEmployee).toRow(jones), partitionKey: 'HR' };
    await assert.rejects(encrypted.write({ kind: 'upsert-merge', row }), EncryptionError);
    assert.equal(await encrypted.get(row), undefined);
  });
});

describe('the types of encrypted properties', () => {
  it('keep them out of filters and keys', async () => {
    const { employees } = await fixture();
    // @ts-expect-error -- no filter finds an encrypted value
    assert.throws(() => employees.query({ partition: jones, where: (p) => p.email.eq('x') }));
    assert.throws(() =>
      defineEntity({
        type: 'Wrong',
        properties: { id: string(), secret: string().encrypted() },
        partitionKey: (p) => key`${p.id}`,
        // @ts-expect-error -- a key is always readable
        rowKey: (p) => key`${p.secret}`,
      }),
    );
  });

  it('let only encrypted properties be looked up deterministically', async () => {
    const { encrypted } = await fixture();
    // @ts-expect-error -- it is not encrypted, a filter finds it
    await assert.rejects(encryptedEquals(encrypted, SecretEmployee, 'lastName', 'Jones'));
    // @ts-expect-error -- a salary is a number
    await assert.rejects(encryptedEquals(encrypted, SecretEmployee, 'salary', 'much'));
  });
});

describe('a definition with large properties', () => {
  const Report = defineEntity({
    type: 'Report',
    properties: {
      year: int32(),
      name: string(),
      body: largeString(),
      data: largeJson<readonly number[]>().named('Data').encrypted().optional(),
    },
    partitionKey: (p) => key`${p.year.padded(4)}`,
    rowKey: (p) => key`${p.name}`,
  });
  const report = {
    year: 2024,
    name: 'all',
    body: 'é“ß'.repeat(700_000),
    data: Array.from({ length: 200_000 }, (_, index) => index),
  };

  it('keeps values of any size, encrypted ones among them', costly(), async () => {
    const { table, options } = await fixture();
    const properties = largePropertiesOf(Report);
    assert.deepEqual(properties, ['body', 'Data']);
    const whole = withEncryption(withLargeValues(table, { properties }), options);
    const reports = entitiesOf(Report, whole);
    await reports.insert(report);
    const read = await reports.get(report);
    assert.ok(read !== undefined);
    assert.deepEqual(plain(read), report);
    await reports.replace({ ...read, data: [1] });
    assert.deepEqual((await reports.get(report))?.data, [1]);
    const found = await reports.query({ partition: { year: 2024 } }).toArray({ max: 10 });
    assert.deepEqual(found.map(plain), [{ ...report, data: [1] }]);
  });

  it('offers no filter and no key for them', () => {
    const reports = entitiesOf(Report, withLargeValues(tablesNever));
    // @ts-expect-error -- parts of a text cannot be compared with
    assert.throws(() => reports.query({ partition: { year: 1 }, where: (p) => p.body.eq('x') }));
  });
});

const never = () => Promise.reject(new Error('nothing is sent'));
const tablesNever = { table: 'Never', get: never, write: never, transact: never, page: never };
