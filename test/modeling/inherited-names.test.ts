import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createDeterministicKey } from '../../src/modeling/encryption/deterministic-keys.js';
import { encryptedEquals } from '../../src/modeling/encryption/equality.js';
import { withEncryption } from '../../src/modeling/encryption/encrypted-table.js';
import { parseEnvelope, renderEnvelope } from '../../src/modeling/encryption/envelope.js';
import { keyRing } from '../../src/modeling/encryption/key-wrapper.js';
import {
  dateTime,
  defineEntity,
  DefinitionError,
  embedded,
  entitiesOf,
  int32,
  key,
  string,
  updateProperties,
  ValueError,
  type AnyProperty,
  type RowProperties,
  type TableGateway,
  type WireValue,
} from '../../src/modeling/index.js';
import { explain, measure } from '../../src/modeling/advisor/index.js';
import {
  indexedEntitiesOf,
  indexEntity,
  indexTable,
  otherPartition,
  samePartition,
  withIndexes,
} from '../../src/modeling/patterns/indexes/index.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/large-table.js';
import { formatRecord, parseRecord } from '../../src/modeling/patterns/log-data/log-lines.js';
import { copiesOf } from '../../src/modeling/patterns/denormalisation.js';
import { defineWideEntity } from '../../src/modeling/patterns/wide-entities/wide-definition.js';
import {
  wideEntitiesOf,
  wideEtagsOf,
} from '../../src/modeling/patterns/wide-entities/wide-entities.js';
import { Instant } from '../../src/modeling/rows/instant.js';
import { rowFromJson, rowToJson } from '../../src/modeling/rows/row-json.js';
import { NamedEmployee } from './support/employees.js';
import { CountingKey } from './support/encryption-keys.js';
import { drainOutbox, testOutbox } from './support/index-outbox.js';
import { assertInStep } from './support/indexed-employees.js';
import { startTables } from './support/observed-tables.js';
import { sampled } from '../support/run-length.js';

// Every object inherits members such as `constructor` and `toString`. As names of properties, these
// must be absent until they are set.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const inherited = Object.getOwnPropertyNames(Object.prototype);
/** The official client cannot write `__proto__`, but other writers may have. */
const storable = inherited.filter((name) => name !== '__proto__');
/** A few, for tests in which each name takes many requests. */
const some = ['constructor', 'toString', '__lookupGetter__'];
const text = (value: string): WireValue => ({ type: 'String', value });
const place = { partitionKey: 'p', rowKey: 'r' };
const newTable = async (): Promise<TableGateway> => (await tables.newTable()).gateway;
const withAll = (names: readonly string[], value: (name: string) => WireValue): RowProperties =>
  Object.fromEntries(names.map((name) => [name, value(name)]));

function thing<P extends AnyProperty>(value: P, system: object = {}) {
  return defineEntity({
    type: 'Thing',
    properties: { id: string(), count: int32().default(0), value },
    partitionKey: (p) => key`${p.id}`,
    rowKey: () => key`r`,
    system,
  });
}

describe('a property', () => {
  for (const name of inherited) {
    it(`cannot be called '${name}' in a definition, which says how to store one`, () => {
      const one = Object.fromEntries([[name, string()]]);
      for (const properties of [one, { inner: embedded(one) }]) {
        const define = () =>
          defineEntity({
            type: 'T',
            properties: { id: string(), ...properties },
            partitionKey: (p) => key`${p.id}`,
            rowKey: () => key`r`,
          });
        assert.throws(
          define,
          (error) => error instanceof DefinitionError && error.message.includes('named()'),
        );
      }
    });
  }

  for (const name of some) {
    it(`may be stored as '${name}', whatever its type`, async () => {
      const Dated = thing(dateTime().optional().named(name));
      const Texts = thing(string().optional().named(name));
      const table = await newTable();
      const dated = entitiesOf(Dated, table);
      const date = new Date('2024-02-03T04:05:06.789Z');
      await dated.insert({ id: 'none' });
      await dated.insert({ id: 'some', value: date });
      await dated.update({ id: 'none' }, (current) => ({ ...current, count: 1 }));
      await dated.update({ id: 'some' }, (current) => ({ ...current, count: 1 }));
      assert.equal((await dated.get({ id: 'none' }))?.value, undefined);
      assert.equal((await dated.get({ id: 'none' }, { select: ['value'] }))?.value, undefined);
      assert.deepEqual((await dated.get({ id: 'some' }))?.value, date);
      const { properties } = await measure(Dated, table);
      assert.equal(properties.value?.present, 0.5);
      const texts = entitiesOf(Texts, await newTable());
      await texts.insert({ id: 'a', value: 'x' });
      await texts.merge({ id: 'a' }, { value: 'y' }, { ifMatch: 'any' });
      const query = texts.query({ partition: { id: 'a' }, where: (p) => p.value.eq('y') });
      assert.deepEqual(
        (await query.first(2)).map(({ value }) => value),
        ['y'],
      );
    });

    it(`of the library itself may be '${name}', and a row without it tells nothing`, async () => {
      for (const system of [{ type: name }, { version: name }, { writeStamp: name }]) {
        const table = await newTable();
        const things = entitiesOf(thing(string().optional(), system), table);
        await table.write({
          kind: 'insert',
          row: { partitionKey: 'a', rowKey: 'r', properties: {} },
        });
        const foreign = await things.get({ id: 'a' });
        assert.equal(foreign?.count, 0);
        await things.replace({ ...foreign, count: 1 });
        await things.merge({ id: 'a' }, { count: 2 }, { ifMatch: 'any' });
        await things.update({ id: 'a' }, (current) => ({ ...current, count: current.count + 1 }));
        await things.upsertMerge({ id: 'b', count: 5 });
        const all = await things.scanTable().first(9);
        assert.deepEqual(
          all.map(({ id, count }) => [id, count]),
          [
            ['a', 3],
            ['b', 5],
          ],
        );
      }
    });

    it(`'${name}' counts as missing in a copy that lacks it`, async () => {
      const table = await newTable();
      const source = thing(string());
      const target = defineEntity({
        type: 'Copy',
        properties: { id: string(), copied: string().optional().named(name) },
        partitionKey: (p) => key`${p.id}`,
        rowKey: () => key`copy`,
      });
      const copies = copiesOf({
        source,
        sourceTable: table,
        target,
        targetTable: table,
        sourceOf: ({ id }) => ({ id }),
        targetsOf: ({ id }) => [{ id }],
        copy: (found) => ({ copied: found?.value }),
      });
      await entitiesOf(source, table).insert({ id: 'a', value: 'x' });
      await entitiesOf(target, table).insert({ id: 'a' });
      const drift = async () => {
        const stored = await entitiesOf(target, table).get({ id: 'a' });
        assert.ok(stored !== undefined);
        return copies.drift(stored);
      };
      assert.deepEqual(await drift(), { copied: 'x' });
      await copies.refresh({ id: 'a' });
      assert.equal(await drift(), undefined);
    });
  }
});

