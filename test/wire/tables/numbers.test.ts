import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';
import { member, writeAndRead } from '../kit/typed-values.js';

// table-service §14 no. 3 and §2.5: what a number in JSON becomes, and
// how it comes back.

const { client } = await startFixture();
const table = await client.newTable();

const invalid = refusals.bodyNotParseable;

describe('numbers without annotation', () => {
  const cases: readonly (readonly [json: string, stored: string])[] = [
    ['3', '3'],
    ['0', '0'],
    ['-7', '-7'],
    ['2147483647', '2147483647'],
    ['-2147483648', '-2147483648'],
    ['3.0', '3.0'],
    ['1.0', '1.0'],
    ['3e0', '3.0'],
    ['1e0', '1.0'],
    ['3E0', '3.0'],
    ['3.5', '3.5'],
    ['-2.5e-3', '-0.0025'],
    ['0.0', '0.0'],
    // Beyond Int32: a Double (choice of this server, table-service §2.5 rule 1).
    ['2147483648', '2147483648.0'],
    ['-2147483649', '-2147483649.0'],
    ['3000000000', '3000000000.0'],
    ['1763719200000', '1763719200000.0'],
    ['9007199254740993', '9007199254740992.0'],
  ];
  for (const [json, stored] of cases) {
    it(`${json} comes back as ${stored}`, async () => {
      const written = await writeAndRead(client, table, member(json));
      assert.equal(written.response.status, 204, written.response.text);
      assert.equal(written.stored, `"v":${stored}`);
    });
  }

  const extremes = [
    '1e21',
    '1E21',
    '5e-324',
    '1.7976931348623157e308',
    '-1e300',
    '123456789012345680000',
  ];
  for (const json of extremes) {
    it(`${json} comes back as a Double of the same value`, async () => {
      const { stored } = await writeAndRead(client, table, member(json));
      const text = /^"v":(.+)$/.exec(stored ?? '')?.[1] ?? '';
      assert.equal(Number(text), Number(json));
      assert.match(text, /[.eE]/, 'a Double always has a fraction or an exponent');
    });
  }

  for (const json of ['1e309', '-1e309', '1.797693134862316e308']) {
    it(`${json} is too large for a Double`, async () => {
      const { response, stored } = await writeAndRead(client, table, member(json));
      assertJsonError(response, invalid);
      assert.equal(stored, undefined);
    });
  }

  for (const json of ['03', '+3', '.5', '3.', '0x10', 'NaN', 'Infinity', '1_000', '3e']) {
    it(`${json} is no JSON`, async () => {
      const { response, stored } = await writeAndRead(client, table, member(json));
      assertJsonError(response, invalid);
      assert.equal(stored, undefined);
    });
  }
});

