import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changesetParts, insertOperation, sendChangeset } from '../kit/batch.js';
import { acceptNone, entityPath } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError, messages } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// Answers of the cloud's table service that recordings and its clients' own suites have shown.

const { client } = await startFixture();
const table = await client.newTable();
await client.put(table, { PartitionKey: 'p', RowKey: 'r', n: 1 });

const properties = '?restype=service&comp=properties';

describe('empty segments of a path', () => {
  it('do not count, wherever they stand', async () => {
    for (const path of ['/Tables/', '//Tables', '/Tables()/', `/Tables('${table}')/`]) {
      assert.equal((await client.send({ path })).status, 200, path);
    }
    for (const path of [`/${table}/`, `/${table}()/`, `//${table}//?$top=1`]) {
      assert.equal((await client.send({ path })).items.length, 1, path);
    }
    const entity = await client.send({ path: `${entityPath(table, 'p', 'r')}/` });
    assert.equal(entity.json['n'], 1);
    for (const path of [`/${table}/?comp=acl`, `//${properties}`]) {
      assert.equal((await client.send({ path })).status, 200, path);
    }
    const inserted = await client.send({
      method: 'POST',
      path: `/${await client.newTable()}/`,
      body: '{"PartitionKey":"p","RowKey":"r"}',
    });
    assert.equal(inserted.status, 201);
    assert.doesNotMatch(inserted.header('location') ?? '', /[^:]\/\//);
  });

  it('do not join what stands beside them', async () => {
    const path = `/${table}(PartitionKey='a//b',RowKey='r')`;
    assertJsonError(await client.send({ path }), {
      status: 400,
      code: 'InvalidInput',
      message: messages.querySyntax,
    });
  });
});

describe('a table name at the end of the account URL', () => {
  const post = (path: string, headers = {}) =>
    client.send({ method: 'POST', path, headers, body: '{"TableName":"below"}' });

  it('makes Create Table an insert without keys', async () => {
    const needed = {
      status: 400,
      code: 'PropertiesNeedValue',
      message: messages.propertiesNeedValue,
    };
    assertJsonError(await post(`/${table}/Tables`), needed);
    const inserted = await client.send({
      method: 'POST',
      path: '/missing/Tables',
      body: '{"PartitionKey":"p","RowKey":"r"}',
    });
    const missing = { status: 404, code: 'TableNotFound', message: messages.tableNotFound };
    assertJsonError(inserted, missing);
    assert.equal((await client.send({ path: "/Tables('below')" })).status, 404);
  });

  it('makes queries 501', async () => {
    for (const path of [`/${table}/Tables`, `/${table}/${table}()`]) {
      assertJsonError(await client.send({ path }), {
        status: 501,
        code: 'NotImplemented',
        message: messages.notImplemented,
      });
    }
  });

  it('makes Delete Table name a number of keys, and deletes nothing', async () => {
    const path = `/${table}/Tables('${table}')`;
    assertJsonError(await client.send({ method: 'DELETE', path }), {
      status: 400,
      code: 'InvalidInput',
      message:
        'The number of keys specified in the URI does not match number of key properties for the resource ' +
        `'Tables'.`,
    });
    assert.equal((await client.send({ path: `/Tables('${table}')` })).status, 200);
  });

  it('makes service properties and batches something else', async () => {
    assertFrontDoorError(await client.send({ path: `/${table}/${properties}` }), {
      status: 400,
      code: 'InvalidQueryParameterValue',
    });
    const batch = await post(`/${table}/$batch`, { 'Content-Type': 'multipart/mixed; boundary=b' });
    assert.equal(batch.status, 415);
    assert.equal(batch.header('x-ms-error-code'), 'MediaTypeNotSupported');
  });

  it('refuses what is deeper, or below anything else', async () => {
    for (const path of [`/${table}/a/b`, `/Tables/${table}`, `/${table}()/Tables`]) {
      assertJsonError(await post(path), {
        status: 400,
        code: 'InvalidInput',
        message: messages.querySyntax,
      });
    }
  });
});

describe('names that no table can have', () => {
  const characters = { status: 400, code: 'InvalidResourceName', message: messages.nameCharacters };
  const length = { status: 400, code: 'OutOfRangeInput', message: messages.nameLength };
  const keys = { PartitionKey: 'p', RowKey: 'r' };

  for (const [name, error] of [
    ['my-table', characters],
    ['1table', characters],
    ['ab', length],
    ['a'.repeat(64), length],
  ] as const) {
    it(`are 400 in operations on entities and policies: ${name.slice(0, 10)}`, async () => {
      const path = entityPath(name, 'p', 'r');
      assertJsonError(await client.insert(name, keys), error);
      assertJsonError(await client.query(name), error);
      assertJsonError(await client.send({ path }), error);
      assertJsonError(await client.send({ method: 'MERGE', path, body: '{}' }), error);
      const headers = { 'If-Match': '*' };
      assertJsonError(await client.send({ method: 'DELETE', path, headers }), error);
      assertJsonError(await client.send({ path: `/${name}?comp=acl` }), error);
      const batch = await sendChangeset(client, [insertOperation(name, keys)]);
      assert.match(batch.text, new RegExp(`"code":"${error.code}".*"value":"0:${error.message}`));
    });
  }
});

describe('keys in the body of an update', () => {
  const typed = [
    ['Edm.Guid', '"c9da6455-213d-42c9-9a79-3e9149a57833"'],
    ['Edm.DateTime', '"2020-01-01T00:00:00Z"'],
    ['Edm.Binary', '"AQID"'],
    ['Edm.Int64', '"5"'],
  ] as const;

  for (const [type, value] of typed) {
    it(`may have the type ${type}; those of the path count`, async () => {
      const keys = ['PartitionKey', 'RowKey'].map(
        (name) => `"${name}@odata.type":"${type}","${name}":${value}`,
      );
      for (const method of ['PUT', 'MERGE', 'PATCH']) {
        const path = entityPath(table, type, method);
        const body = `{${keys.join(',')},"n":2}`;
        const written = await client.send({ method, path, body });
        assert.equal(written.status, 204, written.text);
        const { json } = await client.get(table, type, method, { Accept: acceptNone });
        assert.deepEqual([json['PartitionKey'], json['RowKey'], json['n']], [type, method, 2]);
      }
    });
  }

  it('must be of their type all the same', async () => {
    const body = '{"PartitionKey@odata.type":"Edm.Guid","PartitionKey":"no guid"}';
    const path = entityPath(table, 'p', 'guid');
    assertJsonError(await client.send({ method: 'PUT', path, body }), {
      status: 400,
      code: 'InvalidInput',
      message: messages.bodyNotParseable,
    });
  });
});

describe('a Boolean as text', () => {
  it('is read in any case', async () => {
    for (const [text, value] of [
      ['False', false],
      ['TRUE', true],
    ] as const) {
      const body = `{"PartitionKey":"b","RowKey":"${text}","v@odata.type":"Edm.Boolean","v":"${text}"}`;
      assert.equal((await client.insert(table, body)).json['v'], value);
    }
  });
});

describe('documents of tables', () => {
  it('begin with a byte order mark and say nothing about caches', async () => {
    const secondary = `/${client.account}-secondary/?restype=service&comp=stats`;
    for (const request of [
      { path: `/${properties}` },
      { path: `/${table}?comp=acl` },
      { target: secondary },
    ]) {
      const { body, ...response } = await client.send(request);
      assert.equal(body.toString('utf8', 0, 8), '\ufeff<?xml');
      assert.equal(
        response.headers.find(([name]) => /cache-control/i.test(name)),
        undefined,
      );
    }
  });

  it('about access policies need an id of 1 to 64 characters', async () => {
    const set = (id: string) =>
      client.send({
        method: 'PUT',
        path: `/${table}?comp=acl`,
        body: `<SignedIdentifiers><SignedIdentifier>${id}</SignedIdentifier></SignedIdentifiers>`,
      });
    for (const id of ['', '<Id />', `<Id>${'i'.repeat(65)}</Id>`]) {
      assertFrontDoorError(await set(id), { status: 400, code: 'InvalidXmlDocument' });
    }
    assert.equal((await set(`<Id>${'i'.repeat(64)}</Id>`)).status, 204);
  });
});

describe('statistics of tables', () => {
  it('are refused at the primary, which says where to ask', async () => {
    assertFrontDoorError(await client.send({ path: '/?restype=service&comp=stats' }), {
      status: 400,
      code: 'InvalidQueryParameterValue',
    });
  });
});

describe('a write at the secondary', () => {
  it('is told that writes are not allowed', async () => {
    const target = `/${client.account}-secondary/Tables`;
    const { text } = await client.send({ method: 'POST', target, body: '{"TableName":"other"}' });
    assert.match(text, />Write operations are not allowed\. /);
  });
});

describe('$select', () => {
  it('is shown in odata.metadata as it was sent', async () => {
    for (const [sent, shown] of [
      ['n,%20m', 'n,%20m'],
      ['n%2Cm', 'n,m'],
      ['n,%C3%BC', 'n,%C3%BC'],
    ]) {
      const { json } = await client.send({ path: `/${table}()?$select=${sent}&$top=1` });
      assert.equal(json['odata.metadata'], `${client.base}/$metadata#${table}&$select=${shown}`);
    }
  });
});

describe('what fails in a changeset after it was understood', () => {
  it('says Cache-Control and the preference of the insert that failed', async () => {
    const keys = { PartitionKey: 'p', RowKey: 'twice' };
    const same = await sendChangeset(client, [
      insertOperation(table, keys),
      insertOperation(table, keys),
    ]);
    assert.match(same.text, /nosniff\r\nCache-Control: no-cache\r\n[^]*InvalidDuplicateRow/);
    const many = Array.from({ length: 101 }, (_, index) => {
      const { headers, ...operation } = insertOperation(table, { ...keys, RowKey: `${index}` });
      return { ...operation, headers: { ...headers, Prefer: 'return-no-content' } };
    });
    assert.match(
      (await sendChangeset(client, many)).text,
      /Cache-Control: no-cache\r\nPreference-Applied: return-no-content\r\n[^]*"value":"99:/,
    );
    const missing = await sendChangeset(client, [insertOperation('nowhere', keys)]);
    assert.doesNotMatch(changesetParts(missing)[0]?.head ?? '', /Cache-Control/);
  });
});

describe('addresses of what was inserted', () => {
  const wide = '\u20ac';

  /** Which of the headers an insert of keys of this length has. */
  async function headersOf(length: number, prefer: string): Promise<(string | undefined)[]> {
    const keys = { PartitionKey: wide.repeat(length), RowKey: wide.repeat(length) };
    await client.send({
      method: 'DELETE',
      path: entityPath(table, keys.PartitionKey, keys.RowKey),
      headers: { 'If-Match': '*' },
    });
    const inserted = await client.insert(table, keys, { Prefer: prefer });
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
      const { headers, ...operation } = insertOperation(table, {
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
