import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyProperties, anyText } from '../../../test/support/edm-properties.js';
import { decodeBag, encodeBag } from '../../model/bag/bag.js';
import { ticksFromMicros, parseDateTime } from '../../model/edm/date-time.js';
import type { EdmValue, Property, StoredEntity } from '../../model/edm/value.js';
import { readEntityBody } from '../../../test/support/entity-bodies.js';
import type { MetadataLevel } from './media-type.js';
import {
  bytesAtOnceMax,
  EntityPageBody,
  renderEntity,
  renderTable,
  renderTables,
  type RenderContext,
} from './render.js';
import { costly } from '../../../test/support/run-length.js';

const base = 'http://127.0.0.1:10002/devstoreaccount1';

function context(level: MetadataLevel, selectText?: string): RenderContext {
  const select = selectText === undefined ? undefined : selectText.split(',');
  return { level, base, account: 'devstoreaccount1', table: 'tbl', select, selectText };
}

function versionOf(text: string): number {
  return Number(((parseDateTime(text) ?? 0n) - ticksFromMicros(0)) / 10n);
}

function stored(properties: readonly Property[], keys: Partial<StoredEntity> = {}): StoredEntity {
  const version = versionOf('2017-11-10T02:46:52.3291068Z');
  return { partitionKey: 'pk', rowKey: 'rk', version, bag: encodeBag(properties), ...keys };
}

const example = readEntityBody(
  '{"age@odata.type":"Edm.Int64","age":"39","sex":"male","married":true,"ratio":3.1,' +
    '"evenratio":3.0,"Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z",' +
    '"binary@odata.type":"Edm.Binary","binary":"YmluYXJ5","other":20,' +
    '"clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"}',
).properties;

const time = '2017-11-10T02:46:52.3291068Z';
const etag = `"odata.etag":"W/\\"datetime'2017-11-10T02%3A46%3A52.3291068Z'\\""`;
const link = "tbl(PartitionKey='pk',RowKey='rk')";
const plainMembers =
  '"age":"39","sex":"male","married":true,"ratio":3.1,"evenratio":3.0,' +
  '"Birthday":"1973-10-04T00:00:00Z","binary":"YmluYXJ5","other":20,' +
  '"clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"';
const annotatedMembers =
  '"age@odata.type":"Edm.Int64","age":"39","sex":"male","married":true,"ratio":3.1,' +
  '"evenratio":3.0,"Birthday@odata.type":"Edm.DateTime","Birthday":"1973-10-04T00:00:00Z",' +
  '"binary@odata.type":"Edm.Binary","binary":"YmluYXJ5","other":20,' +
  '"clsid@odata.type":"Edm.Guid","clsid":"c9da6455-213d-42c9-9a79-3e9149a57833"';
const keys = '"PartitionKey":"pk","RowKey":"rk"';
const fullLinks =
  `"odata.type":"devstoreaccount1.tbl","odata.id":"${base}/${link}",${etag},` +
  `"odata.editLink":"${link}"`;

/** Hands over an entity as an engine does: in memory that goes on and is written over. */
function takeInPlace(body: EntityPageBody, entity: StoredEntity): void {
  const { length } = entity.bag;
  const memory = new Uint8Array(length + 100).fill(0x2c);
  memory.set(entity.bag);
  body.take({ ...entity, bag: memory });
  memory.fill(0xff);
}

