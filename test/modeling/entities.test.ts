import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import {
  ConditionFailedError,
  ContentionError,
  dateTime,
  defineEntity,
  embedded,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  etagOf,
  int32,
  key,
  openTable,
  plain,
  string,
  TableNotFoundError,
  timestampOf,
  ValueError,
} from '../../src/modeling/index.js';
import { startServer } from '../support/start-server.js';
import { LostAnswers } from './support/lost-answers.js';
import { startTables } from './support/observed-tables.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const DefaultedEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    email: string().optional(),
    level: int32().default(0),
    hiredAt: dateTime()
      .default(() => new Date(Date.UTC(2020, 0, 1)))
      .readOnly(),
    search: string().computed({ lastName: string() }, ({ lastName }) => lastName.toLowerCase()),
  },
});

const jones = { department: 'Sales', id: 223, lastName: 'Jones' };
const keyOfJones = { department: 'Sales', id: 223 };

async function newEmployees() {
  const table = await tables.newTable();
  return { ...table, employees: entitiesOf(DefaultedEmployee, table.gateway) };
}

describe('entities', () => {
  it('inserts with one request and gives what is stored', async () => {
    const { employees, takeKinds } = await newEmployees();
    const inserted = await employees.insert(jones);
    assert.deepEqual(takeKinds(), ['insert']);
    const read = await employees.get(keyOfJones);
    assert.deepEqual(takeKinds(), ['point-read']);
    assert.ok(read !== undefined);
    assert.deepEqual(plain(read), plain(inserted));
    assert.deepEqual(plain(read), {
      ...jones,
      level: 0,
      hiredAt: new Date(Date.UTC(2020, 0, 1)),
      search: 'jones',
    });
    assert.equal(etagOf(read), etagOf(inserted));
    assert.ok(timestampOf(read) !== undefined);
    assert.equal(timestampOf(inserted), undefined);
  });

  it('refuses names that the definition does not declare, before anything is sent', async () => {
    const { employees, takeKinds } = await newEmployees();
    const inserted = await employees.insert(jones);
    takeKinds();
    const misspelt: typeof jones = Object.assign({ emial: 'jones@contoso.com' }, jones);
    const refusal = {
      name: 'ValueError',
      message: "Employee has no property 'emial'; did you mean 'email'?",
    };
    await assert.rejects(employees.insert(misspelt), refusal);
    await assert.rejects(employees.upsertReplace(misspelt), refusal);
    await assert.rejects(employees.upsertMerge(misspelt), refusal);
    await assert.rejects(employees.replace({ ...inserted, ...misspelt }), refusal);
    await assert.rejects(
      employees.merge(inserted, { emial: 'jones@contoso.com' } as object),
      refusal,
    );
    assert.deepEqual(takeKinds(), []);
    await assert.rejects(
      employees.update(keyOfJones, (current): typeof inserted => ({ ...current, ...misspelt })),
      refusal,
    );
    assert.deepEqual(takeKinds(), ['point-read']);
  });

  it('refuses names that an embedded object does not declare', async () => {
    const { gateway } = await tables.newTable();
    const Place = defineEntity({
      type: 'Place',
      properties: { id: string(), address: embedded({ city: string(), zip: string().optional() }) },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`place`,
    });
    const address: { readonly city: string } = Object.assign({ zpi: '00118' }, { city: 'Rome' });
    await assert.rejects(entitiesOf(Place, gateway).insert({ id: '1', address }), {
      name: 'ValueError',
      message: "Place.address: the embedded object has no property 'zpi'; did you mean 'zip'?",
    });
  });

  it('gives undefined for an absent entity, and an error for an absent table', async () => {
    const { employees } = await newEmployees();
    assert.equal(await employees.get(keyOfJones), undefined);
    const nowhere = entitiesOf(DefaultedEmployee, openTable(tables.clientOf('nowhere')));
    await assert.rejects(nowhere.get(keyOfJones), TableNotFoundError);
  });

  it('refuses a second insert after looking whether the first was its own', async () => {
    const { employees, takeKinds } = await newEmployees();
    await employees.insert(jones);
    takeKinds();
    await assert.rejects(employees.insert(jones), (error: unknown) => {
      assert.ok(error instanceof EntityExistsError);
      assert.equal(error.status, 409);
      assert.ok(error.cause !== undefined);
      assert.deepEqual(error.request, {
        table: employees.table.table,
        operation: 'insert',
        partitionKey: 'Sales',
        rowKey: 'empid_000223',
      });
      return true;
    });
    assert.deepEqual(takeKinds(), ['insert', 'point-read']);
  });

  it('replaces only what was read, and drops properties that are left out', async () => {
    const { employees, takeKinds } = await newEmployees();
    const first = await employees.insert({ ...jones, email: 'jonesj@contoso.com' });
    const { email, ...without } = first;
    assert.equal(email, 'jonesj@contoso.com');
    takeKinds();
    const second = await employees.replace({ ...without, level: 2 });
    assert.deepEqual(takeKinds(), ['update']);
    assert.equal('email' in second, false);
    await assert.rejects(employees.replace({ ...first, level: 3 }), ConditionFailedError);
    await assert.rejects(employees.replace(plain(second)), ValueError);
    const third = await employees.replace({ ...plain(second), level: 4 }, { ifMatch: 'any' });
    assert.deepEqual(plain((await employees.get(keyOfJones)) ?? third), plain(third));
    assert.equal(third.level, 4);
  });

  it('never moves an entity to other keys', async () => {
    const { employees, takeKinds } = await newEmployees();
    const inserted = await employees.insert(jones);
    takeKinds();
    await assert.rejects(employees.replace({ ...inserted, id: 224 }), /keys never change/);
    await assert.rejects(
      employees.update(keyOfJones, (now) => ({ ...now, department: 'Marketing' })),
      /keys never change/,
    );
    assert.deepEqual(takeKinds(), ['point-read']);
  });

  it('merges what changes, computed properties with it', async () => {
    const { employees, takeKinds } = await newEmployees();
    const inserted = await employees.insert({ ...jones, email: 'a@b' });
    takeKinds();
    const { etag } = await employees.merge(inserted, { lastName: 'Smith' });
    assert.deepEqual(takeKinds(), ['update']);
    const read = await employees.get(keyOfJones);
    assert.deepEqual(
      [read?.lastName, read?.search, read?.email, read && etagOf(read)],
      ['Smith', 'smith', 'a@b', etag],
    );
    await assert.rejects(employees.merge(inserted, { level: 1 }), ConditionFailedError);
    // @ts-expect-error -- the values of keys carry no ETag
    await assert.rejects(employees.merge(keyOfJones, { level: 1 }), ValueError);
    await employees.merge(keyOfJones, { level: 1 }, { ifMatch: 'any' });
    await assert.rejects(
      employees.merge({ ...keyOfJones, id: 1 }, { level: 1 }, { ifMatch: 'any' }),
      EntityNotFoundError,
    );
  });

  it('upserts with one request, whatever is there', async () => {
    const { employees, takeKinds } = await newEmployees();
    await employees.upsertReplace({ ...jones, email: 'a@b', level: 7 });
    await employees.upsertMerge({ ...jones, lastName: 'Smith' });
    assert.deepEqual(takeKinds(), ['update', 'update']);
    const read = await employees.get(keyOfJones);
    assert.deepEqual([read?.lastName, read?.email, read?.level], ['Smith', 'a@b', 7]);
    await employees.upsertReplace(jones);
    assert.equal((await employees.get(keyOfJones))?.email, undefined);
  });

  it('deletes with one request, and tells whether there was something', async () => {
    const { employees, takeKinds } = await newEmployees();
    const inserted = await employees.insert(jones);
    const changed = await employees.replace({ ...inserted, level: 1 });
    takeKinds();
    await assert.rejects(employees.delete(inserted), ConditionFailedError);
    // @ts-expect-error -- the values of keys carry no ETag
    await assert.rejects(employees.delete(keyOfJones), ValueError);
    await employees.delete(changed);
    await assert.rejects(employees.delete(keyOfJones, { ifMatch: 'any' }), EntityNotFoundError);
    assert.equal(await employees.deleteIfExists(keyOfJones), false);
    assert.deepEqual(takeKinds(), ['delete', 'delete', 'delete', 'delete']);
    await employees.insert(jones);
    assert.equal(await employees.deleteIfExists(keyOfJones), true);
  });

  it('inserts what is absent, and leaves what is there as it is', async () => {
    const { employees, takeKinds } = await newEmployees();
    const inserted = await employees.insertIfAbsent(jones);
    assert.equal(inserted?.lastName, 'Jones');
    assert.deepEqual(takeKinds(), ['insert']);
    assert.equal(await employees.insertIfAbsent({ ...jones, lastName: 'Smith' }), undefined);
    assert.deepEqual(takeKinds(), ['insert', 'point-read']);
    assert.equal((await employees.get(keyOfJones))?.lastName, 'Jones');
  });

  it('reads only what is selected, and does not write such an entity back', async () => {
    const { employees } = await newEmployees();
    await employees.insert({ ...jones, email: 'a@b' });
    const read = await employees.get(keyOfJones, { select: ['lastName'] });
    assert.ok(read !== undefined);
    assert.deepEqual(plain(read), jones);
    const whole = await employees.get(keyOfJones);
    assert.ok(whole !== undefined);
    await assert.rejects(employees.replace({ ...whole, ...read }), /only some properties/);
  });

  it('keeps what it does not know when it replaces', async () => {
    const { employees, gateway } = await newEmployees();
    const inserted = await employees.insert(jones);
    await gateway.write({
      kind: 'merge',
      etag: '*',
      row: {
        partitionKey: 'Sales',
        rowKey: 'empid_000223',
        properties: {
          Foreign: { type: 'Int64', value: 5n },
          hiredAt: { type: 'DateTime', value: 637_000_000_000_000_003n },
        },
      },
    });
    await employees.update(inserted, (now) => ({ ...now, level: 1 }));
    const row = await gateway.get({ partitionKey: 'Sales', rowKey: 'empid_000223' });
    assert.deepEqual(row?.properties['Foreign'], { type: 'Int64', value: 5n });
    assert.deepEqual(row?.properties['hiredAt']?.value, 637_000_000_000_000_003n);
    assert.deepEqual(row?.properties['level']?.value, 1);
  });
});

