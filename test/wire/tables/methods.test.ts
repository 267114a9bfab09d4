import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptNone, entityPath } from '../kit/client.js';
import { assertJsonError } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// table-service §1.2 and §3.4: methods, X-HTTP-Method, and requests that no operation fits.

const { client } = await startFixture();

async function entityOf(table: string): Promise<Record<string, unknown>> {
  const response = await client.get(table, 'p', 'r', { Accept: acceptNone });
  const { Timestamp: _, ...entity } = response.json;
  return entity;
}

const keys = { PartitionKey: 'p', RowKey: 'r' };

describe('X-HTTP-Method on POST', () => {
  const tunnel = (table: string, method: string, body = '{"b":2}') =>
    client.send({
      method: 'POST',
      path: entityPath(table, 'p', 'r'),
      body,
      headers: { 'X-HTTP-Method': method, 'If-Match': '*' },
    });

  for (const method of ['MERGE', 'PATCH']) {
    it(`${method} merges`, async () => {
      const table = await client.newTable();
      await client.put(table, { ...keys, a: 1 });
      assert.equal((await tunnel(table, method)).status, 204);
      assert.deepEqual(await entityOf(table), { ...keys, a: 1, b: 2 });
    });
  }

  it('PUT replaces', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, a: 1 });
    assert.equal((await tunnel(table, 'PUT')).status, 204);
    assert.deepEqual(await entityOf(table), { ...keys, b: 2 });
  });

  it('DELETE deletes', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    assert.equal((await tunnel(table, 'DELETE', '')).status, 204);
    assert.equal((await client.get(table, 'p', 'r')).status, 404);
  });

  it('GET reads', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    assert.equal((await tunnel(table, 'GET', '')).status, 200);
  });

  it('a value that is no method is XMethodIncorrectValue', async () => {
    const table = await client.newTable();
    assertJsonError(await tunnel(table, 'FROBNICATE'), {
      status: 400,
      code: 'XMethodIncorrectValue',
      message: 'The specified X-HTTP-Method is invalid.',
    });
  });

  it('two values are XMethodIncorrectCount', async () => {
    const table = await client.newTable();
    const response = await client.send({
      method: 'POST',
      path: entityPath(table, 'p', 'r'),
      body: '{}',
      headers: { 'X-HTTP-Method': ['MERGE', 'PUT'] },
    });
    assertJsonError(response, {
      status: 400,
      code: 'XMethodIncorrectCount',
      message: 'More than one X-HTTP-Method is specified.',
    });
  });

  it('on another verb it is XMethodNotUsingPost', async () => {
    const table = await client.newTable();
    const response = await client.send({
      method: 'PUT',
      path: entityPath(table, 'p', 'r'),
      body: '{}',
      headers: { 'X-HTTP-Method': 'MERGE' },
    });
    assertJsonError(response, {
      status: 400,
      code: 'XMethodNotUsingPost',
      message: 'The request uses X-HTTP-Method with an HTTP verb other than POST.',
    });
    assert.equal((await client.get(table, 'p', 'r')).status, 404);
  });
});

describe('requests that fit no operation', () => {
  const cases: readonly (readonly [method: string, path: string])[] = [
    ['PUT', '/Tables'],
    ['DELETE', '/Tables'],
    ['PUT', "/Tables('x')"],
    ['MERGE', "/Tables('x')"],
    ['POST', "/Tables('x')"],
    ['DELETE', '/people()'],
    ['PUT', '/people()'],
    ['POST', "/people(PartitionKey='p',RowKey='r')"],
    ['GET', '/$batch'],
    ['PUT', '/$batch'],
    ['GET', '/people?comp=unknown'],
    ['PUT', '/people?comp=unknown'],
    ['GET', "/people(PartitionKey='p',RowKey='r')?comp=acl"],
    ['GET', '/?restype=service&comp=unknown'],
    ['GET', '/?comp=properties'],
    ['GET', '/'],
    ['GET', ''],
    ['GET', '/a/b/c'],
    ['GET', '/people/extra'],
    ['GET', "/people('only')"],
    ['GET', "/people(PartitionKey='p')"],
    ['GET', "/people(PartitionKey='p',RowKey='r'"],
    ['GET', "/people(PartitionKey='p',RowKey='r')x"],
    ['GET', "/people(PartitionKey=p,RowKey='r')"],
    ['GET', "/people(PartitionKey='p',PartitionKey='r')"],
  ];
  for (const [method, path] of cases) {
    it(`${method} ${path === '' ? '(account alone)' : path} is a 4xx or 501 with a code`, async () => {
      const response = await client.send({ method, path });
      assert.ok([400, 404, 405, 501].includes(response.status), `${response.status}`);
      const code = response.header('x-ms-error-code') ?? '';
      assert.match(code, /^[A-Z][A-Za-z]+$/);
      assert.ok(response.text.includes(code));
    });
  }

  it('a method that the resource never has is 405 MethodNotAllowed', async () => {
    const message = 'The requested method is not allowed on the specified resource.';
    for (const [method, path, allowed] of [
      ['PUT', '/Tables', 'POST, GET'],
      ['POST', "/people(PartitionKey='p',RowKey='r')", 'GET, PUT, MERGE, PATCH, DELETE'],
      ['GET', '/$batch', 'POST'],
    ] as const) {
      const response = await client.send({ method, path });
      const methods = (text = '') => text.split(', ').toSorted();
      assert.deepEqual(methods(response.header('allow')), methods(allowed));
      assertJsonError(response, { status: 405, code: 'MethodNotAllowed', message });
    }
  });
});

describe('query options', () => {
  it('unknown names are ignored', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    for (const query of ['?foo=bar', '?$foo=bar', '?api-version=2019-02-02', '?_=1&', '?&&']) {
      const response = await client.send({ path: `/${table}()${query}` });
      assert.equal(response.status, 200, `${query}: ${response.text}`);
      assert.equal(response.items.length, 1);
    }
  });

  for (const top of ['1001', '-1', 'x', '1.5', '99999999999999999999']) {
    it(`$top=${top} is 400 InvalidInput`, async () => {
      const table = await client.newTable();
      assertJsonError(await client.query(table, { top }), {
        status: 400,
        code: 'InvalidInput',
        message: 'One of the request inputs is not valid.',
      });
    });
  }

  it('$filter and $top of a point read are ignored (table-service §3.10)', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    for (const query of [`$filter=RowKey%20eq%20'other'`, '$filter=x%20eq', '$top=0', '$top=x']) {
      const response = await client.send({ path: `${entityPath(table, 'p', 'r')}?${query}` });
      assert.equal(response.status, 200, `${query}: ${response.text}`);
    }
  });

  it('+ in a value is a space', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: '003', RowKey: 'r' });
    const path = `/${table}()?%24filter=PartitionKey+eq+%27003%27`;
    assert.equal((await client.send({ path })).items.length, 1);
  });
});
