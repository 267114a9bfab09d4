import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entityPath } from '../kit/client.js';
import { assertFrontDoorError } from '../kit/errors.js';
import type { Headers } from '../kit/request-bytes.js';
import { startFixture } from '../kit/server.js';

// The secondary endpoint of tables reads and changes nothing (table-service §1.1).

const { client } = await startFixture();
const secondary = `/${client.account}-secondary`;
const table = await client.newTable();
await client.put(table, { PartitionKey: 'p', RowKey: 'r', A: 1 });
const entity = entityPath(table, 'p', 'r');
const properties = '/?restype=service&comp=properties';

describe('the secondary endpoint of tables', () => {
  for (const path of [
    '/Tables',
    `/Tables('${table}')`,
    `/${table}()`,
    entity,
    `/${table}?comp=acl`,
    properties,
  ]) {
    it(`reads GET ${path} as the primary does`, async () => {
      const [here, there] = [
        await client.send({ target: `${secondary}${path}` }),
        await client.send({ path }),
      ];
      assert.equal(here.status, 200, here.text);
      const local = here.text.replaceAll(secondary, `/${client.account}`);
      assert.equal(local, there.text);
    });
  }

  const batch =
    '--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n' +
    '--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n' +
    `DELETE ${client.base}${entity} HTTP/1.1\r\nIf-Match: *\r\n\r\n` +
    '--changeset_1--\r\n--batch_1--\r\n';
  const acl =
    '<SignedIdentifiers><SignedIdentifier><Id>a</Id></SignedIdentifier></SignedIdentifiers>';
  const any = { 'If-Match': '*' };
  const changes: readonly (readonly [
    method: string,
    path: string,
    body?: string | undefined,
    headers?: Headers,
  ])[] = [
    ['POST', '/Tables', '{"TableName":"elsewhere"}'],
    ['DELETE', `/Tables('${table}')`],
    ['POST', `/${table}`, '{"PartitionKey":"p","RowKey":"new"}'],
    ['PUT', entity, '{"A":2}', any],
    ['PUT', entity, '{"A":2}'],
    ['MERGE', entity, '{"A":2}', any],
    ['PATCH', entity, '{"A":2}', any],
    ['POST', entity, '{"A":2}', { ...any, 'X-HTTP-Method': 'MERGE' }],
    ['DELETE', entity, undefined, any],
    ['PUT', `/${table}?comp=acl`, acl],
    ['PUT', properties, '<StorageServiceProperties><Cors /></StorageServiceProperties>'],
    ['POST', '/$batch', batch, { 'Content-Type': 'multipart/mixed; boundary=batch_1' }],
  ];
  for (const [method, path, body, headers = {}] of changes) {
    const tunnelled = headers['X-HTTP-Method'] === undefined ? '' : ' that means MERGE';
    const blind = method === 'PUT' && path === entity && headers['If-Match'] === undefined;
    it(`refuses ${method} ${path}${tunnelled}${blind ? ' without condition' : ''}`, async () => {
      const target = `${secondary}${path}`;
      const request = { method, target, headers, ...(body === undefined ? {} : { body }) };
      const response = await client.send(request);
      assertFrontDoorError(response, { status: 403, code: 'InsufficientAccountPermissions' });
      assert.match(response.text, />Write operations are not allowed\. /);
    });
  }

  it('has changed nothing by what it refused', async () => {
    const { items } = await client.query(table);
    assert.deepEqual(
      items.map(({ RowKey, A }) => [RowKey, A]),
      [['r', 1]],
    );
    assert.equal((await client.send({ path: "/Tables('elsewhere')" })).status, 404);
    assert.doesNotMatch((await client.send({ path: `/${table}?comp=acl` })).text, /<Id>/);
  });
});
