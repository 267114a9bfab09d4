import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptNone, entityPath } from '../kit/client.js';
import { assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// table-service §14 no. 5: every form of If-Match × every write × an entity that exists or not
// (table-service §2.8).

const { client } = await startFixture();
const table = await client.newTable();
let keys = 0;

const malformed = [
  `"strong"`,
  'wrong',
  `datetime'2025-11-21T10%3A00%3A00Z'`,
  `W/unquoted`,
  `W/"one", W/"two"`,
  `*, *`,
];
const other = `W/"datetime'2001-01-01T00%3A00%3A00.1234567Z'"`;
const foreign = `W/"something else"`;

type Method = 'PUT' | 'MERGE' | 'PATCH' | 'DELETE';
const methods: readonly Method[] = ['PUT', 'MERGE', 'PATCH', 'DELETE'];

const invalidEtag = (value: string) => ({
  status: 400,
  code: 'InvalidInput',
  message: `The etag value '${value}' specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.`,
});

function write(method: Method, rowKey: string, ifMatch: string | undefined) {
  return client.send({
    method,
    path: entityPath(table, 'p', rowKey),
    ...(method === 'DELETE' ? {} : { body: '{"b":2}' }),
    headers: { 'If-Match': ifMatch },
  });
}

async function stored(rowKey: string): Promise<Record<string, unknown> | undefined> {
  const response = await client.get(table, 'p', rowKey, { Accept: acceptNone });
  if (response.status === 404) return undefined;
  const { a, b } = response.json;
  return { a, b };
}

const merged: Readonly<Record<Method, object | undefined>> = {
  PUT: { a: undefined, b: 2 },
  MERGE: { a: 1, b: 2 },
  PATCH: { a: 1, b: 2 },
  DELETE: undefined,
};

for (const method of methods) {
  describe(`${method} of an entity that exists`, () => {
    const insert = async () => {
      keys += 1;
      const rowKey = `existing${keys}`;
      const response = await client.insert(table, { PartitionKey: 'p', RowKey: rowKey, a: 1 });
      return { rowKey, etag: response.header('etag') ?? '' };
    };
    const untouched = { a: 1, b: undefined };

    it('passes with the current etag', async () => {
      const { rowKey, etag } = await insert();
      assert.equal((await write(method, rowKey, etag)).status, 204);
      assert.deepEqual(await stored(rowKey), merged[method]);
    });

    it('passes with the current etag and a lower-case w/', async () => {
      const { rowKey, etag } = await insert();
      const response = await write(method, rowKey, etag.replace('W/', 'w/'));
      assert.equal(response.status, 204, response.text);
    });

    it('passes with *', async () => {
      const { rowKey } = await insert();
      assert.equal((await write(method, rowKey, '*')).status, 204);
      assert.deepEqual(await stored(rowKey), merged[method]);
    });

    for (const ifMatch of [other, foreign]) {
      it(`is 412 with ${ifMatch}`, async () => {
        const { rowKey } = await insert();
        assertJsonError(await write(method, rowKey, ifMatch), refusals.updateCondition);
        assert.deepEqual(await stored(rowKey), untouched);
      });
    }

    it('is 412 with an etag of a former version', async () => {
      const { rowKey, etag } = await insert();
      const path = entityPath(table, 'p', rowKey);
      await client.send({ method: 'MERGE', path, body: '{}', headers: { 'If-Match': '*' } });
      assert.equal((await write(method, rowKey, etag)).status, 412);
      assert.deepEqual(await stored(rowKey), untouched);
    });

    for (const value of malformed) {
      it(`is 400 InvalidInput with ${value}`, async () => {
        const { rowKey } = await insert();
        assertJsonError(await write(method, rowKey, value), invalidEtag(value));
        assert.deepEqual(await stored(rowKey), untouched);
      });
    }

    it('is 400 InvalidInput with an empty If-Match (choice of this server)', async () => {
      const { rowKey } = await insert();
      assertJsonError(await write(method, rowKey, ''), { status: 400, code: 'InvalidInput' });
      assert.deepEqual(await stored(rowKey), untouched);
    });

    it('refuses If-None-Match', async () => {
      const { rowKey } = await insert();
      const response = await client.send({
        method,
        path: entityPath(table, 'p', rowKey),
        body: '{}',
        headers: { 'If-None-Match': '*' },
      });
      assert.equal(response.status, 400);
      assert.equal(response.header('x-ms-error-code'), 'InvalidInput');
      if (method === 'PUT' || method === 'DELETE') {
        assertJsonError(response, {
          status: 400,
          code: 'InvalidInput',
          message: `If-None-Match HTTP header cannot be specified for ${method} operations.`,
        });
      }
      assert.deepEqual(await stored(rowKey), untouched);
    });

    it('refuses If-Match and If-None-Match together', async () => {
      const { rowKey, etag } = await insert();
      const response = await client.send({
        method,
        path: entityPath(table, 'p', rowKey),
        body: '{}',
        headers: { 'If-Match': etag, 'If-None-Match': '*' },
      });
      assertJsonError(response, {
        status: 400,
        code: 'InvalidInput',
        message:
          'Both If-Match and If-None-Match HTTP headers cannot be specified at the same time. Please specify either one of the headers or none of them.',
      });
      assert.deepEqual(await stored(rowKey), untouched);
    });
  });

  describe(`${method} of an entity that does not exist`, () => {
    const fresh = () => {
      keys += 1;
      return `missing${keys}`;
    };

    for (const ifMatch of ['*', other, foreign]) {
      it(`is 404 with ${ifMatch}`, async () => {
        const rowKey = fresh();
        assertJsonError(await write(method, rowKey, ifMatch), refusals.resourceNotFound);
        assert.equal(await stored(rowKey), undefined);
      });
    }

    for (const value of malformed) {
      it(`is 400 InvalidInput with ${value}`, async () => {
        const rowKey = fresh();
        assertJsonError(await write(method, rowKey, value), invalidEtag(value));
        assert.equal(await stored(rowKey), undefined);
      });
    }
  });
}

describe('writes without If-Match', () => {
  for (const method of ['PUT', 'MERGE', 'PATCH'] as const) {
    it(`${method} creates what is missing and changes what is there`, async () => {
      keys += 1;
      const rowKey = `upsert${keys}`;
      assert.equal((await write(method, rowKey, undefined)).status, 204);
      assert.deepEqual(await stored(rowKey), { a: undefined, b: 2 });
      keys += 1;
      const there = `upsert${keys}`;
      await client.put(table, { PartitionKey: 'p', RowKey: there, a: 1 });
      assert.equal((await write(method, there, undefined)).status, 204);
      assert.deepEqual(await stored(there), merged[method]);
    });
  }

  it('DELETE is 400 MissingRequiredHeader (choice of this server), there or not', async () => {
    await client.put(table, { PartitionKey: 'p', RowKey: 'kept', a: 1 });
    for (const rowKey of ['kept', 'never']) {
      assertJsonError(await write('DELETE', rowKey, undefined), {
        status: 400,
        code: 'MissingRequiredHeader',
      });
    }
    assert.deepEqual(await stored('kept'), { a: 1, b: undefined });
  });
});

describe('etags of successive writes', () => {
  it('change with every write, also when nothing else does', async () => {
    const path = entityPath(table, 'p', 'rewritten');
    const etags: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      const response = await client.send({ method: 'PUT', path, body: '{"a":1}' });
      etags.push(response.header('etag') ?? '');
    }
    assert.equal(new Set(etags).size, etags.length);
    const read = await client.send({ path });
    assert.equal(read.header('etag'), etags.at(-1));
    assert.equal(read.json['odata.etag'], etags.at(-1));
  });

  it('of a merge that says nothing changes too', async () => {
    const inserted = await client.insert(table, { PartitionKey: 'p', RowKey: 'quiet', a: 1 });
    const path = entityPath(table, 'p', 'quiet');
    for (const body of ['{}', '', '{"PartitionKey":"p","RowKey":"quiet"}']) {
      const merge = await client.send({ method: 'MERGE', path, body });
      assert.equal(merge.status, 204, `${body}: ${merge.text}`);
      assert.notEqual(merge.header('etag'), inserted.header('etag'));
    }
    assert.deepEqual(await stored('quiet'), { a: 1, b: undefined });
  });
});

