import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  DefinitionError,
  defineEntity,
  entitiesOf,
  int32,
  key,
  plain,
  string,
  ValueError,
  type TableGateway,
} from '../../src/modeling/index.js';
import { oneToManyOf } from '../../src/modeling/patterns/relations/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import {
  indexedEntitiesOf,
  indexEntity,
  indexTable,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { withEncryption } from '../../src/modeling/encryption/encrypted-table.js';
import { keyRing } from '../../src/modeling/encryption/key-wrapper.js';
import { CountingKey } from './support/encryption-keys.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { allRows, assertInStep, driftsOf } from './support/indexed-employees.js';
import { keyOfWrite } from '../../src/modeling/table/gateway.js';
import { startTables } from './support/observed-tables.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const PaidEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    lastName: string(),
    email: string(),
    salary: string().encrypted(),
  },
});

const indexes = withIndexes(PaidEmployee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  lastName: indexEntity({ place: 'same-partition', rowKey: (p) => key`name_${p.lastName}` }),
  company: otherPartition({
    partitionKey: (p) => key`company_${p.lastName}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
    include: ['salary'],
  }),
});

const Team = defineEntity({
  type: 'Team',
  properties: { department: string(), people: int32().default(0) },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`team`,
});
const Noted = defineEntity({
  type: 'Noted',
  properties: { department: string(), id: int32(), email: string(), note: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});
const notedIndexesOf = (noted: typeof Noted) =>
  withIndexes(noted, {
    email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
    apart: otherPartition({
      partitionKey: (p) => key`company_${p.department}`,
      rowKey: (p) => key`kwok_${p.id.padded(6)}`,
    }),
    mail: indexTable({
      partitionKey: (p) => key`${p.email}`,
      rowKey: (p) => key`${p.id.padded(6)}`,
    }),
  });
const notedIndexes = notedIndexesOf(Noted);

/** What was a remark is a note in the second version. */
const OldNoted = defineEntity({
  type: 'Noted',
  properties: { department: string(), id: int32(), email: string(), remark: string() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}`,
});
const upgradedIndexes = notedIndexesOf(
  defineEntity({
    type: 'Noted',
    version: 2,
    properties: { department: string(), id: int32(), email: string(), note: string() },
    partitionKey: (p) => key`${p.department}`,
    rowKey: (p) => key`empid_${p.id.padded(6)}`,
  }).upgrading(OldNoted, ({ remark, ...rest }) => ({ ...rest, note: remark })),
);

const jones = {
  department: 'Sales',
  id: 1,
  lastName: 'Jones',
  email: 'jonesj@x',
  salary: 'seven thousand',
};
const at = { department: 'Sales', id: 1 };

const newTables = () => Promise.all([tables.newTable(), tables.newTable()]);

async function modelDrifts(model: { verify(): AsyncIterable<unknown> }): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const drift of model.verify()) found.push(drift);
  return found;
}

async function newEmployees() {
  const { gateway: bare } = await tables.newTable();
  const master = new CountingKey('master');
  const table = withEncryption(bare, { keys: keyRing(master.kek) });
  const employees = indexedEntitiesOf(indexes, { table, outbox: testOutbox(table) });
  return { bare, table, employees, drain: () => drainOutbox(table, employees.handler) };
}

