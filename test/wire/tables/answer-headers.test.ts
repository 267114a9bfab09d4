import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesetParts, insertOperation, sendChangeset } from '../kit/batch.js';
import { entityPath } from '../kit/client.js';
import type { WireResponse } from '../kit/response.js';
import { startFixture } from '../kit/server.js';

// Headers of outer responses: table-service §10.1, and §3.5 to §3.13 for each operation.

const { client } = await startFixture();
const addressed = await client.newTable('addressed');

const etagPattern = /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$/;
const guidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const minimalType = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8';

/** What every OData response carries. */
function assertCommon(response: WireResponse, version = '2019-02-02'): void {
  assert.match(response.header('x-ms-request-id') ?? '', guidPattern);
  assert.equal(response.header('x-ms-version'), version);
  assert.match(response.header('date') ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  assert.equal(response.header('x-content-type-options'), 'nosniff');
  assert.equal(response.header('cache-control'), 'no-cache');
}

/** Checks the headers that only some operations have; those not named must be absent. */
function assertHeaders(
  response: WireResponse,
  expected: {
    readonly status: number;
    readonly type?: string;
    readonly etag?: boolean;
    readonly location?: string;
    readonly dataServiceId?: string;
    readonly preference?: string;
  },
): void {
  assert.equal(response.status, expected.status, response.text);
  assertCommon(response);
  assert.equal(response.header('content-type'), expected.type);
  const etag = response.header('etag');
  if (expected.etag === true) assert.match(etag ?? '', etagPattern);
  else assert.equal(etag, undefined);
  assert.equal(response.header('location'), expected.location);
  assert.equal(response.header('dataserviceid'), expected.dataServiceId);
  assert.equal(response.header('preference-applied'), expected.preference);
  if (expected.status === 204) assert.equal(response.header('content-length'), '0');
}

describe('headers of table operations', () => {
  const create = (name: string, prefer?: string) =>
    client.send({
      method: 'POST',
      path: '/Tables',
      body: `{"TableName":"${name}"}`,
      headers: { Prefer: prefer },
    });

  it('Create Table without Prefer: 201, Location, body', async () => {
    const response = await create('plain');
    const location = `${client.base}/Tables('plain')`;
    assertHeaders(response, { status: 201, type: minimalType, location });
  });

  it('Create Table with return-content: also Preference-Applied', async () => {
    const response = await create('withContent', 'return-content');
    const location = `${client.base}/Tables('withContent')`;
    assertHeaders(response, {
      status: 201,
      type: minimalType,
      location,
      preference: 'return-content',
    });
    assert.equal(
      response.text,
      `{"odata.metadata":"${client.base}/$metadata#Tables/@Element","TableName":"withContent"}`,
    );
  });

  it('Create Table with return-no-content: 204, Location, DataServiceId, no body', async () => {
    const response = await create('noContent', 'return-no-content');
    const location = `${client.base}/Tables('noContent')`;
    assertHeaders(response, {
      status: 204,
      location,
      dataServiceId: location,
      preference: 'return-no-content',
    });
  });

  it('other values of Prefer are ignored', async () => {
    const response = await create('otherPreference', 'respond-async');
    const location = `${client.base}/Tables('otherPreference')`;
    assertHeaders(response, { status: 201, type: minimalType, location });
  });

  it('Query Tables and Get Table: no ETag', async () => {
    const name = await client.newTable();
    assertHeaders(await client.send({ path: '/Tables' }), { status: 200, type: minimalType });
    const one = await client.send({ path: `/Tables('${name}')` });
    assertHeaders(one, { status: 200, type: minimalType });
  });

  it('Delete Table: 204 and nothing else', async () => {
    const name = await client.newTable();
    const response = await client.send({ method: 'DELETE', path: `/Tables('${name}')` });
    assertHeaders(response, { status: 204 });
  });
});

describe('headers of entity operations', () => {
  it('Insert Entity without Prefer: 201, ETag, Location without query, no DataServiceId', async () => {
    const table = await client.newTable();
    const body = '{"PartitionKey":"p","RowKey":"r"}';
    const response = await client.send({ method: 'POST', path: `/${table}?timeout=20`, body });
    assertHeaders(response, {
      status: 201,
      type: minimalType,
      etag: true,
      location: `${client.base}/${table}(PartitionKey='p',RowKey='r')`,
    });
  });

  it('Insert Entity with return-content: also Preference-Applied', async () => {
    const table = await client.newTable();
    const headers = { Prefer: 'return-content' };
    const response = await client.insert(table, { PartitionKey: 'p', RowKey: 'r' }, headers);
    assertHeaders(response, {
      status: 201,
      type: minimalType,
      etag: true,
      location: `${client.base}/${table}(PartitionKey='p',RowKey='r')`,
      preference: 'return-content',
    });
  });

  it('Insert Entity with return-no-content: 204, ETag, Location, DataServiceId', async () => {
    const table = await client.newTable();
    const headers = { Prefer: 'return-no-content' };
    const response = await client.insert(table, { PartitionKey: 'p', RowKey: "O'Neil" }, headers);
    const location = `${client.base}/${table}(PartitionKey='p',RowKey='O''Neil')`;
    assertHeaders(response, {
      status: 204,
      etag: true,
      location,
      dataServiceId: location,
      preference: 'return-no-content',
    });
  });

  for (const method of ['PUT', 'MERGE', 'PATCH']) {
    for (const ifMatch of [undefined, '*']) {
      const name = `${method} ${ifMatch === undefined ? 'as upsert' : 'with If-Match'}`;
      it(`${name}: 204 with ETag and neither Location nor body, whatever Prefer says`, async () => {
        const table = await client.newTable();
        await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
        const response = await client.send({
          method,
          path: entityPath(table, 'p', 'r'),
          body: '{"n":1}',
          headers: { 'If-Match': ifMatch, Prefer: 'return-content' },
        });
        assertHeaders(response, { status: 204, etag: true });
      });
    }
  }

  it('Delete Entity: 204 without ETag', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
    const response = await client.send({
      method: 'DELETE',
      path: entityPath(table, 'p', 'r'),
      headers: { 'If-Match': '*' },
    });
    assertHeaders(response, { status: 204 });
  });

  for (const level of ['nometadata', 'minimalmetadata', 'fullmetadata']) {
    it(`Get Entity has the ETag header in ${level}`, async () => {
      const table = await client.newTable();
      await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
      const Accept = `application/json;odata=${level}`;
      const response = await client.get(table, 'p', 'r', { Accept });
      const type = `application/json;odata=${level};streaming=true;charset=utf-8`;
      assertHeaders(response, { status: 200, type, etag: true });
      const { Timestamp } = response.json;
      const etag = `W/"datetime'${String(Timestamp).replaceAll(':', '%3A')}'"`;
      assert.equal(response.header('etag'), etag);
    });
  }

  it('Query Entities has no ETag header', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
    assertHeaders(await client.query(table), { status: 200, type: minimalType });
  });

  it('spells header names as documented', async () => {
    const table = await client.newTable();
    const headers = { Prefer: 'return-no-content', 'x-ms-client-request-id': 'mine' };
    const response = await client.insert(table, { PartitionKey: 'p', RowKey: 'r' }, headers);
    const names = response.headers.map(([name]) => name);
    for (const name of [
      'Cache-Control',
      'ETag',
      'Location',
      'DataServiceId',
      'Preference-Applied',
      'X-Content-Type-Options',
      'x-ms-request-id',
      'x-ms-version',
      'x-ms-client-request-id',
      'Date',
    ]) {
      assert.ok(names.includes(name), `${name} among ${names.join(', ')}`);
    }
    assert.equal(new Set(names.map((name) => name.toLowerCase())).size, names.length);
  });
});