describe('a row with properties of such names', () => {
  const all = withAll(storable, text);

  it('keeps them while its entity is read, changed, merged and replaced', async () => {
    const table = await newTable();
    const things = entitiesOf(thing(string().optional()), table);
    await table.write({ kind: 'insert', row: { partitionKey: 'a', rowKey: 'r', properties: all } });
    await things.update({ id: 'a' }, (current) => ({ ...current, count: 1 }));
    await things.merge({ id: 'a' }, { value: 'x' }, { ifMatch: 'any' });
    const read = await things.get({ id: 'a' });
    assert.ok(read !== undefined);
    await things.replace(read);
    const stored = await table.get({ partitionKey: 'a', rowKey: 'r' });
    for (const name of storable) assert.deepEqual(stored?.properties[name], text(name), name);
    const selected = await table.get({ partitionKey: 'a', rowKey: 'r' }, storable);
    assert.deepEqual(selected?.properties, all);
  });

  it('comes back from JSON', () => {
    const row = { ...place, properties: withAll(inherited, text) };
    assert.deepEqual(rowFromJson(JSON.parse(JSON.stringify(rowToJson(row)))), row);
  });

  it('is changed without a definition, its write stamp among them', async () => {
    for (const writeStamp of some) {
      const table = await newTable();
      await table.write({ kind: 'insert', row: { ...place, properties: { A: text('a') } } });
      const change = (bag: RowProperties) => ({ ...bag, B: text('b') });
      await updateProperties(table, place, change, { writeStamp });
      const { properties } = (await table.get(place)) ?? {};
      assert.deepEqual(properties, { A: text('a'), B: text('b') });
    }
  });

  it('is encrypted and found by equality', async () => {
    const kek = new CountingKey('kek-1').kek;
    const record = await createDeterministicKey('d1', kek);
    const options = { keys: keyRing(kek), resolver: () => true };
    for (const keys of [[], [record]]) {
      const table = await newTable();
      const encrypted = withEncryption(table, {
        ...options,
        ...(keys.length === 0 ? {} : { deterministic: { properties: storable, keys } }),
      });
      await encrypted.write({ kind: 'insert', row: { ...place, properties: all } });
      const raw = await table.get(place);
      for (const name of storable) assert.equal(raw?.properties[name]?.type, 'Binary', name);
      assert.deepEqual((await encrypted.get(place))?.properties, all);
      const row = { ...place, properties: { ...all, plain: text('p') } };
      await encrypted.write({ kind: 'replace', row, etag: '*' });
      assert.deepEqual((await encrypted.get(place))?.properties, row.properties);
    }
    const properties = Object.fromEntries(inherited.map((name) => [name, 'A256GCM' as const]));
    assert.deepEqual(parseEnvelope(renderEnvelope({ properties })).properties, properties);
    await assert.rejects(
      encryptedEquals(
        withEncryption(await newTable(), options),
        thing(string()),
        'toString' as never,
        'x' as never,
      ),
      DefinitionError,
    );
  });

  it('may be large, of which none is only inherited', async () => {
    const table = await newTable();
    const small = { stringUnitsInline: 100, entityBytesMax: 40_000 };
    const long = withAll(storable, (name) => text(name.repeat(100)));
    for (const properties of [all, long]) {
      const large = withLargeValues(table, small);
      await large.write({ kind: 'upsert-replace', row: { ...place, properties } });
      assert.deepEqual((await large.get(place))?.properties, properties);
      assert.deepEqual((await large.get(place, ['toString']))?.properties, {
        toString: properties['toString'],
      });
    }
  });
});

