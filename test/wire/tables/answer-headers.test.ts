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

/** Headers of every OData response. */
function assertCommon(response: WireResponse): void {
  assert.match(response.header('x-ms-request-id') ?? '', guidPattern);
  assert.equal(response.header('x-ms-version'), '2019-02-02');
  assert.match(response.header('date') ?? '', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  assert.equal(response.header('x-content-type-options'), 'nosniff');
  assert.equal(response.header('cache-control'), 'no-cache');
}

/** Checks headers that only some operations have; all others of them must be absent. */
function assertHeaders(
  response: WireResponse,
  expected: {
    readonly status: number;
    readonly type?: string;
    readonly etag?: boolean;
    readonly location?: string;
  },
): void {
  assert.equal(response.status, expected.status, response.text);
  assertCommon(response);
  assert.equal(response.header('content-type'), expected.type);
  const etag = response.header('etag');
  if (expected.etag === true) assert.match(etag ?? '', etagPattern);
  else assert.equal(etag, undefined);
  assert.equal(response.header('location'), expected.location);
  assert.equal(response.header('dataserviceid'), undefined);
  assert.equal(response.header('preference-applied'), undefined);
  if (expected.status === 204) assert.equal(response.header('content-length'), '0');
}

// Headers that the transcripts of test/golden do not show.
describe('headers of table operations', () => {
  it('other values of Prefer are ignored', async () => {
    const response = await client.createTable('otherPreference', { Prefer: 'respond-async' });
    const location = `${client.base}/Tables('otherPreference')`;
    assertHeaders(response, { status: 201, type: minimalType, location });
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
});

describe('headers of every response', () => {
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

  /** The headers in the response to an insert of keys with this length. */
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
