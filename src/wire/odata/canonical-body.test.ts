import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { readCanonicalBody } from './canonical-body.js';
import { parseEntityBody, type EntityBody } from './json-reader.js';

/**
 * Reads a body until the heads of its members are remembered, as for repeated bodies of a client.
 */
function readKnown(body: Buffer, members = 1): EntityBody | undefined {
  const range = { bytes: body, start: 0, end: body.length };
  for (let time = 0; time <= members * 2; time += 1) {
    const read = readCanonicalBody(range);
    if (read !== undefined) return read;
  }
  return undefined;
}

/** The result of the general reader; undefined when it refuses the body. */
function parsed(body: Buffer, keysFrom: 'body' | 'path'): EntityBody | undefined {
  try {
    return parseEntityBody(body.toString(), undefined, keysFrom);
  } catch (error) {
    assert.ok(error instanceof StorageError, String(error));
    return undefined;
  }
}

/**
 * Checks that whatever this reader accepts, the general reader reads alike. Returns whether it was
 * accepted.
 */
function assertSame(body: Buffer, members = 1): boolean {
  const read = readKnown(body, members);
  if (read === undefined) return false;
  assert.deepEqual(read, parsed(body, 'body'), body.toString());
  assert.deepEqual(read, parsed(body, 'path'), body.toString());
  return true;
}

const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';

/** Members in the spelling of bags. */
const canonical: readonly string[] = [
  '"x":"text"',
  '"x":""',
  `"x":"${'long text of many words, '.repeat(20)}"`,
  '"x":"é, €, 🙂 and 16 more characters"',
  `"x":"${'🙂é'.repeat(40)}"`,
  '"x":0',
  '"x":-1',
  '"x":2147483647',
  '"x":-2147483648',
  '"x":3.5',
  '"x":-0.0',
  '"x":0.5',
  '"x":1234567.8901234',
  '"x":true',
  '"x":false',
  '"x":null',
  '"x@odata.type":"Edm.String","x":"text"',
  '"x@odata.type":"Edm.Int32","x":5',
  '"x@odata.type":"Edm.Double","x":5.25',
  '"x@odata.type":"Edm.Boolean","x":true',
  '"x@odata.type":"Edm.Int64","x":"0"',
  '"x@odata.type":"Edm.Int64","x":"9223372036854775807"',
  '"x@odata.type":"Edm.Int64","x":"-9223372036854775808"',
  '"x@odata.type":"Edm.DateTime","x":"1601-01-01T00:00:00Z"',
  '"x@odata.type":"Edm.DateTime","x":"9999-12-31T23:59:59.9999999Z"',
  '"x@odata.type":"Edm.DateTime","x":"2024-02-29T10:20:30.1Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00.10Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00.1230000Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00.0Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00.000Z"',
  `"x@odata.type":"Edm.Guid","x":"${guid}"`,
  '"x@odata.type":"Edm.Guid","x":null',
  '"x@odata.type":"Edm.Binary","x":""',
  '"x@odata.type":"Edm.Binary","x":"YmluYXJ5"',
  '"x@odata.type":"Edm.Binary","x":"YWE="',
  '"x@odata.type":"Edm.Binary","x":"YQ=="',
  '"odata.etag":"W/","odata.etag":"again","x":1',
  '"Timestamp@odata.type":"Edm.DateTime","Timestamp":"never","x":1',
];

