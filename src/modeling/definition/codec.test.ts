import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DecodeError, DefinitionError, ValueError } from '../rows/model-error.js';
import { rowOfJson, type JsonEntity } from '../rows/json-entity.js';
import type { Row, RowProperties, StoredRow } from '../rows/row.js';
import { toSdkEntity } from '../rows/sdk-entity.js';
import { codecOf } from './codec.js';
import { defineEntity } from './entity-definition.js';
import { key } from './key-template.js';
import type { Properties } from './property.js';
import { boolean, dateTime, double, int32, int64, string } from './scalar-types.js';
import type { StandardSchema } from './standard-schema.js';
import { plain, storedAsOf } from './stored-entity.js';
import { embedded, json, list } from './structured-types.js';
import { asEmployee, numbered } from '../../../test/modeling/support/employees.js';

function stored(row: Row, more: RowProperties = {}): StoredRow {
  return { ...row, properties: { ...row.properties, ...more }, etag: 'W/"1"', timestamp: 5n };
}

function without(row: StoredRow, name: string): StoredRow {
  const rest = Object.entries(row.properties).filter(([each]) => each !== name);
  return { ...row, properties: Object.fromEntries(rest) };
}

const properties = {
  ...numbered,
  name: string(),
  level: int32().default(1),
  isActive: boolean().default(() => true),
  nickName: string().optional(),
  search: string().computed({ name: string() }, ({ name }) => name.toUpperCase()),
};

const ActiveEmployee = defineEntity({
  ...asEmployee,
  properties,
});
const codec = codecOf(ActiveEmployee);
const jones = { department: 'Sales', id: 1, name: 'Jones' };

describe('writing an entity', () => {
  it('stores what keys do not carry, and the type', () => {
    assert.deepEqual(codec.toRow(jones), {
      partitionKey: 'Sales',
      rowKey: 'empid_000001',
      properties: {
        EntityType: { type: 'String', value: 'Employee' },
        name: { type: 'String', value: 'Jones' },
        level: { type: 'Int32', value: 1 },
        isActive: { type: 'Boolean', value: true },
        search: { type: 'String', value: 'JONES' },
      },
    });
  });

  it('takes 0, false and an empty text for values, and null for none', () => {
    const given = { ...jones, level: 0, isActive: false, nickName: '', name: '' };
    const row = codec.toRow(given);
    assert.deepEqual(plain(codec.fromRow(stored(row))), { ...given, search: '' });
    const nothing = codec.toRow({ ...jones, level: null, isActive: undefined, nickName: null });
    assert.deepEqual(nothing, codec.toRow(jones));
  });

  it('computes what is computed, whatever is given', () => {
    const read = codec.fromRow(stored(codec.toRow(jones)));
    const row = codec.toRow({ ...read, name: 'Smith', search: 'stale' });
    assert.equal(row.properties['search']?.value, 'SMITH');
  });

  it('names the property that it refuses', () => {
    const lacking: { department: string; id: number } = { department: 'Sales', id: 1 };
    assert.throws(() => codec.toRow(lacking as typeof jones), /Employee needs 'name'/);
    for (const level of [1.5, 2 ** 31, NaN]) {
      assert.throws(
        () => codec.toRow({ ...jones, level }),
        /Employee\.level: .* is no whole number/,
      );
    }
    assert.throws(
      () => codec.toRow({ ...jones, name: 'x'.repeat(32_769) }),
      /Employee\.name: .*32768/,
    );
    assert.throws(() => codec.toRow({ ...jones, name: '\ud800' }), ValueError);
    assert.throws(() => codec.toRow({ ...jones, id: -1 }), /Employee: id in a key: -1 is negative/);
  });

  it('counts an entity as the service does', () => {
    const Wide = defineEntity({
      type: 'Wide',
      properties: Object.fromEntries(
        Array.from({ length: 20 }, (_unused, index) => [`p${index}`, string().optional()]),
      ),
      partitionKey: () => key`p`,
      rowKey: () => key`r`,
    });
    const full = Object.fromEntries(
      Array.from({ length: 20 }, (_unused, index) => [`p${index}`, 'x'.repeat(32_000)]),
    );
    assert.throws(() => codecOf(Wide).toRow(full), {
      name: 'TooLargeError',
      message: /^Wide: \('p', 'r'\) has \d+ bytes, more than 1 MiB/,
    });
  });

  it('refuses an entity of which only some properties were selected', () => {
    const part = codec.fromPartialRow(stored(codec.toRow(jones)), ['name']);
    assert.deepEqual(plain(part), jones);
    assert.throws(() => codec.toRow({ ...jones, ...part }), /only some properties/);
  });
});

