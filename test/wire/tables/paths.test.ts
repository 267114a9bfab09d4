import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptNone, entityPath } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError, refusals } from '../kit/errors.js';
import { authorizationOf } from '../kit/signature.js';
import { startFixture } from '../kit/server.js';

// table-service §1.1 to §1.3: how an account, a table and an entity are named in a request.

const { client } = await startFixture();
const table = await client.newTable('paths');
await client.put(table, { PartitionKey: 'p', RowKey: 'r', n: 1 });

const entityAt = async (path: string) => {
  const response = await client.send({ path, headers: { Accept: acceptNone } });
  assert.equal(response.status, 200, `${path}: ${response.text}`);
  return response.json['n'];
};

describe('forms of a path', () => {
  for (const path of ['/Tables', '/Tables()', `/Tables('${table}')`]) {
    it(`GET ${path}`, async () => {
      assert.equal((await client.send({ path })).status, 200);
    });
  }

  it('POST /Tables()', async () => {
    const body = '{"TableName":"parenthesised"}';
    assert.equal((await client.send({ method: 'POST', path: '/Tables()', body })).status, 201);
  });

  it('queries with and without parentheses', async () => {
    for (const path of [`/${table}`, `/${table}()`]) {
      assert.equal((await client.send({ path })).items.length, 1);
    }
  });

  it('inserts with and without parentheses', async () => {
    const fresh = await client.newTable();
    for (const path of [`/${fresh}`, `/${fresh}()`]) {
      const body = `{"PartitionKey":"p","RowKey":"${path.length}"}`;
      assert.equal((await client.send({ method: 'POST', path, body })).status, 201);
    }
  });

  it('takes the table name in any case', async () => {
    assert.equal(await entityAt(entityPath(table.toUpperCase(), 'p', 'r')), 1);
  });

  it('keys in either order', async () => {
    assert.equal(await entityAt(`/${table}(RowKey='r',PartitionKey='p')`), 1);
  });

  it('spaces after the comma', async () => {
    assert.equal(await entityAt(`/${table}(PartitionKey='p',%20RowKey='r')`), 1);
    assert.equal(await entityAt(`/${table}(PartitionKey='p',%20%20RowKey='r')`), 1);
  });

  it('everything percent-encoded that may be', async () => {
    assert.equal(await entityAt(`/${table}(PartitionKey=%27p%27,RowKey=%27r%27)`), 1);
    assert.equal(await entityAt(`/${table}%28PartitionKey%3D%27p%27%2CRowKey%3D%27r%27%29`), 1);
    assert.equal(await entityAt(`/${table}(PartitionKey='%70',RowKey='%72')`), 1);
  });

  it('$batch and %24batch', async () => {
    for (const path of ['/$batch', '/%24batch']) {
      const response = await client.send({ method: 'POST', path, body: 'x' });
      assert.equal(response.status === 202 || response.status === 400, true, response.text);
      assert.notEqual(response.header('x-ms-error-code'), 'MethodNotAllowed');
    }
  });
});

describe('account addressing', () => {
  const signed = (host: string, path: string, signedPath = path) => {
    const date = new Date().toUTCString();
    const Authorization = authorizationOf({
      scheme: 'SharedKeyLite',
      account: client.account,
      key: client.key,
      method: 'GET',
      target: signedPath,
      date,
    });
    return client.send({ target: path, headers: { Host: host, 'x-ms-date': date, Authorization } });
  };

  for (const host of [
    'localhost:10002',
    'tables:10002',
    'azurite.internal.example',
    '[::1]:10002',
    '10.0.0.7',
  ]) {
    it(`path style with the host ${host}`, async () => {
      const response = await signed(host, `/${client.account}/Tables`);
      assert.equal(response.status, 200, response.text);
      const metadata = `http://${host}/${client.account}/$metadata#Tables`;
      assert.equal(response.json['odata.metadata'], metadata);
    });
  }

  for (const host of ['table.core.windows.net', 'localhost', 'localhost:10002']) {
    it(`host style: ${client.account}.${host}`, async () => {
      const authority = `${client.account}.${host}`;
      const response = await signed(authority, `/${table}()?$filter=RowKey%20eq%20'r'`);
      assert.equal(response.status, 200, response.text);
      assert.equal(response.json['odata.metadata'], `http://${authority}/$metadata#${table}`);
    });
  }

  it('path style secondary, signed with either path', async () => {
    const path = `/${client.account}-secondary/Tables`;
    assert.equal((await signed(client.authority, path)).status, 200);
    const signedPath = `/${client.account}/Tables`;
    assert.equal((await signed(client.authority, path, signedPath)).status, 200);
  });

  it('host style secondary', async () => {
    const host = `${client.account}-secondary.table.core.windows.net`;
    assert.equal((await signed(host, '/Tables')).status, 200);
  });

  it('an unknown account is 404 ResourceNotFound, without a word of those that there are', async () => {
    const response = await client.send({ target: '/nosuchaccount/Tables' });
    assert.equal(response.status, 404);
    assert.equal(response.header('x-ms-error-code'), 'ResourceNotFound');
    assert.ok(!response.text.includes(client.account));
    assert.ok(response.text.includes('nosuchaccount'));
  });
});

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
    assertJsonError(await client.send({ path }), refusals.querySyntax);
  });
});

describe('a table name at the end of the account URL', () => {
  const post = (path: string, headers = {}) =>
    client.send({ method: 'POST', path, headers, body: '{"TableName":"below"}' });

  it('makes Create Table an insert without keys', async () => {
    const needed = refusals.propertiesNeedValue;
    assertJsonError(await post(`/${table}/Tables`), needed);
    const inserted = await client.send({
      method: 'POST',
      path: '/missing/Tables',
      body: '{"PartitionKey":"p","RowKey":"r"}',
    });
    const missing = refusals.tableNotFound;
    assertJsonError(inserted, missing);
    assert.equal((await client.send({ path: "/Tables('below')" })).status, 404);
  });

  it('makes queries 501', async () => {
    for (const path of [`/${table}/Tables`, `/${table}/${table}()`]) {
      assertJsonError(await client.send({ path }), refusals.notImplemented);
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
      assertJsonError(await post(path), refusals.querySyntax);
    }
  });
});