/** Members that are spelled differently in a bag, or missing there. */
const others: readonly string[] = [
  '"x": 1',
  '"x":1 ',
  '"x":"\\u0041"',
  '"x":"tab\tinside"',
  '"x":"a",',
  '"x":"open',
  '"\\u0078":1',
  '"x\\":1',
  '"odata.\\":1',
  '"odata.\u0001":"y"',
  '"odata.context":{"a":[1]}',
  '"é":1',
  '"Ãª":1',
  '"x-y":1',
  '"":1',
  '"x":-0',
  '"x":01',
  '"x":2147483648',
  '"x":-2147483649',
  '"x":12345678901',
  '"x":1e5',
  '"x":1.50',
  '"x":0.01',
  '"x":.5',
  '"x":5.',
  '"x":-',
  '"x":12345678.90123456',
  '"x":NaN',
  '"x":tru',
  '"x":nul',
  '"x":1,"x":2',
  '"x":null,"x":2',
  '"x":1,"x@odata.type":"Edm.Int32"',
  '"x@odata.type":"Edm.Int32","y":1,"x":1',
  '"x@odata.type":"Edm.Int32","x":"5"',
  '"x@odata.type":"Edm.Int32","x":5.5',
  '"x@odata.type":"Edm.Double","x":5',
  '"x@odata.type":"Edm.Double","x":"NaN"',
  '"x@odata.type":"Edm.Boolean","x":"true"',
  '"x@odata.type":"Edm.Boolean","x":1',
  '"x@odata.type":"Edm.String","x":5',
  '"x@odata.type":"Edm.Int64","x":5',
  '"x@odata.type":"Edm.Int64","x":"-0"',
  '"x@odata.type":"Edm.Int64","x":"007"',
  '"x@odata.type":"Edm.Int64","x":"9223372036854775808"',
  '"x@odata.type":"Edm.Int64","x":"-9223372036854775809"',
  '"x@odata.type":"Edm.Int64","x":"12345678901234567890"',
  '"x@odata.type":"Edm.DateTime","x":"1600-12-31T00:00:00Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-02-29T00:00:00Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-13-01T00:00:00Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T24:00:00Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:60:00Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:60Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00.Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00.00000001Z"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01T00:00:00+01:00"',
  '"x@odata.type":"Edm.DateTime","x":"2023-01-01"',
  `"x@odata.type":"Edm.Guid","x":"${guid.toUpperCase()}"`,
  `"x@odata.type":"Edm.Guid","x":"${guid}0"`,
  `"x@odata.type":"Edm.Guid","x":"${guid.replace('-', '0')}"`,
  '"x@odata.type":"Edm.Binary","x":"YWF="',
  '"x@odata.type":"Edm.Binary","x":"YR=="',
  '"x@odata.type":"Edm.Binary","x":"YWE"',
  '"x@odata.type":"Edm.Binary","x":"Y"',
  '"x@odata.type":"Edm.Binary","x":"YQ-_"',
  '"x@odata.type":"Edm.Foo","x":"a"',
  '"x@odata.foo":5,"x":"a"',
  '"@odata.type":"Edm.String","":"a"',
  '"PartitionKey":5',
  '"RowKey":null',
  '"PartitionKey@odata.type":"Edm.String","PartitionKey":"p"',
  '"PartitionKey@odata.type":"Edm.Int32","PartitionKey":"p"',
];

const keys = '"PartitionKey":"p é","RowKey":"r"';

describe('bodies spelled as bags', () => {
  for (const member of canonical) {
    it(`read ${member.slice(0, 60)}`, () => {
      for (const body of [
        `{${member}}`,
        `{${keys},${member}}`,
        `{"a":1,${member},${keys}}`,
        `{"PartitionKey":"p",${member},"RowKey":"r","b":"c"}`,
      ]) {
        assert.ok(assertSame(Buffer.from(body), 8), body);
      }
    });
  }

  it('are read from the middle of other bytes', () => {
    const body = Buffer.from(`--{${keys},"x":"text"}\r\n--`);
    const range = { bytes: body, start: 2, end: body.length - 4 };
    assert.ok(assertSame(body.subarray(2, -4), 3));
    assert.equal(readCanonicalBody(range)?.rowKey, 'r');
    assert.equal(readCanonicalBody({ ...range, end: range.end - 1 }), undefined);
    assert.equal(readCanonicalBody({ ...range, end: range.end + 1 }), undefined);
  });

  it('leave nothing of the body in the result', () => {
    const body = Buffer.from(`{${keys},"x":"text"}`);
    const expected = parsed(body, 'body');
    const read = readKnown(body, 3);
    body.fill(0x20);
    assert.equal(readKnown(Buffer.from('{"y":"another body"}')) === undefined, false);
    assert.deepEqual(read, expected);
  });

  it('have as many properties as the rules allow', () => {
    const members = Array.from({ length: 252 }, (_, index) => `"p${index}":${index}`);
    const body = Buffer.from(`{${keys},${members.join(',')}}`);
    assert.ok(assertSame(body, 254));
    const range = { bytes: body, start: 0, end: body.length };
    assert.equal(readCanonicalBody(range, { countMax: 251 }), undefined);
    assert.ok(!assertSame(Buffer.from(`{"more":1,${members.join(',')}}`), 254));
  });
});

