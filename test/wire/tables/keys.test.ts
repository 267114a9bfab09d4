import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptNone, entityPath, quoted } from '../kit/client.js';
import { assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// table-service §1.3 and §2.3: keys in addresses, filters and bodies.

const { client } = await startFixture();
const table = await client.newTable('keys');
await client.put(table, { PartitionKey: 'p', RowKey: 'r', n: 1 });

const entityAt = async (path: string) => {
  const response = await client.send({ path, headers: { Accept: acceptNone } });
  assert.equal(response.status, 200, `${path}: ${response.text}`);
  return response.json['n'];
};

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
    "','",
    "50%'s",
    '%27',
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
      const filter = `PartitionKey eq ${quoted(text)} and RowKey eq ${quoted(text)}`;
      assert.deepEqual(await client.rowKeys(table, filter), [text]);
      assert.equal((await client.send({ method: 'MERGE', path, body: '{"n":8}' })).status, 204);
      assert.equal(await entityAt(path), 8);
      const deletion = { method: 'DELETE', path, headers: { 'If-Match': '*' } };
      assert.equal((await client.send(deletion)).status, 204);
      assert.equal((await client.send({ path })).status, 404);
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
          ...(isSlash ? { message: refusals.querySyntax.message } : {}),
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
      assertJsonError(await client.insert(table, body), refusals.propertiesNeedValue);
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
    assertJsonError(await client.send({ method: 'PUT', path, body }), refusals.bodyNotParseable);
  });

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