describe('the digits of an etag', () => {
  const shape = /^W\/"datetime'(\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d\.\d{7}Z)'"$/;

  it('are seven of the fraction, those of the Timestamp, and exact in filters', async () => {
    const fresh = await client.newTable();
    const stamps: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      const rowKey = String(index).padStart(2, '0');
      const inserted = await client.insert(fresh, { PartitionKey: 'p', RowKey: rowKey });
      const { json } = inserted;
      const [, digits = ''] = shape.exec(inserted.header('etag') ?? '') ?? [];
      const stamp = String(json['Timestamp']);
      assert.equal(digits.replaceAll('%3A', ':'), stamp);
      assert.equal(json['odata.etag'], inserted.header('etag'));
      stamps.push(stamp);
      assert.deepEqual(await client.rowKeys(fresh, `Timestamp eq datetime'${stamp}'`), [rowKey]);
    }
    assert.equal(new Set(stamps).size, stamps.length);
    assert.deepEqual(stamps, stamps.toSorted());
    const [last = ''] = stamps.slice(-1);
    assert.deepEqual(await client.rowKeys(fresh, `Timestamp ge datetime'${last}'`), ['19']);
    assert.deepEqual(await client.rowKeys(fresh, `Timestamp gt datetime'${last}'`), []);
  });

  it('count to the last one: a neighbour of 100 ns is another version', async () => {
    const fresh = await client.newTable();
    const inserted = await client.insert(fresh, { PartitionKey: 'p', RowKey: 'r' });
    const etag = inserted.header('etag') ?? '';
    const other = etag.replace(/(\d)Z/, (_, digit: string) => `${(Number(digit) + 1) % 10}Z`);
    const write = (ifMatch: string) =>
      client.send({
        method: 'PUT',
        path: entityPath(fresh, 'p', 'r'),
        body: '{}',
        headers: { 'If-Match': ifMatch },
      });
    assert.equal((await write(other)).status, 412);
    assert.equal((await write(etag.replace(/\dZ/, 'Z'))).status, 412);
    assert.equal((await write(etag)).status, 204);
  });
});