describe('merging', () => {
  it('writes what changes and what is computed from it, and no type', () => {
    assert.deepEqual(codec.toMergeRow(jones, { name: 'Smith' }).properties, {
      name: { type: 'String', value: 'Smith' },
      search: { type: 'String', value: 'SMITH' },
    });
    assert.deepEqual(codec.toMergeRow(jones, { level: 0 }).properties, {
      level: { type: 'Int32', value: 0 },
    });
  });

  it('refuses what a merge cannot do', () => {
    const Person = defineEntity({
      type: 'Person',
      properties: {
        first: string(),
        last: string(),
        born: dateTime().readOnly(),
        secret: string().optional(),
        full: string().computed(
          { first: string(), last: string() },
          ({ first, last }) => `${first} ${last}`,
        ),
      },
      partitionKey: () => key`people`,
      rowKey: (p) => key`${p.full}`,
    });
    const people = codecOf(Person);
    const merge = (changes: object) => people.toMergeRow({ full: 'a b' }, changes);
    assert.throws(() => merge({ full: 'c' }), /in the keys/);
    assert.throws(() => merge({ born: new Date(0) }), /read-only/);
    assert.throws(() => merge({ secret: null }), /cannot be removed by a merge/);
    assert.throws(() => merge({ other: 1 }), /no property 'other'/);
    assert.throws(() => merge({ last: 'x' }), /a merge of last needs first/);
    const Secret = defineEntity({
      type: 'Secret',
      properties: { owner: string(), text: string().encrypted() },
      partitionKey: (p) => key`${p.owner}`,
      rowKey: () => key`secret`,
    });
    const secrets = codecOf(Secret);
    assert.throws(() => secrets.toMergeRow({ owner: 'x' }, {} as never), /would lose their key/);
    assert.throws(() => secrets.toUpsertMergeRow({ owner: 'x', text: 'y' }), /would lose/);
    assert.deepEqual(secrets.toRow({ owner: 'x', text: 'y' }).encrypt, ['text']);
  });
});

