import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { defineEntity, DefinitionError, key, plain } from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  IndexValueTakenError,
  otherPartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { costly } from '../support/run-length.js';
import {
  drainOutbox,
  handleIntent,
  settleIntent,
  testOutbox,
  waitingIntents,
} from './support/index-outbox.js';
import {
  assertInStep,
  driftsOf,
  employee,
  meddled,
  rowKeysOf,
} from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { Employee } from './support/employees.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

// The layout of the guide: partitions `empid_Sales` and `email_Sales`.
const PrefixedEmployee = defineEntity({
  type: 'Employee',
  properties: Employee.properties,
  partitionKey: (p) => key`empid_${p.department}`,
  rowKey: (p) => key`${p.id.padded(6)}`,
});

const indexes = withIndexes(PrefixedEmployee, {
  email: otherPartition({
    partitionKey: (p) => key`email_${p.department}`,
    rowKey: (p) => key`${p.email}`,
  }),
});

const emailOf = (email: string) => ({ department: 'Sales', email });
const keyOf = (id: number) => ({ department: 'Sales', id });
const any = { ifMatch: 'any' };

async function newEmployees() {
  const table = await tables.newTable();
  const { gateway } = table;
  const outbox = testOutbox(gateway);
  const employees = indexedEntitiesOf(indexes, { table: gateway, outbox });
  const drain = () => drainOutbox(gateway, employees.handler);
  return { ...table, employees, drain };
}