describe('headers of every response', () => {
  const versionOf = async (version: string | undefined) =>
    client.send({ path: '/Tables', headers: { 'x-ms-version': version } });

  for (const version of ['2013-08-15', '2017-04-17', '2020-12-06', '2026-06-06']) {
    it(`echoes x-ms-version ${version}`, async () => {
      assertCommon(await versionOf(version), version);
    });
  }

  it('gives each request an id of its own', async () => {
    const ids = new Set<string | undefined>();
    for (let count = 0; count < 10; count += 1) {
      ids.add((await client.send({ path: '/Tables' })).header('x-ms-request-id'));
    }
    assert.equal(ids.size, 10);
  });

  const echoes: readonly (readonly [what: string, id: string, echoed: boolean])[] = [
    ['a GUID', 'c9da6455-213d-42c9-9a79-3e9149a57833', true],
    ['visible ASCII', '!"#$%&\'()*+,-./:;<=>?@[]^_`{|}~', true],
    ['1,024 characters', 'x'.repeat(1024), true],
    ['1,025 characters', 'x'.repeat(1025), false],
    ['a character beyond ASCII', 'id-\u00e9', false],
  ];
  for (const [what, id, echoed] of echoes) {
    it(`${echoed ? 'echoes' : 'does not echo'} an x-ms-client-request-id of ${what}`, async () => {
      const headers = { 'x-ms-client-request-id': id };
      const response = await client.send({ path: '/Tables', headers });
      assert.equal(response.status, 200);
      assert.equal(response.header('x-ms-client-request-id'), echoed ? id : undefined);
    });
  }

  it('echoes the client request id on errors too', async () => {
    const headers = { 'x-ms-client-request-id': 'mine' };
    const response = await client.send({ path: "/Tables('nowhere')", headers });
    assert.equal(response.status, 404);
    assert.equal(response.header('x-ms-client-request-id'), 'mine');
  });

  it('sends bodies with a length or in chunks, never by closing', async () => {
    const response = await client.send({ path: '/Tables' });
    const framed =
      response.header('content-length') ?? response.header('transfer-encoding') ?? 'neither';
    assert.match(framed, /^(\d+|chunked)$/);
  });

  it('honours Connection: close', async () => {
    const response = await client.send({ path: '/Tables', headers: { Connection: 'close' } });
    assert.equal(response.header('connection'), 'close');
  });
});