describe('numbers with annotation', () => {
  const accepted: readonly (readonly [type: string, json: string, stored: string])[] = [
    ['Edm.Double', '"3"', '"v":3.0'],
    ['Edm.Double', '"3.0"', '"v":3.0'],
    ['Edm.Double', '"3.5"', '"v":3.5'],
    ['Edm.Double', '"1.5E10"', '"v":15000000000.0'],
    ['Edm.Double', '4', '"v":4.0'],
    ['Edm.Double', '4.25', '"v":4.25'],
    ['Edm.Double', '"NaN"', '"v@odata.type":"Edm.Double","v":"NaN"'],
    ['Edm.Double', '"Infinity"', '"v@odata.type":"Edm.Double","v":"Infinity"'],
    ['Edm.Double', '"-Infinity"', '"v@odata.type":"Edm.Double","v":"-Infinity"'],
    ['Edm.Int32', '54', '"v":54'],
    ['Edm.Int32', '"54"', '"v":54'],
    ['Edm.Int32', '"+54"', '"v":54'],
    ['Edm.Int32', '"-2147483648"', '"v":-2147483648'],
    ['Edm.Int32', '"2147483647"', '"v":2147483647'],
    ['Edm.Int64', '"0"', '"v@odata.type":"Edm.Int64","v":"0"'],
    ['Edm.Int64', '"9007199254740993"', '"v@odata.type":"Edm.Int64","v":"9007199254740993"'],
    ['Edm.Int64', '"9223372036854775807"', '"v@odata.type":"Edm.Int64","v":"9223372036854775807"'],
    [
      'Edm.Int64',
      '"-9223372036854775808"',
      '"v@odata.type":"Edm.Int64","v":"-9223372036854775808"',
    ],
    // A number with this annotation: accepted (choice of this server).
    ['Edm.Int64', '5', '"v@odata.type":"Edm.Int64","v":"5"'],
    ['Edm.Boolean', 'true', '"v":true'],
    ['Edm.Boolean', '"true"', '"v":true'],
    ['Edm.Boolean', '"false"', '"v":false'],
    ['Edm.Boolean', '"False"', '"v":false'],
    ['Edm.Boolean', '"TRUE"', '"v":true'],
    ['Edm.String', '"54"', '"v":"54"'],
  ];
  for (const [type, json, stored] of accepted) {
    it(`${type} ${json} comes back as ${stored}`, async () => {
      const written = await writeAndRead(client, table, member(json, type));
      assert.equal(written.response.status, 204, written.response.text);
      assert.equal(written.stored, stored);
    });

    it(`${type} ${json} with the annotation behind the value is the same`, async () => {
      const members = `"v":${json},"v@odata.type":"${type}"`;
      assert.equal((await writeAndRead(client, table, members)).stored, stored);
    });
  }

  it('the largest Double of the protocol is accepted as text', async () => {
    const json = '"1.797693134862315e308"';
    const { stored } = await writeAndRead(client, table, member(json, 'Edm.Double'));
    assert.equal(Number(/^"v":(.+)$/.exec(stored ?? '')?.[1]), 1.797693134862315e308);
  });

  const refused: readonly (readonly [type: string, json: string])[] = [
    ['Edm.Double', '"1.797693134862316e308"'],
    ['Edm.Double', '"1e400"'],
    ['Edm.Double', '""'],
    ['Edm.Double', '"abc"'],
    ['Edm.Double', 'true'],
    ['Edm.Int32', '"2147483648"'],
    ['Edm.Int32', '"-2147483649"'],
    ['Edm.Int32', '"99999999999"'],
    ['Edm.Int32', '2147483648'],
    ['Edm.Int32', '1.5'],
    ['Edm.Int32', '"1.5"'],
    ['Edm.Int32', '""'],
    ['Edm.Int32', '"abc"'],
    ['Edm.Int32', '"1 "'],
    ['Edm.Int32', 'true'],
    ['Edm.Int64', '"9223372036854775808"'],
    ['Edm.Int64', '"-9223372036854775809"'],
    ['Edm.Int64', '"18446744073709551615"'],
    ['Edm.Int64', '"abc"'],
    ['Edm.Int64', '"1.0"'],
    ['Edm.Int64', '""'],
    ['Edm.Boolean', '"yes"'],
    ['Edm.Boolean', '""'],
    ['Edm.Boolean', '1'],
    ['Edm.Unknown', '"x"'],
    ['Edm.Decimal', '"1.5"'],
  ];
  for (const [type, json] of refused) {
    it(`${type} ${json} is 400 InvalidInput and stores nothing`, async () => {
      const { response, stored } = await writeAndRead(client, table, member(json, type));
      assertJsonError(response, { ...invalid });
      assert.equal(stored, undefined);
    });
  }
});

describe('doubles that are integral keep their type through a read and a write', () => {
  it('what minimalmetadata shows can be written back', async () => {
    await client.put(table, '{"PartitionKey":"again","RowKey":"r","v":3.0}');
    const { text } = await client.get(table, 'again', 'r');
    const body = text.replace('"RowKey":"r"', '"RowKey":"s"');
    await client.put(table, body);
    assert.match((await client.get(table, 'again', 's')).text, /"v":3\.0\}$/);
  });
});