describe('reading a row', () => {
  const row = stored(codec.toRow(jones));

  it('keeps what it does not know, also through a change', () => {
    const foreign: RowProperties = {
      id: { type: 'String', value: 'somebody else stores this' },
      Legacy: { type: 'Double', value: -0 },
    };
    const read = codec.fromRow(stored(codec.toRow(jones), foreign));
    assert.deepEqual(plain(read), plain(codec.fromRow(row)));
    const { properties: written } = codec.toRow({ ...read, level: 9 });
    assert.deepEqual(written['Legacy'], foreign['Legacy']);
    assert.deepEqual(written['id'], foreign['id']);
  });

  it('is not misled by names that every object has', () => {
    const Car = defineEntity({
      type: 'Car',
      properties: { id: string(), team: string().named('constructor').optional() },
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`car`,
    });
    const cars = codecOf(Car);
    const row = stored(cars.toRow({ id: '1' }));
    assert.deepEqual(plain(cars.fromRow(row)), { id: '1' });
    const ferrari = stored(cars.toRow({ id: '1', team: 'Ferrari' }));
    assert.deepEqual(plain(cars.fromRow(ferrari)), { id: '1', team: 'Ferrari' });
  });

  it('keeps a __proto__ apart from what the row has', () => {
    const text = '{"PartitionKey":"Sales","RowKey":"empid_000001","odata.etag":"e","search":"",';
    const row = rowOfJson(JSON.parse(`${text}"name":"Jones","__proto__":"x"}`) as JsonEntity);
    const unknown = storedAsOf(codec.fromRow(row))?.unknown ?? {};
    assert.deepEqual(Object.keys(unknown), ['__proto__']);
    for (const properties of [row.properties, unknown]) {
      assert.equal(Object.getPrototypeOf(properties), Object.prototype);
    }
    assert.throws(() => toSdkEntity(row), ValueError);
  });

  it('gives the default of a property that the row lacks', () => {
    assert.equal(codec.fromRow(without(row, 'level')).level, 1);
    assert.throws(
      () => codec.fromRow(without(row, 'name')),
      /\('Sales', 'empid_000001'\) lacks 'name'/,
    );
  });

  it('refuses rows of other types and keys, and other stored types', () => {
    const other = stored(row, { EntityType: { type: 'String', value: 'Department' } });
    assert.equal(codec.matches(other), false);
    assert.throws(() => codec.fromRow(other), /is of the type Department, not Employee/);
    const elsewhere = { ...row, rowKey: 'email_x' };
    assert.equal(codec.matches(elsewhere), false);
    assert.throws(() => codec.fromRow(elsewhere), DecodeError);
    assert.throws(
      () => codec.fromRow(stored(row, { name: { type: 'Int32', value: 1 } })),
      /has a 'name' that cannot be read: stored as Int32/,
    );
  });

  it('reads an Int32 where an Int64 or a Double is meant, and nothing else', () => {
    const Wide = defineEntity({
      type: 'Wide',
      properties: { long: int64(), real: double(), name: string() },
      partitionKey: () => key`p`,
      rowKey: (p) => key`${p.name}`,
    });
    const narrow = { type: 'Int32', value: 7 } as const;
    const wide = codecOf(Wide).toRow({ long: 7n, real: 7, name: 'x' });
    const read = codecOf(Wide).fromRow(stored(wide, { long: narrow, real: narrow }));
    assert.deepEqual(plain(read), { long: 7n, real: 7, name: 'x' });
  });

  it('keeps the ticks that a Date does not show, unless the date changes', () => {
    const Event = defineEntity({
      type: 'Event',
      properties: { name: string(), at: dateTime(), place: embedded({ since: dateTime() }) },
      partitionKey: () => key`events`,
      rowKey: (p) => key`${p.name}`,
    });
    const events = codecOf(Event);
    const at = new Date(Date.UTC(2024, 4, 31));
    const fine = { type: 'DateTime', value: 638_527_104_000_001_234n } as const;
    const written = events.toRow({ name: 'x', at, place: { since: at } });
    const read = events.fromRow(stored(written, { at: fine, place_since: fine }));
    assert.deepEqual(plain(read), { name: 'x', at, place: { since: at } });
    const again = events.toRow({ ...read, name: 'x' }).properties;
    assert.deepEqual([again['at'], again['place_since']], [fine, fine]);
    const later = events.toRow({ ...read, at: new Date(at.getTime() + 1) }).properties;
    assert.equal(later['at']?.value, 638_527_104_000_010_000n);
  });
});

