import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptNone, entityPath } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError, messages } from '../kit/errors.js';
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

  it('B19: keys in either order', async () => {
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

describe('keys in a path', () => {
  const texts = [
    '',
    "'",
    "''",
    "'''",
    'a b',
    'a+b',
    '%',
    '%25',
    '%2F',
    '%41',
    '100%',
    '&',
    '"',
    '<>',
    '=',
    ',',
    '(',
    ')',
    ';',
    ':',
    '@',
    '!',
    '*',
    '~',
    '`',
    '{}',
    '[]',
    '|',
    '^',
    '$',
    '.',
    '..',
    'ü',
    'ß',
    '日本',
    '😀',
    '\u{10FFFF}',
    '\u00A0',
    '\u2028',
    '\uFEFF',
    "',RowKey='x",
    "PartitionKey='p'",
    "')",
    'x'.repeat(512),
    'é'.repeat(512),
  ];
  for (const text of texts) {
    it(`round-trips ${JSON.stringify(text).slice(0, 40)}`, async () => {
      const keys = { PartitionKey: text, RowKey: text };
      const inserted = await client.insert(table, { ...keys, n: 7 });
      assert.equal(inserted.status, 201, inserted.text);
      const path = entityPath(table, text, text);
      const read = await client.send({ path, headers: { Accept: acceptNone } });
      assert.equal(read.status, 200, read.text);
      assert.equal(read.json['PartitionKey'], text);
      assert.equal(read.json['RowKey'], text);
      assert.equal(await entityAt(path.replaceAll("'", '%27')), 7);
      const location = inserted.header('location') ?? '';
      assert.match(location, /^[\x21-\x7e]+$/);
      const doubled = text.replaceAll("'", "''");
      assert.equal(
        decodeURIComponent(location),
        `${client.base}/${table}(PartitionKey='${doubled}',RowKey='${doubled}')`,
      );
      assert.equal(await entityAt(location.slice(client.base.length)), 7);
    });
  }

  it('are echoed percent-encoded, quotes raw and doubled', async () => {
    const key = "a''b: é/".replace('/', '');
    const inserted = await client.insert(table, { PartitionKey: key, RowKey: key });
    const echoed = "a''''b%3A%20%C3%A9";
    assert.equal(
      inserted.header('location'),
      `${client.base}/${table}(PartitionKey='${echoed}',RowKey='${echoed}')`,
    );
  });

  it('that differ in case are different keys', async () => {
    await client.put(table, { PartitionKey: 'case', RowKey: 'A', n: 1 });
    await client.put(table, { PartitionKey: 'case', RowKey: 'a', n: 2 });
    assert.equal(await entityAt(entityPath(table, 'case', 'A')), 1);
    assert.equal(await entityAt(entityPath(table, 'case', 'a')), 2);
    assert.equal((await client.get(table, 'CASE', 'a')).status, 404);
  });

  it('that differ in Unicode normalisation are different keys', async () => {
    await client.put(table, { PartitionKey: 'form', RowKey: 'e\u0301', n: 1 });
    assert.equal((await client.get(table, 'form', '\u00e9')).status, 404);
    assert.equal(await entityAt(entityPath(table, 'form', 'e\u0301')), 1);
  });
});

describe('keys that are not allowed (table-service §2.3)', () => {
  const forbidden = [
    '/',
    '\\',
    '#',
    '?',
    '\u0000',
    '\u0001',
    '\t',
    '\n',
    '\r',
    '\u001f',
    '\u007f',
    '\u0080',
    '\u0085',
    '\u009f',
  ];
  for (const character of forbidden) {
    const shown = `U+${character.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`;
    for (const name of ['PartitionKey', 'RowKey'] as const) {
      it(`an insert with ${shown} in ${name} is OutOfRangeInput and stores nothing`, async () => {
        const fresh = await client.newTable();
        const value = `a${character}b`;
        const entity = { PartitionKey: 'p', RowKey: 'r', [name]: value };
        assertJsonError(await client.insert(fresh, entity), {
          status: 400,
          code: 'OutOfRangeInput',
          message: `The '${name}' parameter of value '${value}' is out of range.`,
        });
        assert.deepEqual(await client.rowKeys(fresh), []);
      });
    }

    it(`a URL with ${shown} in a key is refused by every method`, async () => {
      const path = entityPath(table, `a${character}b`, 'r');
      const isSlash = character === '/' || character === '\\';
      for (const method of ['GET', 'PUT', 'MERGE', 'DELETE']) {
        const response = await client.send({
          method,
          path,
          ...(method === 'PUT' || method === 'MERGE' ? { body: '{}' } : {}),
          headers: method === 'DELETE' ? { 'If-Match': '*' } : {},
        });
        assertJsonError(response, {
          status: 400,
          code: isSlash ? 'InvalidInput' : 'OutOfRangeInput',
          ...(isSlash ? { message: messages.querySyntax } : {}),
        });
      }
    });
  }

  it('a URL with # or ? in a key answers the general text', async () => {
    for (const character of ['#', '?', '\u0080']) {
      assertJsonError(await client.get(table, `a${character}`, 'r'), {
        status: 400,
        code: 'OutOfRangeInput',
        message: 'One of the request inputs is out of range.',
      });
    }
  });

  it('an insert without one of the keys, or with null, is PropertiesNeedValue', async () => {
    const bodies = [
      '{}',
      '{"PartitionKey":"p"}',
      '{"RowKey":"r"}',
      '{"PartitionKey":null,"RowKey":"r"}',
      '{"PartitionKey":"p","RowKey":null}',
      '{"partitionKey":"p","rowKey":"r"}',
    ];
    for (const body of bodies) {
      assertJsonError(await client.insert(table, body), {
        status: 400,
        code: 'PropertiesNeedValue',
        message: messages.propertiesNeedValue,
      });
    }
  });

  it('a key that is no string is InvalidInput (choice of this server)', async () => {
    for (const value of ['1', '1.5', 'true', '{}', '[]']) {
      assertJsonError(await client.insert(table, `{"PartitionKey":${value},"RowKey":"r"}`), {
        status: 400,
        code: 'InvalidInput',
      });
    }
  });

  const broken = [
    "/t(PartitionKey='%E9',RowKey='r')",
    "/t(PartitionKey='%',RowKey='r')",
    "/t(PartitionKey='%zz',RowKey='r')",
    "/t(PartitionKey='%C0%AF',RowKey='r')",
  ];
  for (const path of broken) {
    it(`${path} is no UTF-8: 400 InvalidInput`, async () => {
      assertJsonError(await client.send({ path }), { status: 400, code: 'InvalidInput' });
    });
  }
});

describe('keys in URL and body', () => {
  it('that differ: the URL decides (choice of this server)', async () => {
    const fresh = await client.newTable();
    for (const method of ['PUT', 'MERGE']) {
      const body = '{"PartitionKey":"other","RowKey":"other","n":1}';
      const path = entityPath(fresh, 'p', method);
      assert.equal((await client.send({ method, path, body })).status, 204);
    }
    assert.deepEqual(await client.rowKeys(fresh), ['MERGE', 'PUT']);
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

  it('the secondary only reads', async () => {
    const body = '{"TableName":"elsewhere"}';
    const target = `/${client.account}-secondary/Tables`;
    const response = await client.send({ method: 'POST', target, body });
    assertFrontDoorError(response, { status: 403, code: 'InsufficientAccountPermissions' });
    assert.equal((await client.send({ path: "/Tables('elsewhere')" })).status, 404);
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