describe('other bodies', () => {
  for (const member of others) {
    it(`leave ${JSON.stringify(member)} to the general reader`, () => {
      for (const body of [`{${member}}`, `{${keys},${member}}`, `{${member},"b":1}`]) {
        assert.ok(!assertSame(Buffer.from(body), 6), body);
      }
    });
  }

  for (const body of [
    '',
    '{',
    '{}',
    '{,}',
    '[]',
    ' {"x":1}',
    '{"x":1}\n',
    '{"x":1',
    '{"x":1,}',
    '{"x"}',
  ]) {
    it(`leave ${JSON.stringify(body)} to the general reader`, () => {
      assert.ok(!assertSame(Buffer.from(body)));
    });
  }

  it('leave values over their limits to the general reader', () => {
    assert.ok(assertSame(Buffer.from(`{"x":"${'a'.repeat(32_768)}"}`)));
    assert.ok(!assertSame(Buffer.from(`{"x":"${'a'.repeat(32_769)}"}`)));
    assert.ok(!assertSame(Buffer.from(`{"x":"${'a'.repeat(70_000)}"}`)));
  });
});

const member = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...canonical) },
  { weight: 1, arbitrary: fc.constantFrom(...others) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'binary' }).map((text) => `"x":${JSON.stringify(text)}`),
  },
  { weight: 1, arbitrary: fc.double().map((value) => `"x":${JSON.stringify(value)}`) },
  { weight: 1, arbitrary: fc.integer().map((value) => `"x":${value}`) },
);

/** A member under one of a few names, so that names repeat. */
const named = fc
  .tuple(member, fc.constantFrom('x', 'y', 'name', 'Total', 'PartitionKey', 'RowKey', 'Timestamp'))
  .map(([text, name]) => text.replace(/"x(?=["@])/g, `"${name}`));

const edit = fc.record({
  at: fc.nat({ max: 400 }),
  removed: fc.nat({ max: 3 }),
  inserted: fc.oneof(
    fc.constantFrom('"', '\\', ',', ':', '{', '}', '0', '-', '.', 'e', ' ', '\0', '\n', 'é'),
    fc.constant(''),
  ),
});

function edited(
  text: string,
  edits: readonly (typeof edit extends fc.Arbitrary<infer E> ? E : never)[],
) {
  let result = text;
  for (const { at, removed, inserted } of edits) {
    const place = at % (result.length + 1);
    result = result.slice(0, place) + inserted + result.slice(place + removed);
  }
  return result;
}

describe('any body', () => {
  it('is read as the general reader reads it, or not at all', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.array(named, { maxLength: 6 }), (members) => {
        if (assertSame(Buffer.from(`{${members.join(',')}}`), 12)) read += 1;
      }),
      { numRuns: 500 },
    );
    assert.ok(read > 50, `only ${read} bodies were read`);
  });

  it('is read so after edits as well', () => {
    fc.assert(
      fc.property(
        fc.array(named, { minLength: 1, maxLength: 4 }),
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        (members, edits) => {
          const body = Buffer.from(edited(`{${members.join(',')}}`, edits));
          assert.ok(isUtf8(body));
          assertSame(body, 12);
        },
      ),
      { numRuns: 233 },
    );
  });
});