describe('entities of an older version', async () => {
  const keys = { partitionKey: () => key`people` };
  const Old = defineEntity({
    type: 'Person',
    properties: { id: int32(), name: string() },
    ...keys,
    rowKey: (p) => key`${p.id.padded(4)}`,
  });
  const New = defineEntity({
    type: 'Person',
    version: 2,
    properties: { id: int32(), first: string(), last: string() },
    ...keys,
    rowKey: (p) => key`${p.id.padded(4)}`,
  }).upgrading(Old, ({ id, name }) => {
    const [first = '', last = ''] = name.split(' ');
    return { id, first, last };
  });
  const { gateway, takeKinds } = await tables.newTable();
  const old = entitiesOf(Old, gateway);
  const people = entitiesOf(New, gateway);

  it('are read as new ones, by every kind of read', async () => {
    await old.upsertReplace({ id: 1, name: 'Jo Jones' });
    const expected = { id: 1, first: 'Jo', last: 'Jones' };
    const read = await people.get({ id: 1 });
    assert.deepEqual(read && plain(read), expected);
    assert.deepEqual((await people.query({ partition: {} }).first(2)).map(plain), [expected]);
    const part = await people.get({ id: 1 }, { select: ['last'] });
    assert.deepEqual(part && plain(part), { id: 1, last: 'Jones' });
  });

  it('become new ones when they are replaced, and are not merged before', async () => {
    await old.upsertReplace({ id: 1, name: 'Jo Jones' });
    const read = await people.get({ id: 1 });
    assert.ok(read !== undefined);
    takeKinds();
    const changes = { first: 'Joe' };
    await assert.rejects(people.merge(read, changes), /still of version 1/);
    await assert.rejects(people.merge({ id: 1 }, changes, { ifMatch: 'any' }), /as it was read/);
    await assert.rejects(people.upsertMerge({ id: 1, first: 'a', last: 'b' }), ValueError);
    assert.deepEqual(takeKinds(), []);
    const changed = await people.update({ id: 1 }, (now) => ({ ...now, ...changes }));
    await people.merge(changed, { last: 'Smith' });
    const row = await gateway.get({ partitionKey: 'people', rowKey: '0001' });
    assert.deepEqual(
      [row?.properties['EntityVersion'], row?.properties['name'], row?.properties['last']],
      [{ type: 'Int32', value: 2 }, undefined, { type: 'String', value: 'Smith' }],
    );
    await assert.rejects(old.get({ id: 1 }), /of version 2/);
  });
});