describe('versions', () => {
  const V1 = defineEntity({
    type: 'Person',
    properties: { id: int32(), name: string() },
    partitionKey: () => key`people`,
    rowKey: (p) => key`${p.id.padded(4)}`,
  });
  const V2 = defineEntity({
    type: 'Person',
    version: 2,
    properties: { id: int32(), first: string(), last: string() },
    partitionKey: () => key`people`,
    rowKey: (p) => key`${p.id.padded(4)}`,
  }).upgrading(V1, ({ id, name }) => {
    const [first = '', last = ''] = name.split(' ');
    return { id, first, last };
  });
  const V3 = defineEntity({
    type: 'Person',
    version: 3,
    properties: { id: int32(), first: string(), last: string(), tags: list<string>() },
    partitionKey: () => key`people`,
    rowKey: (p) => key`${p.id.padded(4)}`,
  }).upgrading(V2, (old) => ({ ...plain(old), tags: [old.last] }));

  it('upgrade old rows when they are read, step by step, and store them new', () => {
    const old = stored(codecOf(V1).toRow({ id: 1, name: 'Jo Jones' }), {
      Foreign: { type: 'Int32', value: 3 },
    });
    const read = codecOf(V3).fromRow(old);
    assert.deepEqual(plain(read), { id: 1, first: 'Jo', last: 'Jones', tags: ['Jones'] });
    assert.equal(storedAsOf(read)?.version, 1);
    const { properties: written } = codecOf(V3).toRow(read);
    assert.deepEqual(Object.keys(written).sort(), [
      'EntityType',
      'EntityVersion',
      'Foreign',
      'first',
      'last',
      'tags',
    ]);
    assert.equal(written['EntityVersion']?.value, 3);
    assert.equal(storedAsOf(codecOf(V3).fromRow(stored(codecOf(V3).toRow(read))))?.version, 3);
    const part = codecOf(V3).fromPartialRow(old, ['last']);
    assert.deepEqual(plain(part), { id: 1, last: 'Jones' });
    assert.equal(codecOf(V3).selectOf(['last']), undefined);
  });

  it('refuse rows of a version that they do not know', () => {
    const newer = stored(codecOf(V3).toRow({ id: 1, first: 'a', last: 'b', tags: [] }));
    assert.throws(
      () => codecOf(V2).fromRow(newer),
      /of version 3; this program knows Person up to 2/,
    );
    const bare = defineEntity({
      type: 'Person',
      version: 2,
      properties: { id: int32() },
      partitionKey: () => key`people`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    });
    const old = stored(codecOf(V1).toRow({ id: 1, name: 'x' }));
    assert.throws(() => codecOf(bare).fromRow(old), /version 1, and nothing upgrades it/);
    assert.throws(() => V1.upgrading(V2, ({ id }) => ({ id, name: '' })), DefinitionError);
  });

  it('never move an entity', () => {
    const moving = defineEntity({
      type: 'Person',
      version: 2,
      properties: { id: int32(), name: string() },
      partitionKey: () => key`people`,
      rowKey: (p) => key`${p.id.padded(4)}`,
    }).upgrading(V1, ({ id, name }) => ({ id: id + 1, name }));
    const old = stored(codecOf(V1).toRow({ id: 1, name: 'x' }));
    assert.throws(() => codecOf(moving).fromRow(old), /other keys/);
  });
});

describe('values with a validator', () => {
  /** A Standard Schema validator that accepts even numbers only. */
  const even: StandardSchema<{ readonly n: number }> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const { n } = (value ?? {}) as { readonly n?: unknown };
        return typeof n === 'number' && n % 2 === 0
          ? { value: { n } }
          : { issues: [{ message: 'must be even', path: ['n'] }] };
      },
    },
  };
  const Box = defineEntity({
    type: 'Box',
    properties: { name: string(), one: json(even), many: list(even) },
    partitionKey: () => key`boxes`,
    rowKey: (p) => key`${p.name}`,
  });
  const boxes = codecOf(Box);
  const box = { name: 'x', one: { n: 2 }, many: [{ n: 4 }] };

  it('are checked when they are written and when they are read', () => {
    const row = stored(boxes.toRow(box));
    assert.deepEqual(plain(boxes.fromRow(row)), box);
    assert.throws(() => boxes.toRow({ ...box, one: { n: 1 } }), /Box\.one: n: must be even/);
    assert.throws(() => boxes.toRow({ ...box, many: [{ n: 1 }] }), /Box\.many: n: must be even/);
    for (const value of ['{"n":3}', '{', '4']) {
      const foreign = stored(row, { one: { type: 'String', value } });
      assert.throws(() => boxes.fromRow(foreign), DecodeError);
    }
  });

  it('are refused in words when they have no JSON', () => {
    const Free = defineEntity({
      type: 'Free',
      properties: { name: string(), value: json<object>() },
      partitionKey: () => key`free`,
      rowKey: (p) => key`${p.name}`,
    });
    const circle: { self?: object } = {};
    circle.self = circle;
    for (const value of [circle, { big: 1n }]) {
      assert.throws(
        () => codecOf(Free).toRow({ name: 'x', value }),
        (error) => error instanceof ValueError && /Free\.value: .* no JSON/.test(error.message),
      );
    }
  });

  it('cannot wait for an answer', () => {
    const slow: StandardSchema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => Promise.resolve({ value: 'x' }),
      },
    };
    const Slow = defineEntity({
      type: 'Slow',
      properties: { text: json(slow) },
      partitionKey: () => key`p`,
      rowKey: () => key`r`,
    });
    assert.throws(() => codecOf(Slow).toRow({ text: 'x' }), /asynchronous/);
  });
});

