import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { EdmType, EdmValue } from '../../model/edm/value.js';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { readEntityBody } from '../../../test/support/entity-bodies.js';
import { parseTableBody } from './json-reader.js';
import { costly } from '../../../test/support/run-length.js';

function refusal(code: ErrorCode, message?: string) {
  return (error: unknown) =>
    error instanceof StorageError &&
    error.code === code &&
    (message === undefined || error.message === message);
}

const malformed = refusal('InvalidInput', 'An error occurred while processing this request.');

/** The value of property `x` in a body with the given members. */
function valueIn(members: string): EdmValue | undefined {
  return readEntityBody(`{${members}}`).properties.find(({ name }) => name === 'x')?.value;
}

describe('values without annotation', () => {
  const examples: readonly [string, EdmType, unknown][] = [
    ['"text"', 'Edm.String', 'text'],
    ['true', 'Edm.Boolean', true],
    ['false', 'Edm.Boolean', false],
    ['3', 'Edm.Int32', 3],
    ['-0', 'Edm.Int32', 0],
    ['2147483647', 'Edm.Int32', 2_147_483_647],
    ['-2147483648', 'Edm.Int32', -2_147_483_648],
    ['3.0', 'Edm.Double', 3],
    ['3e0', 'Edm.Double', 3],
    ['1E5', 'Edm.Double', 100_000],
    ['-0.0', 'Edm.Double', -0],
    ['2147483648', 'Edm.Double', 2_147_483_648],
    ['-2147483649', 'Edm.Double', -2_147_483_649],
    ['1763719200000', 'Edm.Double', 1_763_719_200_000],
    ['1e21', 'Edm.Double', 1e21],
    ['5e-324', 'Edm.Double', 5e-324],
    ['1.797693134862315e308', 'Edm.Double', 1.797_693_134_862_315e308],
  ];
  for (const [text, type, value] of examples) {
    it(`take ${text} for ${type}`, () => {
      assert.deepEqual(valueIn(`"x":${text}`), { type, value });
    });
  }

  it('drop null', () => {
    assert.equal(valueIn('"x":null'), undefined);
  });
});

describe('annotated values', () => {
  const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
  const examples: readonly [EdmType, string, unknown][] = [
    ['Edm.String', '"5"', '5'],
    ['Edm.Int32', '"54"', 54],
    ['Edm.Int32', '"+54"', 54],
    ['Edm.Int32', '54', 54],
    ['Edm.Int64', '"9007199254740993"', 9_007_199_254_740_993n],
    ['Edm.Int64', '9007199254740993', 9_007_199_254_740_993n],
    ['Edm.Int64', '"-9223372036854775808"', -(2n ** 63n)],
    ['Edm.Double', '"3"', 3],
    ['Edm.Double', '4', 4],
    ['Edm.Double', '"1.5E10"', 1.5e10],
    ['Edm.Double', '"NaN"', NaN],
    ['Edm.Double', '"Infinity"', Infinity],
    ['Edm.Double', '"-Infinity"', -Infinity],
    ['Edm.Boolean', '"true"', true],
    ['Edm.Boolean', 'false', false],
    ['Edm.DateTime', '"1601-01-01T00:00:00Z"', 504_911_232_000_000_000n],
    ['Edm.Guid', `"${guid.toUpperCase()}"`, guid],
    ['Edm.Binary', '"YmluYXJ5"', Buffer.from('binary')],
    ['Edm.Binary', '""', Buffer.alloc(0)],
  ];
  for (const [type, text, value] of examples) {
    it(`take ${text} for ${type}, wherever the annotation stands`, () => {
      const annotation = `"x@odata.type":"${type}"`;
      for (const members of [
        `${annotation},"x":${text}`,
        `"x":${text},${annotation}`,
        `${annotation},"a":1,"b":2,"x":${text}`,
        `"x":${text},"a":1,${annotation},"b":2`,
        `"a@odata.type":"Edm.Int32",${annotation},"a":1,"x":${text}`,
      ]) {
        assert.deepEqual(valueIn(members), { type, value }, members);
      }
    });
  }

  for (const [type, text] of [
    ['Edm.Foo', '"x"'],
    ['', '"x"'],
    ['Edm.String', '5'],
    ['Edm.String', 'true'],
    ['Edm.Int32', '"99999999999"'],
    ['Edm.Int32', '2147483648'],
    ['Edm.Int32', '3.0'],
    ['Edm.Int32', '""'],
    ['Edm.Int64', '"abc"'],
    ['Edm.Int64', '"18446744073709551615"'],
    ['Edm.Int64', '5.0'],
    ['Edm.Int64', '""'],
    ['Edm.Double', '"1.797693134862316e308"'],
    ['Edm.Double', '""'],
    ['Edm.Double', 'true'],
    ['Edm.Boolean', '"yes"'],
    ['Edm.Boolean', '1'],
    ['Edm.DateTime', '"not-a-date"'],
    ['Edm.DateTime', '""'],
    ['Edm.DateTime', '5'],
    ['Edm.Guid', '"zzz"'],
    ['Edm.Guid', '""'],
    ['Edm.Binary', '"***"'],
    ['Edm.Foo', 'null'],
  ]) {
    it(`refuse ${text} as ${type}`, () => {
      assert.throws(() => valueIn(`"x@odata.type":"${type}","x":${text}`), malformed);
    });
  }

  it('refuse dates out of range with a message that names them', () => {
    assert.throws(
      () => valueIn('"x@odata.type":"Edm.DateTime","x":"1500-01-01T00:00:00Z"'),
      refusal(
        'OutOfRangeInput',
        "The 'x' parameter of value '01/01/1500 00:00:00' is out of range.",
      ),
    );
  });
});

