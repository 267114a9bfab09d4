import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  assertChangesetDone,
  assertMalformedBatch,
  insertOperation,
  sendBatch,
  sendChangeset,
} from '../kit/batch.js';
import { acceptFull, acceptNone, entityPath } from '../kit/client.js';
import { assertJsonError, messages } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// What probes of Azurite have found, one test each.

const { client } = await startFixture();
const keys = { PartitionKey: 'p', RowKey: 'r' };
const invalid = { status: 400, code: 'InvalidInput', message: messages.bodyNotParseable } as const;

/** A table with these entities; row keys are `1`, `2`, … in their order. */
async function tableOf(...members: readonly string[]): Promise<string> {
  const table = await client.newTable();
  for (const [index, each] of members.entries()) {
    await client.put(table, `{"PartitionKey":"p","RowKey":"${index + 1}",${each}}`);
  }
  return table;
}

async function assertRefused(
  members: string,
  expected: { readonly status: number; readonly code: string; readonly message?: string },
): Promise<void> {
  const table = await client.newTable();
  const body = `{"PartitionKey":"p","RowKey":"r",${members}}`;
  assertJsonError(await client.insert(table, body), expected);
  assert.deepEqual(await client.rowKeys(table), []);
}

describe('what probes found', () => {
  it('a table SAS with a key range opens the range and nothing else', async () => {
    const table = await client.newTable();
    const insert = { PartitionKey: 'secret', RowKey: 'r', text: 'hidden' };
    await client.put(table, insert, { PartitionKey: 'a', RowKey: 'r' });
    const fields = {
      sv: '2019-02-02',
      st: '2020-01-01T00:00:00Z',
      se: '2099-01-01T00:00:00Z',
      sp: 'raud',
    };
    const resource = `/table/${client.account}/${table.toLowerCase()}`;
    const text = [
      fields.sp,
      fields.st,
      fields.se,
      resource,
      '',
      '',
      '',
      fields.sv,
      'a',
      '',
      'a',
      '',
    ];
    const sig = createHmac('sha256', Buffer.from(client.key, 'base64'))
      .update(text.join('\n'))
      .digest('base64');
    const query = new URLSearchParams({ ...fields, tn: table, spk: 'a', epk: 'a', sig }).toString();
    const auth = 'none' as const;
    const at = (path: string) => ({ path: `${path}?${query}`, auth });
    const hidden = await client.send(at(entityPath(table, 'secret', 'r')));
    assertJsonError(hidden, { status: 404, code: 'ResourceNotFound' });
    assert.doesNotMatch(hidden.text, /hidden/);
    assert.equal((await client.send(at(entityPath(table, 'a', 'r')))).status, 200);
    const page = await client.send(at(`/${table}()`));
    assert.deepEqual(
      page.items.map((item) => item['PartitionKey']),
      ['a'],
    );
    const body = '{"PartitionKey":"secret2","RowKey":"r"}';
    const write = await client.send({ method: 'POST', ...at(`/${table}`), body });
    assertJsonError(write, { status: 403, code: 'AuthorizationFailure' });
    assert.equal((await client.get(table, 'secret2', 'r')).status, 404);
  });

  it('a page stops near 4 MiB and has a token', async () => {
    const value = Buffer.alloc(65_536, 1).toString('base64');
    const properties = Array.from(
      { length: 14 },
      (_, index) => `"b${index}@odata.type":"Edm.Binary","b${index}":"${value}"`,
    ).join(',');
    const table = await tableOf(...Array.from({ length: 8 }, () => properties));
    const response = await client.query(table);
    assert.ok(response.items.length < 8, `${response.items.length} entities in one page`);
    assert.ok(response.header('x-ms-continuation-nextpartitionkey'));
  });

  it('300 properties are 400 TooManyProperties', async () => {
    const members = Array.from({ length: 300 }, (_, index) => `"p${index}":${index}`).join(',');
    await assertRefused(members, {
      status: 400,
      code: 'TooManyProperties',
      message: messages.tooManyProperties,
    });
  });

  it('an entity of 1.9 million characters is 400 EntityTooLarge', async () => {
    const value = 'x'.repeat(32_000);
    const members = Array.from({ length: 60 }, (_, index) => `"p${index}":"${value}"`).join(',');
    await assertRefused(members, {
      status: 400,
      code: 'EntityTooLarge',
      message: messages.entityTooLarge,
    });
  });

  it('merges do not grow an entity past 1 MiB', async () => {
    const table = await client.newTable();
    const path = entityPath(table, 'p', 'r');
    const statuses: number[] = [];
    for (let index = 0; index < 20; index += 1) {
      const body = JSON.stringify({ [`p${index}`]: 'x'.repeat(32_000) });
      const response = await client.send({ method: 'MERGE', path, body });
      statuses.push(response.status);
      if (response.status === 400) {
        assertJsonError(response, {
          status: 400,
          code: 'EntityTooLarge',
          message: messages.entityTooLarge,
        });
      }
    }
    // 16 × (8 + 2 × 2 + 64,000 + 4) bytes, twelve more for longer names, fit into 1,048,576.
    assert.deepEqual(statuses, [...Array.from({ length: 16 }, () => 204), 400, 400, 400, 400]);
  });

  it('property names a-b and of 300 characters are refused', async () => {
    await assertRefused('"a-b":1', {
      status: 400,
      code: 'PropertyNameInvalid',
      message: messages.propertyNameInvalid,
    });
    await assertRefused(`"${'n'.repeat(300)}":1`, {
      status: 400,
      code: 'PropertyNameTooLong',
      message: messages.propertyNameTooLong,
    });
  });

  it('numbers that do not fit their annotation are 400 InvalidInput', async () => {
    await assertRefused('"v@odata.type":"Edm.Int32","v":"99999999999"', invalid);
    await assertRefused('"v@odata.type":"Edm.Int64","v":"abc"', invalid);
  });

  it('an integer beyond Int32 without annotation is a Double (table-service §2.5 rule 1)', async () => {
    const table = await tableOf('"v":3000000000');
    const read = await client.get(table, 'p', '1', { Accept: acceptFull });
    assert.match(read.text, /"v":3000000000\.0\}$/);
  });

  it('texts that are no date, Guid or Binary are 400 InvalidInput', async () => {
    await assertRefused('"v@odata.type":"Edm.DateTime","v":"not-a-date"', invalid);
    await assertRefused('"v@odata.type":"Edm.Guid","v":"zzz"', invalid);
    await assertRefused('"v@odata.type":"Edm.Binary","v":"***"', invalid);
  });

  it('a date of the year 1500 is 400 OutOfRangeInput', async () => {
    await assertRefused('"v@odata.type":"Edm.DateTime","v":"1500-06-07T08:09:10Z"', {
      status: 400,
      code: 'OutOfRangeInput',
      message: "The 'v' parameter of value '06/07/1500 08:09:10' is out of range.",
    });
  });

  it('a date with an offset is stored as UTC', async () => {
    const table = await tableOf('"v@odata.type":"Edm.DateTime","v":"2020-01-01T02:00:00+02:00"');
    const read = await client.get(table, 'p', '1', { Accept: acceptNone });
    assert.equal(read.json['v'], '2020-01-01T00:00:00Z');
  });

  it('an Int32 property and a literal with L mismatch (table-service §5.4)', async () => {
    const table = await tableOf('"I":5');
    assert.deepEqual(await client.rowKeys(table, 'I eq 5L'), []);
    assert.deepEqual(await client.rowKeys(table, 'I ne 5L'), ['1']);
  });

  it('a literal is never taken for a property', async () => {
    const table = await tableOf('"D":1.5,"I":5', '"other":1');
    assert.deepEqual(await client.rowKeys(table, 'D eq 15e-1'), ['1']);
    assert.deepEqual(await client.rowKeys(table, 'I eq +5'), ['1']);
    for (const filter of ['I eq 5x', 'D eq 1.5.0', 'I eq 0x5', 'D eq 1.5f0']) {
      assertJsonError(await client.query(table, { filter }), { status: 400, code: 'InvalidInput' });
    }
    // Whether the suffix of a Single is known is open; that it is a property is not.
    const single = await client.query(table, { filter: 'I eq 1.5f' });
    if (single.status === 200) assert.deepEqual(single.items, []);
    else assertJsonError(single, { status: 400, code: 'InvalidInput' });
  });

  it('a comparison with null is 400, not everything', async () => {
    const table = await tableOf('"v":1');
    for (const filter of ['missing eq null', 'missing ne null', 'v eq null']) {
      assertJsonError(await client.query(table, { filter }), {
        status: 400,
        code: 'InvalidInput',
        message: messages.inputInvalid,
      });
    }
  });

  it('binaries are ordered by their bytes', async () => {
    const binary = (text: string) => `"B@odata.type":"Edm.Binary","B":"${text}"`;
    const table = await tableOf(binary('/w=='), binary('AQ=='));
    assert.deepEqual(await client.rowKeys(table, `B gt X'01'`), ['1']);
    assert.deepEqual(await client.rowKeys(table, `B lt X'7F'`), ['2']);
  });

  it('a guid literal matches in any letter case', async () => {
    const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
    const table = await tableOf(`"G@odata.type":"Edm.Guid","G":"${guid}"`);
    for (const text of [guid, guid.toUpperCase(), `C9dA${guid.slice(4)}`]) {
      assert.deepEqual(await client.rowKeys(table, `G eq guid'${text}'`), ['1']);
    }
  });

  it('a number where a boolean is needed is 400', async () => {
    const table = await tableOf('"S":"x"');
    for (const filter of [`PartitionKey eq 'p' and (1)`, '1', '(1)']) {
      assertJsonError(await client.query(table, { filter }), { status: 400, code: 'InvalidInput' });
    }
  });

  it('a bare property that is no Boolean is false (table-service §5.4 rule 6)', async () => {
    const table = await tableOf('"S":"x"', '"S":true');
    assert.deepEqual(await client.rowKeys(table, `PartitionKey eq 'p' and S`), ['2']);
  });

  it('functions are 501 NotImplemented (choice of this server)', async () => {
    const table = await tableOf('"S":"abc"');
    assertJsonError(await client.query(table, { filter: `startswith(S,'ab')` }), {
      status: 501,
      code: 'NotImplemented',
      message: messages.notImplemented,
    });
  });

  it('$orderby fails, an unknown $foo is ignored', async () => {
    const table = await tableOf('"v":1');
    const ordered = await client.send({ path: `/${table}()?$orderby=Timestamp%20desc` });
    assertJsonError(ordered, { status: 501, code: 'NotImplemented' });
    assert.equal((await client.send({ path: `/${table}()?$foo=1` })).items.length, 1);
  });

  it('$top=1001 is 400 InvalidInput', async () => {
    const table = await client.newTable();
    assertJsonError(await client.query(table, { top: 1001 }), {
      status: 400,
      code: 'InvalidInput',
      message: messages.inputInvalid,
    });
  });

  it('keys in a URL may come in either order', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'a', RowKey: '1' });
    const path = `/${table}(RowKey='1',PartitionKey='a')`;
    const read = await client.send({ path, headers: { Accept: acceptNone } });
    assert.equal(read.json['PartitionKey'], 'a');
    const merge = await client.send({
      method: 'MERGE',
      path,
      body: '{"n":1}',
      headers: { 'If-Match': '*' },
    });
    assert.equal(merge.status, 204);
  });

  it('the operations of a changeset share one ETag and one Timestamp', async () => {
    const table = await client.newTable();
    const operations = ['a', 'b', 'c'].map((RowKey) =>
      insertOperation(table, { PartitionKey: 'p', RowKey }),
    );
    const parts = assertChangesetDone(await sendChangeset(client, operations), [204, 204, 204]);
    const etags = new Set(parts.map(({ head }) => /^ETag: (.+)\r$/m.exec(head)?.[1]));
    assert.equal(etags.size, 1);
    const { items } = await client.query(table);
    assert.deepEqual(new Set(items.map((item) => item['odata.etag'])), etags);
    assert.equal(new Set(items.map((item) => item['Timestamp'])).size, 1);
  });

  it('an empty changeset is a malformed batch', async () => {
    const body =
      '--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n--changeset_1--\r\n--batch_1--\r\n';
    assertMalformedBatch(await sendBatch(client, body, 'multipart/mixed; boundary=batch_1'));
  });

  it('a delete without If-Match is a 400 with an OData body and a code', async () => {
    const table = await tableOf('"v":1');
    const response = await client.send({ method: 'DELETE', path: entityPath(table, 'p', '1') });
    assertJsonError(response, { status: 400, code: 'MissingRequiredHeader' });
    assert.deepEqual(await client.rowKeys(table), ['1']);
  });

  it('a table name of two characters is 400 OutOfRangeInput', async () => {
    const body = '{"TableName":"ab"}';
    assertJsonError(await client.send({ method: 'POST', path: '/Tables', body }), {
      status: 400,
      code: 'OutOfRangeInput',
      message: messages.nameLength,
    });
  });

  it('odata.metadata of a query names the table', async () => {
    const table = await client.newTable();
    const { json } = await client.query(table);
    assert.equal(json['odata.metadata'], `${client.base}/$metadata#${table}`);
  });

  it('Timestamps of successive writes increase', async () => {
    const table = await client.newTable();
    const seen: string[] = [];
    for (let index = 0; index < 300; index += 1) {
      const RowKey = String(index % 3);
      const path = entityPath(table, 'p', RowKey);
      const response = await client.send({ method: 'PUT', path, body: '{}' });
      const digits = /datetime'(.+)Z'/.exec(response.header('etag') ?? '')?.[1] ?? '';
      const [seconds = '', fraction = ''] = digits.split('.');
      seen.push(`${seconds}.${fraction.padEnd(7, '0')}`);
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.deepEqual(seen, [...seen].sort());
  });

  it('an object as a value is 400', async () => {
    await assertRefused('"V":{"a":1}', { status: 400, code: 'InvalidInput' });
    const table = await client.newTable();
    assert.equal((await client.insert(table, keys)).status, 201);
  });
});
