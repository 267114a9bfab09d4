import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  defineEntity,
  int32,
  key,
  plain,
  string,
  type TableGateway,
  upgradeRows,
} from '../../src/modeling/index.js';
import {
  indexedEntitiesOf,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';

// Copies that were made of entities of an older version of their definition.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const keys = { team: string(), id: int32(), email: string() };
const PersonOne = defineEntity({
  type: 'Person',
  properties: { ...keys, name: string() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`id_${p.id.padded(4)}`,
});
const Person = defineEntity({
  type: 'Person',
  version: 2,
  properties: { ...keys, first: string(), last: string() },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`id_${p.id.padded(4)}`,
}).upgrading(PersonOne, ({ name, ...person }) => {
  const [first = '', last = ''] = name.split(' ');
  return { ...person, first, last };
});

const before = withIndexes(PersonOne, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  name: otherPartition({
    partitionKey: (p) => key`mail_${p.email}`,
    rowKey: (p) => key`${p.team}_${p.id.padded(4)}`,
    include: ['name'],
  }),
});
const now = withIndexes(Person, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  name: otherPartition({
    partitionKey: (p) => key`mail_${p.email}`,
    rowKey: (p) => key`${p.team}_${p.id.padded(4)}`,
    include: ['last'],
  }),
});

const open = (table: TableGateway) => indexedEntitiesOf(now, { table, outbox: testOutbox(table) });

async function newPeople(count: number) {
  const table = await tables.newTable();
  const { gateway } = table;
  const old = indexedEntitiesOf(before, { table: gateway, outbox: testOutbox(gateway) });
  for (let id = 0; id < count; id += 1) {
    await old.insert({ team: 't', id, email: `${id}@x`, name: `Jo Smith${id}` });
  }
  await drainOutbox(gateway, old.handler);
  table.takeKinds();
  return { ...table, people: open(gateway) };
}

const one = { team: 't', id: 1, email: '1@x' };

async function driftsOf(people: ReturnType<typeof open>): Promise<readonly string[]> {
  const drifts: string[] = [];
  for await (const page of people.verify()) drifts.push(...page.drifts.map(({ kind }) => kind));
  return drifts;
}

describe('copies of an older version', () => {
  it('are read as the definition has them now, with a read of their entity', async () => {
    const { people, takeKinds } = await newPeople(3);
    const { by } = people;
    const whole = { ...one, first: 'Jo', last: 'Smith1' };
    const copy = await by.email.get(one);
    assert.deepEqual(copy && plain(copy), whole);
    assert.deepEqual(takeKinds(), ['point-read', 'point-read']);
    assert.equal((await by.email.get(one, { select: ['last'] }))?.last, 'Smith1');
    assert.equal((await by.name.get(one))?.last, 'Smith1');
    assert.equal((await by.email.entity(one))?.first, 'Jo');
    const found = await by.email.query({ partition: { team: 't' } }).toArray({ max: 9 });
    assert.deepEqual(
      found.map(({ last }) => last),
      ['Smith0', 'Smith1', 'Smith2'],
    );
  });

  it('are written anew with their entity, whatever of it changes', async () => {
    const { people, gateway, takeKinds } = await newPeople(2);
    await people.update(one, (person) => ({ ...person, last: person.last }));
    await drainOutbox(gateway, people.handler);
    takeKinds();
    assert.equal((await people.by.email.get(one))?.last, 'Smith1');
    assert.equal((await people.by.name.get(one))?.last, 'Smith1');
    assert.deepEqual(takeKinds(), ['point-read', 'point-read']);
  });

  it('are upgraded with the rows of the entities', async () => {
    const { people, gateway, takeKinds } = await newPeople(5);
    const report = await upgradeRows(people);
    assert.deepEqual(report, { checked: 5, outdated: 5, upgraded: 5, failures: [] });
    await drainOutbox(gateway, people.handler);
    takeKinds();
    const query = people.by.email.query({ partition: { team: 't' } });
    assert.equal((await query.toArray({ max: 9 })).length, 5);
    assert.deepEqual(takeKinds(), ['query']);
    assert.deepEqual(await driftsOf(people), []);
    assert.equal((await upgradeRows(people)).outdated, 0);
  });

  it('are found stale, and rebuilt', async () => {
    const { people } = await newPeople(2);
    assert.deepEqual(new Set(await driftsOf(people)), new Set(['stale']));
    for await (const page of people.rebuild()) assert.deepEqual(page.drifts, []);
    assert.deepEqual(await driftsOf(people), []);
  });
});

describe('an upgrade that changes a value of the key of an index', () => {
  it('leaves the row of the former value to a rebuild, and nobody sees it', async () => {
    const address = (version: number) =>
      defineEntity({
        type: 'Address',
        version,
        properties: { team: string(), id: int32(), email: string() },
        partitionKey: (p) => key`${p.team}`,
        rowKey: (p) => key`id_${p.id.padded(4)}`,
      });
    const Former = address(1);
    const Current = address(2).upgrading(Former, (old) => ({
      ...old,
      email: old.email.toLowerCase(),
    }));
    const byEmail = (definition: typeof Former) =>
      withIndexes(definition, { email: samePartition({ rowKey: (p) => key`email_${p.email}` }) });
    const table = new MemoryTable(new MemoryRows());
    await indexedEntitiesOf(byEmail(Former), { table }).insert({ team: 't', id: 1, email: 'A@X' });
    const addresses = indexedEntitiesOf(byEmail(Current), { table });
    const driftKinds = async () => {
      const kinds: string[] = [];
      for await (const { drifts } of addresses.verify()) {
        kinds.push(...drifts.map(({ kind }) => kind));
      }
      return kinds;
    };
    assert.equal(await addresses.by.email.get({ team: 't', email: 'A@X' }), undefined);
    await upgradeRows(addresses);
    assert.equal(await addresses.by.email.get({ team: 't', email: 'A@X' }), undefined);
    assert.equal((await addresses.by.email.get({ team: 't', email: 'a@x' }))?.id, 1);
    assert.deepEqual(await driftKinds(), ['dangling']);
    for await (const page of addresses.rebuild()) assert.deepEqual(page.drifts, []);
    assert.deepEqual(await driftKinds(), []);
  });
});