describe('bodies of writes', () => {
  it('hold the keys apart from the properties', () => {
    const body = readEntityBody(
      '{"PartitionKey@odata.type":"Edm.String","PartitionKey":"p","RowKey":"O\'Neil","n":5}',
    );
    assert.deepEqual(body, {
      partitionKey: 'p',
      rowKey: "O'Neil",
      properties: [{ name: 'n', value: { type: 'Edm.Int32', value: 5 } }],
    });
  });

  it('may escape any character of a key', () => {
    const body = readEntityBody(
      String.raw`{"PartitionKey":"\u0416\ud800","RowKey":"a\u00e9-\u20ac"}`,
    );
    assert.deepEqual([body.partitionKey, body.rowKey], ['Ж\ud800', 'aé-€']);
    for (const key of ['', 'x'.repeat(512), 'Ж'.repeat(512), 'é', '😀\ud800']) {
      assert.equal(readEntityBody(JSON.stringify({ RowKey: key })).rowKey, key);
      assert.equal(readEntityBody(`{"RowKey":"${key}"}`).rowKey, key);
    }
  });

  it('read the worked example', () => {
    const { properties } = readEntityBody(
      '{"PartitionKey":"p","RowKey":"r","n":5,"d":"3","d@odata.type":"Edm.Double",' +
        '"big":"9007199254740993","big@odata.type":"Edm.Int64"}',
    );
    assert.deepEqual(properties, [
      { name: 'n', value: { type: 'Edm.Int32', value: 5 } },
      { name: 'd', value: { type: 'Edm.Double', value: 3 } },
      { name: 'big', value: { type: 'Edm.Int64', value: 9_007_199_254_740_993n } },
    ]);
  });

  it('may leave out the keys, or everything', () => {
    for (const text of ['', ' \n', '{}', '{"PartitionKey":null}']) {
      const { partitionKey, rowKey, properties } = readEntityBody(text);
      assert.deepEqual([partitionKey, rowKey, properties], [undefined, undefined, []]);
    }
  });

  it('ignore metadata and Timestamp, whatever they hold', () => {
    for (const value of ['null', '1', '"x"', '{"a":[1,{"b":[]},{}]}', '[[],{"c":null}]']) {
      const { properties } = readEntityBody(
        `{"odata.etag":${value},"Timestamp":${value},"Timestamp@odata.type":${value},` +
          `"x@odata.mediaEditLink":${value},"odata.type":${value},"x":1}`,
      );
      assert.deepEqual(properties, [{ name: 'x', value: { type: 'Edm.Int32', value: 1 } }]);
    }
  });

  it('take names like __proto__ and partitionKey for ordinary ones', () => {
    const names = ['__proto__', 'constructor', 'partitionKey', 'timestamp', 'ß', '日本'];
    const members = names.map((name) => `"${name}":1`).join(',');
    const { properties } = readEntityBody(`{${members}}`);
    assert.deepEqual(
      properties.map(({ name }) => name),
      names,
    );
  });

  it('keep escapes, quotes and surrogates without partners', () => {
    assert.deepEqual(valueIn(String.raw`"x":"a\"\\\/\b\f\n\r\t\u00e9\ud800b\ud83d\ude00"`), {
      type: 'Edm.String',
      value: 'a"\\/\b\f\n\r\té\ud800b😀',
    });
    assert.deepEqual(valueIn(String.raw`"\u0078":1`), { type: 'Edm.Int32', value: 1 });
  });

  it('refuse two members of one name, in few and in many', () => {
    for (const count of [1, 16, 17, 40, 200]) {
      const names = Array.from({ length: count }, (_, index) => `"p${index}":1`);
      readEntityBody(`{${names.join(',')}}`);
      for (const again of ['"p0":2', `"p${count - 1}":null`]) {
        assert.throws(
          () => readEntityBody(`{${names.join(',')},${again}}`),
          refusal('DuplicatePropertiesSpecified'),
        );
      }
    }
    for (const text of [
      '{"PartitionKey":"a","PartitionKey":"a"}',
      '{"x":1,"x@odata.type":"Edm.Int32","x@odata.type":"Edm.Int32"}',
      '{"x@odata.type":"Edm.Int32","x":1,"x@odata.type":"Edm.Int32"}',
      '{"x@odata.type":"Edm.Int32","y":1,"x@odata.type":"Edm.Int32","x":1}',
    ]) {
      assert.throws(() => readEntityBody(text), refusal('DuplicatePropertiesSpecified'), text);
    }
  });

  it('refuse names that properties may not have', () => {
    for (const name of ['a-b', '', '1a', 'a b', 'a@b']) {
      assert.throws(() => valueIn(`"${name}":1`), refusal('PropertyNameInvalid'), name);
    }
    readEntityBody(`{"${'x'.repeat(255)}":1}`);
    assert.throws(() => valueIn(`"${'x'.repeat(256)}":1`), refusal('PropertyNameTooLong'));
  });

  it('refuse more than 252 properties, nulls aside', () => {
    const members = Array.from({ length: 252 }, (_, index) => `"p${index}":1`).join(',');
    const keys = '"PartitionKey":"a","RowKey":"b","n":null';
    assert.equal(readEntityBody(`{${keys},${members}}`).properties.length, 252);
    assert.throws(() => readEntityBody(`{${members},"one":1}`), refusal('TooManyProperties'));
  });

  it('stops at the property that is one too many, whatever follows', () => {
    const members = Array.from({ length: 252 }, (_, index) => `"p${index}":${index}`).join(',');
    const keys = '"PartitionKey":"p","RowKey":"r"';
    assert.throws(
      () => readEntityBody(`{${keys},${members},"one":1 this is no JSON`),
      refusal('TooManyProperties'),
    );
    assert.throws(
      () => readEntityBody(`{${keys},${members},"none":null this is no JSON`),
      refusal('InvalidInput'),
    );
  });

  for (const [what, member] of [
    ['null', 'null'],
    ['annotations', '"Edm.Int64"'],
  ] as const) {
    it(`stops at far more ${what} than any entity needs`, () => {
      const suffix = what === 'annotations' ? '@odata.type' : '';
      const members = (count: number) =>
        Array.from({ length: count }, (_, index) => `"p${index}${suffix}":${member}`).join(',');
      assert.equal(readEntityBody(`{${members(5_000)}}`).properties.length, 0);
      assert.throws(
        () => readEntityBody(`{${members(20_002)} this is no JSON`),
        refusal('TooManyProperties'),
      );
    });
  }

  for (const text of [
    '{"x":1',
    '{"x":1,}',
    '{,}',
    '{"x" 1}',
    '{"x":}',
    "{'x':1}",
    '{x:1}',
    '{"x":01}',
    '{"x":+1}',
    '{"x":.5}',
    '{"x":1.}',
    '{"x":1e}',
    '{"x":-}',
    '{"x":NaN}',
    '{"x":truely}',
    '{"x":True}',
    '{"x":"a}',
    '{"x":"a\nb"}',
    '{"x":"a\\"b\nc"}',
    String.raw`{"x":"\q"}`,
    String.raw`{"x":"\u12"}`,
    '{"x":"\\',
    '{"x":1}}',
    '{"x":1} {}',
    '[]',
    '"x"',
    'null',
    '<entry/>',
    '{"x":{}}',
    '{"x":{"a":1}}',
    '{"x":[]}',
    '{"x":1e999}',
    '{"PartitionKey":5}',
    '{"RowKey":true}',
    '{"RowKey":"a","RowKey@odata.type":"Edm.Guid"}',
    '{"x@odata.type":5,"x":1}',
    '{"x@odata.type":null,"x":1}',
    '{"odata.x":[1,}',
    '{"odata.x":[1 2]}',
    '{"odata.x":{"a"}}',
    '{"odata.x":[}]}',
    `{"odata.x":${'['.repeat(100)}${']'.repeat(100)}}`,
  ]) {
    it(`are malformed as ${text.slice(0, 40)}`, () => {
      assert.throws(() => readEntityBody(text), malformed);
    });
  }

  it('agree with JSON about what is well formed', () => {
    const texts = fc.oneof(
      fc.json({ maxDepth: 2 }),
      fc
        .array(fc.constantFrom(...'{ } [ ] " : , \\ u e 0 1 2 . - + E true null "a"'.split(' ')), {
          maxLength: 12,
        })
        .map((parts) => `{"odata.x":${parts.join('')}}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const accepted = accepts(() => JSON.parse(`{"odata.y":${text}}`));
        assert.equal(
          accepts(() => readEntityBody(`{"odata.y":${text}}`)),
          accepted,
        );
      }),
      { numRuns: 400 },
    );
  });

  it('never fail in another way, whatever the text', () => {
    const parts = fc.array(
      fc.constantFrom('{', '}', '"x"', '"x@odata.type"', ':', ',', '"Edm.Int64"', '1', '"', '\\'),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          parts.map((all) => all.join('')),
        ),
        accepts,
      ),
      { numRuns: 400 },
    );
    function accepts(text: string) {
      try {
        readEntityBody(text);
        parseTableBody(text);
      } catch (error) {
        assert.ok(error instanceof StorageError);
      }
    }
  });

  it('take hostile bodies of 4 MiB without running out of stack', costly(), () => {
    const size = 4 * 1024 * 1024;
    for (const text of [
      '['.repeat(size),
      '{"x":'.repeat(size / 5),
      `{"odata.x":${'['.repeat(size)}`,
      `{"x":"${'a'.repeat(size)}`,
      `{"x":"${String.raw`\"`.repeat(size / 2)}`,
      `{"x":${'9'.repeat(size)}}`,
      `{"x@odata.type":"Edm.Int64","x":"${'9'.repeat(size)}"}`,
      `{"x@odata.type":"Edm.Double","x":"${'1'.repeat(size)}"}`,
      `{${Array.from({ length: size / 16 }, (_, index) => `"a${index}":1`).join(',')}}`,
      `{${Array.from({ length: size / 32 }, (_, i) => `"a${i}@odata.type":"Edm.X"`).join(',')}`,
      ' '.repeat(size - 1) + '}',
    ]) {
      assert.throws(() => readEntityBody(text), StorageError);
    }
    const long = 'é'.repeat(size / 2);
    assert.equal(valueIn(`"x":"${long}"`)?.value, long);
  });
});

describe('bodies of Create Table', () => {
  it('name the table', () => {
    assert.equal(parseTableBody('{"odata.type":"x","TableName":"mytable"}'), 'mytable');
  });

  it('may lack the name', () => {
    for (const text of ['', '{}', '{"TableName":null}', '{"tableName":"x"}']) {
      assert.equal(parseTableBody(text), undefined);
    }
  });

  it('are malformed when the name is no string', () => {
    for (const text of ['{"TableName":5}', '{"TableName":["a"]}', '{"TableName":']) {
      assert.throws(() => parseTableBody(text), malformed);
    }
  });
});

function accepts(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}