describe('an index', () => {
  const employee = { department: 'Sales', id: 1, name: 'Jones' };
  const inTable = (name: string) =>
    withIndexes(NamedEmployee, {
      [name]: indexTable({
        partitionKey: (p) => key`n_${p.name}`,
        rowKey: (p) => key`${p.id.padded(3)}`,
      }),
    });
  const kinds: readonly ((name: string) => ReturnType<typeof inTable>)[] = [
    inTable,
    (name) =>
      withIndexes(NamedEmployee, {
        [name]: samePartition({ rowKey: (p) => key`n_${p.name}` }),
      }) as never,
    (name) =>
      withIndexes(NamedEmployee, {
        [name]: otherPartition({
          partitionKey: (p) => key`n_${p.name}`,
          rowKey: (p) => key`${p.id.padded(3)}`,
        }),
      }) as never,
    (name) =>
      withIndexes(NamedEmployee, {
        [name]: indexEntity({
          place: 'same-partition',
          rowKey: (p) => key`n_${p.name}`,
          ...(name === '__proto__' ? {} : { list: name }),
        }),
      }) as never,
  ];

  for (const name of [...sampled(some), '__proto__']) {
    it(`may be called '${name}', wherever its rows are`, async () => {
      for (const kind of kinds) {
        const indexed = kind(name);
        const table = await newTable();
        const outbox = testOutbox(table);
        const given: Record<string, TableGateway> = Object.fromEntries([[name, await newTable()]]);
        if (kind === inTable) {
          const open = () => indexedEntitiesOf(indexed, { table, outbox, tables: {} });
          assert.throws(open, DefinitionError);
        }
        const employees = indexedEntitiesOf(indexed, { table, outbox, tables: given });
        await employees.insert(employee);
        await drainOutbox(table, employees.handler);
        await employees.merge(employee, { name: 'Smith' }, { ifMatch: 'any' });
        await drainOutbox(table, employees.handler);
        await assertInStep(employees);
        await employees.delete(employee, { ifMatch: 'any' });
        await drainOutbox(table, employees.handler);
        await assertInStep(employees);
        assert.ok(Object.hasOwn(employees.by, name));
      }
    });
  }

  it('includes no property that a definition only inherits', () => {
    const include = ['toString'] as never[];
    assert.throws(
      () => withIndexes(thing(string()), { x: samePartition({ rowKey: () => key`x`, include }) }),
      DefinitionError,
    );
  });
});

describe('other names', () => {
  it('of groups of a wide entity may be such', async () => {
    for (const name of some.filter((each) => /^[a-zA-Z]+$/.test(each))) {
      const Wide = defineWideEntity({
        type: 'Wide',
        keys: { id: string() },
        partitionKey: (p) => key`${p.id}`,
        rowKey: () => key`w`,
        groups: { [name]: { a: int32() }, ['x'.repeat(name.length)]: { b: int32() } },
      });
      const wide = wideEntitiesOf(Wide, await newTable());
      const given = { id: '1', a: 1, b: 2 } as never;
      await wide.insert(given);
      await wide.change({ id: '1' }, { a: 3 } as never, { ifMatch: 'any' });
      await wide.update({ id: '1' }, (current) => ({ ...current, b: 4 }) as never);
      const read = await wide.get({ id: '1' });
      assert.ok(read !== undefined);
      assert.deepEqual({ ...(read as object) }, { ...(read as object), id: '1', a: 3, b: 4 });
      assert.ok(Object.hasOwn(wideEtagsOf(read), name));
      await assert.rejects(
        wide.change({ id: '1' }, Object.fromEntries([[name, 1]]) as never, { ifMatch: 'any' }),
        ValueError,
      );
      await wide.delete({ id: '1' }, { ifMatch: 'any' });
    }
  });

  it('of columns of a log are absent until they are given', () => {
    const format = { columns: storable };
    const time = Instant.ofTicks(0n);
    assert.deepEqual(
      parseRecord(format, formatRecord<never>(format as never, { time }).trimEnd()),
      { time },
    );
    const full = { time, ...Object.fromEntries(storable.map((name) => [name, `'${name}'`])) };
    assert.deepEqual(
      parseRecord(format, formatRecord<never>(format as never, full).trimEnd()),
      full,
    );
  });

  it('are no properties that facts or a query could be about', () => {
    const Thing = thing(string());
    for (const name of inherited) {
      const facts = Object.fromEntries([[name, { size: 3 }]]);
      assert.throws(
        () => explain(Thing, { rows: 10, properties: facts, operations: [] } as never),
        ValueError,
        name,
      );
    }
  });
});