describe('an inter-partition index', () => {
  it('writes an intent with the entity, and the copy when a worker has acted on it', async () => {
    const { employees, gateway, drain, takeKinds } = await newEmployees();
    await employees.insert(employee(223, { email: 'jonesj@contoso.com' }));
    assert.deepEqual(takeKinds(), ['transaction']);
    assert.equal(await employees.by.email.get(emailOf('jonesj@contoso.com')), undefined);
    const [intent] = await waitingIntents(gateway);
    assert.ok(intent !== undefined);
    takeKinds();
    await handleIntent(employees.handler, intent);
    assert.deepEqual(takeKinds(), ['point-read', 'point-read', 'insert', 'point-read']);
    await drain();
    assert.deepEqual(await rowKeysOf(gateway), [
      'email_Sales/jonesj@contoso.com',
      'empid_Sales/000223',
    ]);
    const copy = await employees.by.email.get(emailOf('jonesj@contoso.com'));
    assert.deepEqual(
      copy === undefined ? undefined : plain(copy),
      employee(223, { email: 'jonesj@contoso.com' }),
    );
  });

  it('moves and removes the copy with its value', async () => {
    const { employees, gateway, drain, takeKinds } = await newEmployees();
    await employees.insert(employee(1, { email: 'one@contoso.com' }));
    await drain();
    takeKinds();
    await employees.merge(keyOf(1), { email: 'uno@contoso.com' }, any);
    assert.deepEqual(takeKinds(), ['point-read', 'transaction']);
    await drain();
    assert.deepEqual(await rowKeysOf(gateway), [
      'email_Sales/uno@contoso.com',
      'empid_Sales/000001',
    ]);
    await employees.delete(keyOf(1), any);
    await drain();
    assert.deepEqual(await rowKeysOf(gateway), []);
  });

  it('ends right when intents are acted on in any order, and twice', async () => {
    const { employees, gateway } = await newEmployees();
    await employees.insert(employee(1, { email: 'a@x' }));
    await employees.merge(keyOf(1), { email: 'b@x' }, any);
    await employees.merge(keyOf(1), { email: 'c@x' }, any);
    await employees.merge(keyOf(1), { email: 'a@x' }, any);
    await employees.merge(keyOf(1), { firstName: 'June' }, any);
    const intents = await waitingIntents(gateway);
    assert.equal(intents.length, 5);
    for (const intent of intents.toReversed()) await handleIntent(employees.handler, intent);
    for (const intent of intents) await settleIntent(gateway, employees.handler, intent);
    assert.deepEqual(await rowKeysOf(gateway), ['email_Sales/a@x', 'empid_Sales/000001']);
    await assertInStep(employees);
  });

  it('ends right when workers act on all intents at the same time', costly(), async () => {
    const { employees, gateway } = await newEmployees();
    await Promise.all(
      Array.from({ length: 8 }, async (_, id) => {
        await employees.insert(employee(id, { email: `a${id}@x` }));
        for (const step of ['b', 'c', 'd']) {
          await employees.merge(keyOf(id), { email: `${step}${id}@x` }, any);
        }
        if (id % 2 === 0) await employees.delete(keyOf(id), any);
      }),
    );
    const intents = await waitingIntents(gateway);
    await Promise.all(
      [...intents, ...intents].map((intent) => handleIntent(employees.handler, intent)),
    );
    await Promise.all(intents.map((intent) => settleIntent(gateway, employees.handler, intent)));
    await assertInStep(employees);
    assert.deepEqual(
      (await rowKeysOf(gateway)).filter((name) => name.startsWith('email')),
      [1, 3, 5, 7].map((id) => `email_Sales/d${id}@x`),
    );
  });

  it('leaves nothing of a change that was made while an intent was acted on', async () => {
    const { employees, gateway, drain } = await newEmployees();
    await employees.insert(employee(1, { email: 'a@x' }));
    const [intent] = await waitingIntents(gateway);
    assert.ok(intent !== undefined);
    // Between the worker's read of the entity and its write of the copy.
    const meddling = meddled(gateway, 'write', () =>
      employees.merge(keyOf(1), { email: 'b@x' }, any),
    );
    const slow = indexedEntitiesOf(indexes, { table: meddling, outbox: testOutbox(gateway) });
    await settleIntent(gateway, slow.handler, intent);
    // The copy of what was read is gone again; that of the change is left to its own intent.
    assert.deepEqual(await employees.by.email.get(emailOf('a@x')), undefined);
    await drain();
    await assertInStep(employees);
  });

  it('gives a value to the entity that had it first, and tells the worker of the other', async () => {
    const { employees, gateway, drain } = await newEmployees();
    await employees.insert(employee(1, { email: 'same@x' }));
    await drain();
    await employees.insert(employee(2, { email: 'same@x' }));
    await assert.rejects(drain(), IndexValueTakenError);
    assert.equal((await employees.by.email.get(emailOf('same@x')))?.id, 1);
    const [drift] = await driftsOf(employees.verify());
    assert.deepEqual(drift, {
      kind: 'taken',
      index: 'email',
      by: { partitionKey: 'empid_Sales', rowKey: '000001' },
      primary: { partitionKey: 'empid_Sales', rowKey: '000002' },
      key: { partitionKey: 'email_Sales', rowKey: 'same@x' },
    });
    await employees.merge(keyOf(1), { email: 'other@x' }, any);
    await drain();
    await assertInStep(employees);
    assert.equal((await employees.by.email.get(emailOf('same@x')))?.id, 2);
    assert.equal((await waitingIntents(gateway)).length, 0);
  });

  it('goes on to the entity only while it has the value', async () => {
    const { employees, drain, takeKinds } = await newEmployees();
    await employees.insert(employee(1, { email: 'a@x' }));
    await drain();
    takeKinds();
    assert.equal((await employees.by.email.entity(emailOf('a@x')))?.id, 1);
    assert.deepEqual(takeKinds(), ['point-read', 'point-read']);
    await employees.merge(keyOf(1), { email: 'b@x' }, any);
    assert.ok(await employees.by.email.get(emailOf('a@x')));
    assert.equal(await employees.by.email.entity(emailOf('a@x')), undefined);
  });

  it('is refused without an outbox beside the entities', async () => {
    const { gateway } = await tables.newTable();
    const other = await tables.newTable();
    assert.throws(
      // @ts-expect-error the outbox is missing
      () => indexedEntitiesOf(indexes, { table: gateway }),
      DefinitionError,
    );
    assert.throws(
      () => indexedEntitiesOf(indexes, { table: gateway, outbox: testOutbox(other.gateway) }),
      /beside the entities/,
    );
  });
});