describe('a definition', () => {
  const parts = { partitionKey: () => key`p`, rowKey: () => key`r` };

  it('stores each property under a name of its own that the service takes', () => {
    const twice = { a: string().named('x'), x: string() };
    assert.throws(
      () => defineEntity({ type: 'A', properties: twice, ...parts }),
      /'x' is stored by a and by x/,
    );
    const clash = { address: embedded({ city: string() }), address_city: string() };
    assert.throws(() => defineEntity({ type: 'A', properties: clash, ...parts }), DefinitionError);
    for (const name of ['Timestamp', 'etag', 'EntityType', 'a-b', '']) {
      const properties = { [name]: string() };
      assert.throws(() => defineEntity({ type: 'A', properties, ...parts }), DefinitionError, name);
    }
    const named = { 'Manager Rating': string().named('Manager Rating') };
    const row = codecOf(defineEntity({ type: 'A', properties: named, ...parts })).toRow({
      'Manager Rating': 'good',
    });
    assert.equal(row.properties['Manager_x0020_Rating']?.value, 'good');
  });

  it('does not contradict itself', () => {
    const wrong = [
      { a: string().computed({ b: string() }, ({ b }) => b) },
      { a: string().computed({ b: string() }, ({ b }) => b), b: int32() },
      { a: string().computed({ b: string() }, ({ b }) => b), b: string().optional() },
      {
        a: string()
          .computed({ b: string() }, ({ b }) => b)
          .default(''),
        b: string(),
      },
      { a: string().optional().default('') },
    ];
    for (const properties of wrong) {
      assert.throws(() => defineEntity({ type: 'A', properties, ...parts }), DefinitionError);
    }
    assert.throws(() => defineEntity({ type: '', properties: {}, ...parts }), DefinitionError);
    assert.throws(
      () => defineEntity({ type: 'A', version: 0, properties: {}, ...parts }),
      DefinitionError,
    );
  });

  it('has no names that every object has', () => {
    const define = (properties: Properties) => () =>
      defineEntity({
        type: 'Car',
        properties: { id: string(), ...properties },
        partitionKey: () => key`cars`,
        rowKey: () => key`car`,
      });
    const refused = { name: DefinitionError.name };
    assert.throws(define({ constructor: string() }), refused);
    assert.throws(define({ of: embedded({ toString: string() }) }), refused);
    assert.throws(define({ proto: string().named('__proto__') }), refused);
  });

  it('can leave the type to the keys', () => {
    const Untyped = defineEntity({
      type: 'EMPLOYEE',
      properties: { id: int32() },
      partitionKey: () => key`p`,
      rowKey: (p) => key`EMPLOYEE_${p.id.padded(6)}`,
      system: { type: false, writeStamp: false },
    });
    const row = codecOf(Untyped).toRow({ id: 123 });
    assert.deepEqual(row, { partitionKey: 'p', rowKey: 'EMPLOYEE_000123', properties: {} });
    assert.equal(codecOf(Untyped).matches({ ...row, rowKey: 'DEPARTMENT_SALES' }), false);
    assert.deepEqual(plain(codecOf(Untyped).fromRow(stored(row))), { id: 123 });
  });
});