describe('update', () => {
  it('takes one read and one update, and none when nothing changes', async () => {
    const { employees, takeKinds } = await newEmployees();
    await employees.insert(jones);
    takeKinds();
    const changed = await employees.update(keyOfJones, (now) => ({ ...now, level: now.level + 1 }));
    assert.equal(changed.level, 1);
    assert.deepEqual(takeKinds(), ['point-read', 'update']);
    const same = await employees.update(keyOfJones, () => undefined);
    assert.equal(same.level, 1);
    assert.deepEqual(takeKinds(), ['point-read']);
  });

  it('loses none of 16 concurrent changes', async () => {
    const { employees } = await newEmployees();
    const writers = Array.from({ length: 16 }, () =>
      employees.update(keyOfJones, (now) => ({ ...now, level: now.level + 1 }), {
        attemptsMax: 100,
        ifAbsent: () => ({ ...jones, level: 1 }),
      }),
    );
    await Promise.all(writers);
    assert.equal((await employees.get(keyOfJones))?.level, 16);
  });

  it('says when the entity is absent and when others are always faster', async () => {
    const { employees } = await newEmployees();
    await assert.rejects(
      employees.update(keyOfJones, (now) => now),
      EntityNotFoundError,
    );
    await employees.insert(jones);
    const beaten = employees.update(
      keyOfJones,
      async (now) => {
        await employees.merge(keyOfJones, { lastName: 'Smith' }, { ifMatch: 'any' });
        return { ...now, level: 9 };
      },
      { attemptsMax: 3 },
    );
    await assert.rejects(beaten, (error: unknown) => {
      assert.ok(error instanceof ContentionError);
      assert.ok(error.cause instanceof ConditionFailedError);
      return true;
    });
    assert.equal((await employees.get(keyOfJones))?.level, 0);
  });
});