describe('indexes of entities with encrypted properties', () => {
  it('have copies whose secrets are encrypted as well, each for itself', async () => {
    const { bare, employees, drain } = await newEmployees();
    await employees.insert(jones);
    await drain();
    const stored = (await allRows(bare)).filter(({ properties }) => 'salary' in properties);
    assert.deepEqual(
      stored.map(({ rowKey }) => rowKey),
      ['email_jonesj@x', 'empid_000001', 'Sales_000001'],
    );
    const secrets = stored.map(({ properties }) => properties['salary']);
    assert.ok(secrets.every((secret) => secret?.type === 'Binary'));
    const copy = await employees.by.email.get({ department: 'Sales', email: 'jonesj@x' });
    assert.deepEqual(copy === undefined ? undefined : plain(copy), jones);
    const row = await employees.by.company.get({ lastName: 'Jones', ...at });
    assert.equal(row?.salary, 'seven thousand');
    await assertInStep(employees);
  });

  it('follow changes, and are filled and mended', costly(), async () => {
    const { table, employees, drain } = await newEmployees();
    const alone = entitiesOf(PaidEmployee, table);
    for (let id = 0; id < 5; id++) await alone.insert({ ...jones, id, email: `mail${id}@x` });
    for (const name of ['email', 'lastName', 'company'] as const) {
      for await (const page of employees.backfill(name)) assert.deepEqual(page.drifts, []);
    }
    await assertInStep(employees);
    await employees.update(at, (current) => ({ ...current, salary: 'eight', email: 'new@x' }));
    await drain();
    await assertInStep(employees);
    const copy = await employees.by.email.get({ department: 'Sales', email: 'new@x' });
    assert.equal(copy?.salary, 'eight');
    await alone.update(at, (current) => ({ ...current, salary: 'nine' }));
    assert.deepEqual(
      (await driftsOf(employees.verify())).map(({ kind, index }) => `${kind} ${index}`).sort(),
      ['stale company', 'stale email'],
    );
    assert.deepEqual(await driftsOf(employees.rebuild()), []);
    await assertInStep(employees);
  });

  it('are refused where their copies would be stored in plain', async () => {
    const [{ gateway }, { gateway: mails }] = await newTables();
    const table = withEncryption(gateway, { keys: keyRing(new CountingKey('master').kek) });
    const byMail = (include?: readonly ('lastName' | 'salary')[]) =>
      withIndexes(PaidEmployee, {
        mail: indexTable({
          partitionKey: (p) => key`${p.email}`,
          rowKey: (p) => key`${p.id.padded(6)}`,
          ...(include === undefined ? {} : { include }),
        }),
      });
    const open = (indexes: ReturnType<typeof byMail>, mail: TableGateway = mails) =>
      openModel({ table, entities: { people: indexes }, tables: { people: { mail } } });
    for (const include of [undefined, ['salary'] as const]) {
      assert.throws(
        () => open(byMail(include)),
        (error) =>
          error instanceof DefinitionError && /'mail'.*'salary'.*withEnc/s.test(error.message),
      );
      open(byMail(include), withEncryption(mails, { keys: keyRing(new CountingKey('b').kek) }));
    }
    const model = open(byMail(['lastName']));
    await model.entities.people.insert(jones);
    assert.deepEqual((await model.drain()).unfinished, []);
    assert.deepEqual(await modelDrifts(model), []);
  });

  it(
    'encrypt what a resolver chooses, by the keys of the entity, wherever copies are',
    costly(),
    async () => {
      const resolver = (_partition: string, row: string, property: string): boolean =>
        property === 'note' && row.startsWith('empid_');
      const [{ gateway }, { gateway: bareMails }] = await newTables();
      const keys = keyRing(new CountingKey('master').kek);
      let refuses: string | undefined;
      const stopping: TableGateway = {
        table: gateway.table,
        get: (key, select) => gateway.get(key, select),
        page: (query) => gateway.page(query),
        write: (write) => gateway.write(write),
        transact: (writes) =>
          writes.some((write) => keyOfWrite(write).partitionKey === refuses)
            ? Promise.reject(new Error('stays on its way'))
            : gateway.transact(writes),
      };
      const table = withEncryption(stopping, { keys, resolver });
      const open = (mail: TableGateway) =>
        openModel({
          table,
          entities: { people: notedIndexes },
          tables: { people: { mail } },
        });
      const kwok = { ...at, id: 1, email: 'kwok@x', note: 'a secret' };
      const alone = open(bareMails);
      await assert.rejects(
        alone.entities.people.insert(kwok),
        (error) =>
          error instanceof ValueError && /'mail'.*note.*withEncryption/s.test(error.message),
      );
      assert.deepEqual(await allRows(gateway), []);
      const mails = withEncryption(bareMails, { keys });
      const model = open(mails);
      const { people } = model.entities;
      await people.insert(kwok);
      await people.merge(at, { email: 'new@x' }, { ifMatch: 'any' });
      await model.drain();
      const stored = await people.get(at);
      assert.ok(stored !== undefined);
      const relation = oneToManyOf({
        parent: Team,
        child: Noted,
        table: model.table,
        parentOf: ({ department }) => ({ department }),
        count: 'people',
      });
      for (const department of ['Sales', 'Support']) {
        await relation.parents.insert({ department, people: 1 });
      }
      refuses = 'Support';
      await assert.rejects(
        relation.move(stored, { ...kwok, department: 'Support' }),
        /stays on its way/,
      );
      await model.drain();
      await people.insert({ ...kwok, id: 2, email: 'other@x' });
      await model.drain();
      const rows = [...(await allRows(gateway)), ...(await allRows(bareMails))];
      const notes = rows.filter(({ properties }) => 'note' in properties);
      assert.deepEqual(
        notes.map(({ rowKey }) => rowKey.replace(/^(~moving_).*/, '$1')),
        ['email_other@x', 'empid_000002', '~moving_', 'kwok_000002', '000002'],
      );
      for (const { rowKey, properties } of notes) {
        assert.equal(properties['note']?.type, 'Binary', rowKey);
      }
      const found = await people.by.email.get({ department: 'Sales', email: 'other@x' });
      assert.equal(found?.note, 'a secret');
      refuses = undefined;
      assert.equal((await relation.finishMoves({ department: 'Sales' })).finished, 1);
      await model.drain();
      assert.equal((await people.get({ department: 'Support', id: 1 }))?.note, 'a secret');
      assert.deepEqual(await modelDrifts(model), []);
    },
  );

  it('encrypt what a resolver chooses of rows of an older version, by its name in the new one', async () => {
    const resolver = (_partition: string, row: string, property: string): boolean =>
      ['note', 'remark'].includes(property) && row.startsWith('empid_');
    const [{ gateway }, { gateway: bareMails }] = await newTables();
    const keys = keyRing(new CountingKey('master').kek);
    const table = withEncryption(gateway, { keys, resolver });
    const old = entitiesOf(OldNoted, table);
    for (const id of [1, 2]) await old.insert({ ...at, id, email: `${id}@x`, remark: 'a secret' });
    const mail = withEncryption(bareMails, { keys });
    const model = openModel({
      table,
      entities: { people: upgradedIndexes },
      tables: { people: { mail } },
    });
    for await (const { drifts } of model.rebuild()) assert.deepEqual(drifts, []);
    const rows = [...(await allRows(gateway)), ...(await allRows(bareMails))];
    const notes = rows.filter(({ properties }) => 'note' in properties);
    assert.equal(notes.length, 6);
    for (const { rowKey, properties } of notes) {
      assert.equal(properties['note']?.type, 'Binary', rowKey);
    }
    const found = await model.entities.people.by.email.get({ department: 'Sales', email: '2@x' });
    assert.equal(found?.note, 'a secret');
    assert.deepEqual(await modelDrifts(model), []);
  });

  it('cannot be merged, as the entities cannot', async () => {
    const { employees } = await newEmployees();
    await employees.insert(jones);
    await assert.rejects(
      // @ts-expect-error a merge would lose the key of the encrypted properties
      employees.merge(at, { lastName: 'Smith' }, { ifMatch: 'any' }),
      ValueError,
    );
  });
});