describe('addresses of what was inserted', () => {
  const wide = '\u20ac';

  /** Which of the headers an insert of keys of this length has. */
  async function headersOf(length: number, prefer: string): Promise<(string | undefined)[]> {
    const keys = { PartitionKey: wide.repeat(length), RowKey: wide.repeat(length) };
    await client.send({
      method: 'DELETE',
      path: entityPath(addressed, keys.PartitionKey, keys.RowKey),
      headers: { 'If-Match': '*' },
    });
    const inserted = await client.insert(addressed, keys, { Prefer: prefer });
    const bytes = inserted.headers.reduce(
      (sum, [name, value]) => sum + name.length + value.length,
      0,
    );
    assert.ok(bytes < 12 * 1024, `${bytes} bytes of headers`);
    assert.ok([201, 204].includes(inserted.status));
    return ['location', 'dataserviceid'].map((name) => inserted.header(name)?.slice(0, 7));
  }

  it('are left out one after the other where headers get too long', async () => {
    assert.deepEqual(await headersOf(250, 'return-no-content'), ['http://', 'http://']);
    assert.deepEqual(await headersOf(512, 'return-no-content'), ['http://', undefined]);
    assert.deepEqual(await headersOf(512, 'return-content'), ['http://', undefined]);
  });

  it('are left out of parts of a batch alike', async () => {
    const insert = (length: number) => {
      const { headers, ...operation } = insertOperation(addressed, {
        PartitionKey: wide.repeat(512),
        RowKey: wide.repeat(length),
      });
      return { ...operation, headers: { ...headers, Prefer: 'return-no-content' } };
    };
    const parts = changesetParts(await sendChangeset(client, [insert(10), insert(500)]));
    assert.deepEqual(
      parts.map(({ head }) => ['Location:', 'DataServiceId:'].map((name) => head.includes(name))),
      [
        [true, true],
        [true, false],
      ],
    );
  });
});