describe('a write whose answer is lost', async () => {
  const started = await startServer();
  after(() => started[Symbol.asyncDispose]());
  let count = 0;

  async function openLossy(maxRetries: number, writeStamp: string | false = 'WriteStamp') {
    count += 1;
    const client = TableClient.fromConnectionString(
      started.server.connectionString(),
      `lossy${count}`,
      { allowInsecureConnection: true, retryOptions: { maxRetries, retryDelayInMs: 1 } },
    );
    await client.createTable();
    const lost = new LostAnswers();
    lost.install(client);
    const definition = defineEntity({
      type: 'Counter',
      properties: { name: string(), value: int32() },
      partitionKey: (p) => key`${p.name}`,
      rowKey: () => key`counter`,
      system: { writeStamp },
    });
    return { lost, counters: entitiesOf(definition, openTable(client)) };
  }

  for (const [manner, maxRetries] of [
    ['and the client repeats it', 3],
    ['and the client gives up', 0],
  ] as const) {
    it(`is recognised as an insert that succeeded, ${manner}`, async () => {
      const { lost, counters } = await openLossy(maxRetries);
      lost.lose(1, 'POST');
      const inserted = await counters.insert({ name: 'a', value: 1 });
      assert.equal(inserted.value, 1);
      assert.equal(lost.sent.filter((method) => method === 'POST').length, maxRetries > 0 ? 2 : 1);
      const read = await counters.get({ name: 'a' });
      assert.equal(read && etagOf(read), etagOf(inserted));
    });

    it(`is recognised as a replace or merge that succeeded, ${manner}`, async () => {
      const { lost, counters } = await openLossy(maxRetries);
      const inserted = await counters.insert({ name: 'a', value: 1 });
      lost.lose(1, 'PUT');
      const replaced = await counters.replace({ ...inserted, value: 2 });
      lost.lose(1, 'PATCH');
      const { etag } = await counters.merge(replaced, { value: 3 });
      const read = await counters.get({ name: 'a' });
      assert.deepEqual([read?.value, read && etagOf(read)], [3, etag]);
    });

    it(`changes once what update changes, ${manner}`, async () => {
      const { lost, counters } = await openLossy(maxRetries);
      await counters.insert({ name: 'a', value: 0 });
      const increment = () =>
        counters.update({ name: 'a' }, (now) => ({ ...now, value: now.value + 1 }));
      for (let round = 1; round <= 5; round++) {
        lost.lose(1, 'PUT');
        assert.equal((await increment()).value, round);
      }
    });
  }

  it('is found by its stamp although another writer came next', costly(), async () => {
    const { lost, counters } = await openLossy(0);
    await counters.insert({ name: 'a', value: 0 });
    const other = entitiesOf(counters.definition, counters.table);
    const increment = (entities: typeof counters) =>
      entities.update({ name: 'a' }, (now) => ({ ...now, value: now.value + 1 }));
    lost.lose(1, 'PUT');
    let interfered = false;
    const patient = entitiesOf(counters.definition, counters.table, {
      timers: {
        start: (_delayMs, callback, argument) => {
          const go = async () => {
            if (!interfered) await increment(other);
            interfered = true;
            callback(argument);
          };
          void go();
          return { close: () => undefined };
        },
      },
    });
    await increment(patient);
    assert.equal((await counters.get({ name: 'a' }))?.value, 2);
  });

  it('is an error where the definition keeps no stamps', async () => {
    const { lost, counters } = await openLossy(3, false);
    lost.lose(1, 'POST');
    await assert.rejects(counters.insert({ name: 'a', value: 1 }), EntityExistsError);
    const { lost: lostOnce, counters: impatient } = await openLossy(0, false);
    await impatient.insert({ name: 'a', value: 0 });
    lostOnce.lose(1, 'PUT');
    await assert.rejects(
      impatient.update({ name: 'a' }, (now) => ({ ...now, value: now.value + 1 })),
      /no answer/,
    );
  });
});
