import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quoted } from '../kit/client.js';
import { assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';
import { member, writeAndRead } from '../kit/typed-values.js';

// table-service §14 no. 4: dates to 100 ns, and the other types that are strings in JSON.

const { client } = await startFixture();
const table = await client.newTable();
const invalid = refusals.bodyNotParseable;

const annotated = (type: string, text: string) => `"v@odata.type":"${type}","v":"${text}"`;

describe('Edm.DateTime', () => {
  const accepted: readonly (readonly [sent: string, stored: string])[] = [
    ['1601-01-01T00:00:00Z', '1601-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.9999999Z'],
    ['2017-11-10T02:46:57.0430859Z', '2017-11-10T02:46:57.0430859Z'],
    ['2017-11-10T02:46:57.0000001Z', '2017-11-10T02:46:57.0000001Z'],
    ['2017-11-10T02:46:05.200Z', '2017-11-10T02:46:05.2Z'],
    ['2017-11-10T02:46:05.2000000Z', '2017-11-10T02:46:05.2Z'],
    ['2017-11-10T00:00:00.000000Z', '2017-11-10T00:00:00Z'],
    ['2017-11-10T02:46:57.1234500Z', '2017-11-10T02:46:57.12345Z'],
    ['2024-02-29T12:00:00Z', '2024-02-29T12:00:00Z'],
    ['1969-12-31T23:59:59.9999999Z', '1969-12-31T23:59:59.9999999Z'],
    ['2020-01-01T02:00:00+02:00', '2020-01-01T00:00:00Z'],
    ['2019-12-31T18:30:00.5-05:30', '2020-01-01T00:00:00.5Z'],
    ['2020-01-01T00:00:00+00:00', '2020-01-01T00:00:00Z'],
    ['2020-01-01T00:00:00', '2020-01-01T00:00:00Z'],
    ['2020-01-01T00:00:00.1234567', '2020-01-01T00:00:00.1234567Z'],
    ['9999-12-31T23:59:59.9999999+00:00', '9999-12-31T23:59:59.9999999Z'],
    ['1601-01-01T01:00:00+01:00', '1601-01-01T00:00:00Z'],
  ];
  for (const [sent, stored] of accepted) {
    it(`${sent} comes back as ${stored}`, async () => {
      const written = await writeAndRead(client, table, member(`"${sent}"`, 'Edm.DateTime'));
      assert.equal(written.response.status, 204, written.response.text);
      assert.equal(written.stored, annotated('Edm.DateTime', stored));
    });

    it(`${sent} is found by its value and by no neighbour`, async () => {
      const fresh = await client.newTable();
      await client.put(
        fresh,
        `{"PartitionKey":"p","RowKey":"r",${member(`"${sent}"`, 'Edm.DateTime')}}`,
      );
      assert.deepEqual(await client.rowKeys(fresh, `v eq datetime${quoted(stored)}`), ['r']);
      assert.deepEqual(await client.rowKeys(fresh, `v ne datetime${quoted(stored)}`), []);
      assert.deepEqual(await client.rowKeys(fresh, `v lt datetime${quoted(stored)}`), []);
      assert.deepEqual(await client.rowKeys(fresh, `v gt datetime${quoted(stored)}`), []);
    });
  }

  const refused = [
    '',
    'not-a-date',
    '2021-02-29T00:00:00Z',
    '2021-13-01T00:00:00Z',
    '2021-01-01T24:00:01Z',
    '2021-01-01T00:60:00Z',
    '2021-01-01T00:00:00Zjunk',
    '21-01-01T00:00:00Z',
    ' ',
    'Infinity',
  ];
  for (const text of refused) {
    it(`'${text}' is 400 InvalidInput and stores nothing`, async () => {
      const written = await writeAndRead(client, table, member(`"${text}"`, 'Edm.DateTime'));
      assertJsonError(written.response, invalid);
      assert.equal(written.stored, undefined);
    });
  }

  const outside: readonly (readonly [text: string, shown: string])[] = [
    ['1600-12-31T23:59:59.9999999Z', '12/31/1600 23:59:59'],
    ['1500-01-02T03:04:05Z', '01/02/1500 03:04:05'],
    ['0001-01-01T00:00:00Z', '01/01/0001 00:00:00'],
    ['1601-01-01T00:59:59+01:00', '12/31/1600 23:59:59'],
  ];
  for (const [text, shown] of outside) {
    it(`${text} is 400 OutOfRangeInput and stores nothing`, async () => {
      const written = await writeAndRead(client, table, member(`"${text}"`, 'Edm.DateTime'));
      assertJsonError(written.response, {
        status: 400,
        code: 'OutOfRangeInput',
        message: `The 'v' parameter of value '${shown}' is out of range.`,
      });
      assert.equal(written.stored, undefined);
    });
  }

  it('numbers and booleans are no dates', async () => {
    for (const json of ['0', '1763719200000', 'true', '{}', '[]']) {
      const written = await writeAndRead(client, table, member(json, 'Edm.DateTime'));
      assertJsonError(written.response, { status: 400, code: 'InvalidInput' });
      assert.equal(written.stored, undefined);
    }
  });

  it('text without annotation stays a string', async () => {
    const { stored } = await writeAndRead(client, table, member('"2020-01-01T00:00:00Z"'));
    assert.equal(stored, '"v":"2020-01-01T00:00:00Z"');
  });
});

describe('Edm.Guid', () => {
  const canonical = 'c9da6455-213d-42c9-9a79-3e9149a57833';
  for (const text of [canonical, canonical.toUpperCase()]) {
    it(`${text} comes back in lower case`, async () => {
      const { stored } = await writeAndRead(client, table, member(`"${text}"`, 'Edm.Guid'));
      assert.equal(stored, annotated('Edm.Guid', canonical));
    });
  }

  for (const text of [
    '',
    'zzz',
    `${canonical}0`,
    canonical.slice(1),
    canonical.replace('c', 'g'),
  ]) {
    it(`'${text}' is 400 InvalidInput`, async () => {
      const written = await writeAndRead(client, table, member(`"${text}"`, 'Edm.Guid'));
      assertJsonError(written.response, invalid);
      assert.equal(written.stored, undefined);
    });
  }
});

describe('Edm.Binary', () => {
  for (const bytes of [[], [0], [0, 255], [1, 2, 3], Array.from({ length: 256 }, (_, i) => i)]) {
    it(`${bytes.length} bytes round-trip`, async () => {
      const text = Buffer.from(bytes).toString('base64');
      const { stored } = await writeAndRead(client, table, member(`"${text}"`, 'Edm.Binary'));
      assert.equal(stored, annotated('Edm.Binary', text));
    });
  }

  for (const text of ['***', 'A', 'AAA\u0000', 'AA=A', 'é']) {
    it(`${JSON.stringify(text)} is 400 InvalidInput`, async () => {
      const json = JSON.stringify(text);
      const written = await writeAndRead(client, table, member(json, 'Edm.Binary'));
      assertJsonError(written.response, invalid);
      assert.equal(written.stored, undefined);
    });
  }
});

describe('null, nested values and duplicates (table-service §2.4, §2.5)', () => {
  it('null on insert is not stored, with or without annotation', async () => {
    for (const members of ['"v":null', '"v@odata.type":"Edm.Int64","v":null']) {
      const { response, stored } = await writeAndRead(client, table, `${members},"w":1`);
      assert.equal(response.status, 204);
      assert.equal(stored, '"w":1');
    }
  });

  it('nested objects and arrays are 400 InvalidInput', async () => {
    for (const json of ['{}', '{"a":1}', '[]', '[1]']) {
      const { response, stored } = await writeAndRead(client, table, member(json));
      assertJsonError(response, { status: 400, code: 'InvalidInput' });
      assert.equal(stored, undefined);
    }
  });

  it('a property twice is 400 DuplicatePropertiesSpecified', async () => {
    for (const members of ['"v":1,"v":2', '"v":1,"w":1,"v":1', '"v":null,"v":1', '"RowKey":"x"']) {
      const { response, stored } = await writeAndRead(client, table, members);
      assertJsonError(response, {
        status: 400,
        code: 'DuplicatePropertiesSpecified',
        message: 'A property is specified more than one time.',
      });
      assert.equal(stored, undefined);
    }
  });

  it('names that differ in case are different properties', async () => {
    const { stored } = await writeAndRead(client, table, '"v":1,"V":2,"partitionKey":3,"rowkey":4');
    assert.equal(stored, '"v":1,"V":2,"partitionKey":3,"rowkey":4');
  });

  it('Timestamp and odata members of the body are ignored', async () => {
    const bodies = [
      '"Timestamp":"2001-01-01T00:00:00Z"',
      '"Timestamp":null',
      '"Timestamp@odata.type":"Edm.DateTime","Timestamp":"2001-01-01T00:00:00Z"',
      '"Timestamp":"","odata.etag":"x","odata.metadata":"y","odata.id":"z","odata.editLink":"u","odata.type":"a.b"',
    ];
    for (const members of bodies) {
      const { response, stored } = await writeAndRead(client, table, `${members},"w":1`);
      assert.equal(response.status, 204, response.text);
      assert.equal(stored, '"w":1');
    }
  });
});

describe('property names (table-service §2.4)', () => {
  for (const name of [
    'a',
    '_',
    '_a1',
    'ß',
    'straße',
    '日本',
    'é',
    'a\u0301',
    'x'.repeat(255),
    'A1_b',
  ]) {
    it(`${name.slice(0, 20)} is accepted`, async () => {
      const { response, stored } = await writeAndRead(client, table, `${JSON.stringify(name)}:1`);
      assert.equal(response.status, 204, response.text);
      assert.equal(stored, `"${name}":1`);
    });
  }

  for (const name of ['a-b', '1a', 'a b', 'a.b', '', 'a$', 'a/b', '"', "a'b", '-', '😀']) {
    it(`${JSON.stringify(name)} is 400 PropertyNameInvalid`, async () => {
      const { response, stored } = await writeAndRead(client, table, `${JSON.stringify(name)}:1`);
      assertJsonError(response, refusals.propertyNameInvalid);
      assert.equal(stored, undefined);
    });
  }
});