/** The JSON of an entity of a page. */
function withoutMetadata(text: string): string {
  return text.replace(/^\{"odata\.metadata":"[^"]*",?/, '{');
}

/** The body of a page that was read before it is written. */
function pageBody(entities: readonly StoredEntity[], of: RenderContext): Buffer {
  return new EntityPageBody(of, 0).endWith(entities);
}

describe('one entity', () => {
  it('is shown with minimal metadata', () => {
    assert.equal(
      renderEntity(stored(example), context('minimal')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl/@Element",${etag},${keys},` +
        `"Timestamp":"${time}",${annotatedMembers}}`,
    );
  });

  it('is shown with full metadata', () => {
    assert.equal(
      renderEntity(stored(example), context('full')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl/@Element",${fullLinks},${keys},` +
        `"Timestamp@odata.type":"Edm.DateTime","Timestamp":"${time}",${annotatedMembers}}`,
    );
  });

  it('is shown without metadata', () => {
    assert.equal(
      renderEntity(stored(example), context('none')).toString(),
      `{${keys},"Timestamp":"${time}",${plainMembers}}`,
    );
  });

  it('is shown as in the worked example', () => {
    const { properties } = readEntityBody(
      '{"n":5,"d":"3","d@odata.type":"Edm.Double","big":"9007199254740993","big@odata.type":"Edm.Int64"}',
    );
    const version = versionOf('2025-11-21T10:00:00.1234564Z');
    const entity = stored(properties, { partitionKey: 'p', rowKey: "O'Neil", version });
    assert.equal(
      renderEntity(entity, { ...context('minimal'), table: 'people' }).toString(),
      `{"odata.metadata":"${base}/$metadata#people/@Element",` +
        `"odata.etag":"W/\\"datetime'2025-11-21T10%3A00%3A00.1234564Z'\\"",` +
        `"PartitionKey":"p","RowKey":"O'Neil","Timestamp":"2025-11-21T10:00:00.1234564Z","n":5,"d":3.0,` +
        '"big@odata.type":"Edm.Int64","big":"9007199254740993"}',
    );
  });
});

describe('a page of entities', () => {
  it('is a list, also of none', () => {
    assert.equal(
      pageBody([], context('minimal')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl","value":[]}`,
    );
    assert.equal(pageBody([], context('none')).toString(), '{"value":[]}');
  });

  it('shows each entity with its etag', () => {
    const item = `{${etag},${keys},"Timestamp":"${time}",${annotatedMembers}}`;
    const entity = stored(example);
    assert.equal(
      pageBody([entity, entity], context('minimal')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl","value":[${item},${item}]}`,
    );
  });

  it('shows each entity with its links', () => {
    assert.equal(
      pageBody([stored([])], context('full')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl","value":[{${fullLinks},${keys},` +
        `"Timestamp@odata.type":"Edm.DateTime","Timestamp":"${time}"}]}`,
    );
  });
});

describe('selected properties', () => {
  it('are shown whatever their number and order, null where the entity lacks them', () => {
    const value: EdmValue = { type: 'Edm.Int32', value: 7 };
    const properties = Array.from({ length: 40 }, (_, place) => ({ name: `é${place}`, value }));
    const missing = Array.from({ length: 20 }, (_, place) => `none${place}`);
    const select = [...properties.map(({ name }) => name).toReversed(), ...missing];
    const shown = renderEntity(stored(properties), { ...context('none'), select });
    const expected = Object.fromEntries([
      ...properties.map(({ name }) => [name, 7]),
      ...missing.map((name) => [name, null]),
    ]);
    assert.deepEqual(JSON.parse(shown.toString()), expected);
  });

  const entity = stored(example);
  const suffix = (text: string) => `&$select=${text}`;

  it('are shown in stored order, the missing ones as null', () => {
    assert.equal(
      renderEntity(entity, context('minimal', 'sex,age,xyz')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl/@Element${suffix('sex,age,xyz')}",${etag},` +
        '"age@odata.type":"Edm.Int64","age":"39","sex":"male","xyz":null}',
    );
  });

  it('include keys and Timestamp only when named', () => {
    const text = 'RowKey,Timestamp,PartitionKey';
    assert.equal(
      pageBody([entity, entity], context('none', text)).toString(),
      `{"value":[{${keys},"Timestamp":"${time}"},{${keys},"Timestamp":"${time}"}]}`,
    );
  });

  it('may be none that the entity has', () => {
    assert.equal(renderEntity(entity, context('none', 'x"y')).toString(), '{"x\\"y":null}');
    assert.equal(
      pageBody([entity, stored([])], context('none', 'age')).toString(),
      '{"value":[{"age":"39"},{"age":null}]}',
    );
  });

  it('leave the links of full metadata', () => {
    assert.equal(
      renderEntity(entity, context('full', 'other')).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl/@Element${suffix('other')}",${fullLinks},"other":20}`,
    );
  });

  it('are everything when the list is empty, which the metadata tells', () => {
    const all = { ...context('minimal', ''), select: undefined };
    assert.equal(
      renderEntity(stored([]), all).toString(),
      `{"odata.metadata":"${base}/$metadata#tbl/@Element&$select=",${etag},${keys},"Timestamp":"${time}"}`,
    );
  });

  it('are those of any subset', () => {
    fc.assert(
      fc.property(anyProperties, fc.nat(), (properties, seed) => {
        const chosen = properties.filter((_, index) => (seed >> (index % 30)) % 2 === 0);
        const select = chosen.map(({ name }) => name).toReversed();
        const shown = renderEntity(stored(properties), { ...context('minimal'), select });
        assert.deepEqual(readEntityBody(shown.toString()).properties, chosen);
      }),
    );
  });
});

describe('values', () => {
  const examples: readonly [EdmValue, string][] = [
    [{ type: 'Edm.Double', value: 3 }, '"x":3.0'],
    [{ type: 'Edm.Double', value: -0 }, '"x":-0.0'],
    [{ type: 'Edm.Double', value: 1e16 }, '"x":10000000000000000.0'],
    [{ type: 'Edm.Double', value: 1e21 }, '"x":1e+21'],
    [{ type: 'Edm.Double', value: 5e-324 }, '"x":5e-324'],
    [{ type: 'Edm.Double', value: 0.1 }, '"x":0.1'],
    [{ type: 'Edm.Double', value: NaN }, '"x@odata.type":"Edm.Double","x":"NaN"'],
    [{ type: 'Edm.Double', value: Infinity }, '"x@odata.type":"Edm.Double","x":"Infinity"'],
    [{ type: 'Edm.Double', value: -Infinity }, '"x@odata.type":"Edm.Double","x":"-Infinity"'],
    [{ type: 'Edm.Int32', value: -2_147_483_648 }, '"x":-2147483648'],
    [{ type: 'Edm.Int32', value: 0 }, '"x":0'],
    [{ type: 'Edm.Int32', value: 100 }, '"x":100'],
    [
      { type: 'Edm.Int64', value: -(2n ** 63n) },
      '"x@odata.type":"Edm.Int64","x":"-9223372036854775808"',
    ],
    [{ type: 'Edm.Int64', value: -1n }, '"x@odata.type":"Edm.Int64","x":"-1"'],
    [{ type: 'Edm.Boolean', value: false }, '"x":false'],
    [{ type: 'Edm.String', value: 'a"\\/<>&\'\n\u0001ü😀' }, `"x":"a\\"\\\\/<>&'\\n\\u0001ü😀"`],
    [{ type: 'Edm.String', value: '\ud800' }, '"x":"\\ud800"'],
    [{ type: 'Edm.Binary', value: Buffer.alloc(0) }, '"x@odata.type":"Edm.Binary","x":""'],
  ];
  for (const [value, expected] of examples) {
    it(`are written ${expected}`, () => {
      const text = renderEntity(stored([{ name: 'x', value }]), context('minimal')).toString();
      assert.ok(text.endsWith(`,${expected}}`), text);
    });
  }

  it('have no annotation without metadata, not even where they need it', () => {
    const entity = stored([{ name: 'x', value: { type: 'Edm.Double', value: NaN } }]);
    assert.ok(renderEntity(entity, context('none')).toString().endsWith(',"x":"NaN"}'));
  });
});

describe('rendering', () => {
  const entity = fc.record(
    {
      partitionKey: anyText,
      rowKey: anyText,
      version: fc.nat(4_000_000_000_000_000),
      bag: anyProperties.map(encodeBag),
    },
    { noNullPrototype: true },
  );

  it('and reading give back keys and every property, at both annotated levels', () => {
    fc.assert(
      fc.property(entity, fc.constantFrom('minimal' as const, 'full' as const), (each, level) => {
        const body = readEntityBody(renderEntity(each, context(level)).toString());
        assert.deepEqual(
          { ...body },
          {
            partitionKey: each.partitionKey,
            rowKey: each.rowKey,
            properties: decodeBag(each.bag),
          },
        );
      }),
    );
  });

  it('makes JSON whose items are the entities, at every level', () => {
    const levels = fc.constantFrom('none' as const, 'minimal' as const, 'full' as const);
    fc.assert(
      fc.property(fc.array(entity, { maxLength: 8 }), levels, (entities, level) => {
        const page: unknown = JSON.parse(pageBody(entities, context(level)).toString());
        const items = entities.map((each): unknown => {
          const one = JSON.parse(renderEntity(each, context(level)).toString()) as object;
          return Object.fromEntries(
            Object.entries(one).filter(([name]) => name !== 'odata.metadata'),
          );
        });
        assert.deepEqual((page as { value: unknown }).value, items);
      }),
    );
  });

  it('of a page is that of its entities side by side, however they come', () => {
    const levels = fc.constantFrom('none' as const, 'minimal' as const, 'full' as const);
    const selects = fc.constantFrom(undefined, 'RowKey,b', 'PartitionKey,zz', 'Timestamp');
    // Neighbours are often alike in partition and version, as those of one transaction.
    const neighbour = fc.record({
      partitionKey: fc.oneof(fc.constantFrom('p', 'q"\u0001'), anyText),
      rowKey: fc.oneof(fc.constantFrom('r1', 'r2'), anyText),
      version: fc.oneof(
        fc.constantFrom(1_700_000_000_123_456, 1_700_000_000_999_999),
        fc.nat(4_000_000_000_000_000),
      ),
      bag: anyProperties.map(encodeBag),
    });
    const pages = fc.array(neighbour, { maxLength: 8 });
    fc.assert(
      fc.property(pages, levels, selects, fc.nat({ max: 8 }), (entities, level, select, taken) => {
        const of = context(level, select);
        const body = new EntityPageBody(of, 0);
        for (const each of entities.slice(0, taken)) takeInPlace(body, each);
        const whole = body.endWith(entities.slice(taken)).toString();
        const items = entities.map((each) => withoutMetadata(renderEntity(each, of).toString()));
        const [head] = pageBody([], of).toString().split(']');
        assert.equal(whole, `${head}${items.join(',')}]}`);
      }),
    );
  });

  it('of a page goes on where another one has begun meanwhile', () => {
    const of = context('minimal');
    const entities = Array.from({ length: 6 }, (_, row) =>
      stored([{ name: 'n', value: { type: 'Edm.Int32', value: row } }], { rowKey: `r${row}` }),
    );
    const [one, other] = [new EntityPageBody(of, 0), new EntityPageBody(of, 0)];
    const pieces = one.endInPieces(entities);
    pieces.next();
    for (const each of entities.toReversed()) takeInPlace(other, each);
    pieces.next();
    const single = renderEntity(stored([]), of).toString();
    let step = pieces.next();
    while (step.done !== true) step = pieces.next();
    assert.equal(step.value.toString(), pageBody(entities, of).toString());
    assert.equal(other.endWith([]).toString(), pageBody(entities.toReversed(), of).toString());
    assert.equal(single, renderEntity(stored([]), of).toString());
  });

  it('of a page is written at once up to a bound', () => {
    const value = { type: 'Edm.String' as const, value: 'x'.repeat(30_000) };
    const long = stored([{ name: 'long', value }]);
    const body = new EntityPageBody(context('none'), 1_000);
    let count = 0;
    for (; body.accepts(long.bag.length); count += 1) body.take(long);
    assert.equal(count, Math.floor(bytesAtOnceMax / (long.bag.length + 1_400)));
    assert.ok(body.bytesWith([long]) > bytesAtOnceMax);
    const expected = pageBody(
      Array.from({ length: count + 1 }, () => long),
      context('none'),
    );
    assert.ok(body.endWith([long]).equals(expected));
  });

  it('makes room for what grows most', costly(), () => {
    const value = { type: 'Edm.String' as const, value: '\u0001'.repeat(32_768) };
    const escaped = Array.from({ length: 15 }, (_, index) => ({ name: `s${index}`, value }));
    const bytes = { type: 'Edm.Binary' as const, value: Buffer.alloc(65_536, 0xff) };
    const binary = Array.from({ length: 15 }, (_, index) => ({ name: `b${index}`, value: bytes }));
    const small = Array.from({ length: 237 }, (_, index) => ({
      name: `i${index}`,
      value: { type: 'Edm.Int64' as const, value: -(2n ** 63n) },
    }));
    const tall = { partitionKey: '\u0001'.repeat(512), rowKey: '日'.repeat(512) };
    for (const properties of [
      escaped,
      escaped.slice(1, 2),
      binary,
      small,
      [...escaped, ...small],
      [],
    ]) {
      const each = stored(properties, tall);
      const text = pageBody([each, each, each], context('full')).toString();
      const { value: items } = JSON.parse(text) as { value: object[] };
      for (const item of items) {
        assert.deepEqual(readEntityBody(JSON.stringify(item)).properties, properties);
      }
    }
  });
});

describe('tables', () => {
  const tables = [{ name: 'mytable' }, { name: 'other' }];

  it('are shown one by one', () => {
    const show = (level: MetadataLevel) => renderTable('mytable', context(level)).toString();
    const metadata = `"odata.metadata":"${base}/$metadata#Tables/@Element"`;
    assert.equal(show('none'), '{"TableName":"mytable"}');
    assert.equal(show('minimal'), `{${metadata},"TableName":"mytable"}`);
    assert.equal(
      show('full'),
      `{${metadata},"odata.type":"devstoreaccount1.Tables","odata.id":"${base}/Tables('mytable')",` +
        `"odata.editLink":"Tables('mytable')","TableName":"mytable"}`,
    );
  });

  it('are shown as a list, also of none', () => {
    const metadata = `"odata.metadata":"${base}/$metadata#Tables"`;
    assert.equal(
      renderTables(tables, context('minimal')).toString(),
      `{${metadata},"value":[{"TableName":"mytable"},{"TableName":"other"}]}`,
    );
    assert.equal(
      renderTables(tables, context('none')).toString(),
      '{"value":[{"TableName":"mytable"},{"TableName":"other"}]}',
    );
    assert.equal(renderTables([], context('minimal')).toString(), `{${metadata},"value":[]}`);
  });
});
