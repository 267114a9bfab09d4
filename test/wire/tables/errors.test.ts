import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptFull, acceptNone, entityPath } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// The three error forms of table-service §3.1, and the layer that uses each.

const { client } = await startFixture();

const resourceNotFound = refusals.resourceNotFound;
const tableNotFound = refusals.tableNotFound;

describe('shape a: OData JSON', () => {
  it('is compact, names request id and time, and carries the negotiated level', async () => {
    const table = await client.newTable();
    assertJsonError(await client.get(table, 'p', 'r'), resourceNotFound);
    const none = await client.get(table, 'p', 'r', { Accept: acceptNone });
    assertJsonError(none, resourceNotFound, 'nometadata');
    const full = await client.get(table, 'p', 'r', { Accept: acceptFull });
    assertJsonError(full, resourceNotFound, 'fullmetadata');
  });

  it('follows $format before Accept', async () => {
    const table = await client.newTable();
    const path = `${entityPath(table, 'p', 'r')}?$format=application%2Fjson%3Bodata%3Dnometadata`;
    assertJsonError(await client.send({ path }), resourceNotFound, 'nometadata');
  });

  it('has Cache-Control on storage errors and none before storage', async () => {
    const table = await client.newTable();
    const storage = await client.get(table, 'p', 'r');
    assert.equal(storage.header('cache-control'), 'no-cache');
    const earlier = await client.query('nowhere');
    assertJsonError(earlier, tableNotFound);
    assert.equal(earlier.header('cache-control'), undefined);
    const syntax = await client.query(table, { filter: 'x eq' });
    assert.equal(syntax.status, 400);
    assert.equal(syntax.header('cache-control'), undefined);
  });

  const missingTable: readonly (readonly [string, string, string])[] = [
    ['GET', '/nowhere()', ''],
    ['GET', "/nowhere(PartitionKey='p',RowKey='r')", ''],
    ['POST', '/nowhere', '{"PartitionKey":"p","RowKey":"r"}'],
    ['PUT', "/nowhere(PartitionKey='p',RowKey='r')", '{}'],
    ['MERGE', "/nowhere(PartitionKey='p',RowKey='r')", '{}'],
    ['PATCH', "/nowhere(PartitionKey='p',RowKey='r')", '{}'],
    ['DELETE', "/nowhere(PartitionKey='p',RowKey='r')", ''],
  ];
  for (const [method, path, body] of missingTable) {
    it(`${method} ${path} names a table that is missing`, async () => {
      const response = await client.send({
        method,
        path,
        ...(body === '' ? {} : { body }),
        headers: method === 'DELETE' ? { 'If-Match': '*' } : {},
      });
      assertJsonError(response, tableNotFound);
    });
  }

  const badTables = ['nowhere', 'tables', 'a', 'x'.repeat(64), '1abc', 'a-b'];
  for (const name of badTables) {
    it(`GET and DELETE of Tables('${name}') answer ResourceNotFound (table-service §2.1)`, async () => {
      assertJsonError(await client.send({ path: `/Tables('${name}')` }), resourceNotFound);
      const deleted = await client.send({ method: 'DELETE', path: `/Tables('${name}')` });
      assertJsonError(deleted, resourceNotFound);
    });
  }
});

describe('shape b: front-door XML', () => {
  it('answers an x-ms-version that is no date', async () => {
    const headers = { 'x-ms-version': 'latest' };
    assertFrontDoorError(await client.send({ path: '/Tables', headers }), {
      status: 400,
      code: 'InvalidHeaderValue',
      message: 'The value for one of the HTTP headers is not in the correct format.',
    });
  });

  it('answers an empty or missing Host', async () => {
    const line = `GET /${client.account}/Tables HTTP/1.1\r\n`;
    for (const host of ['Host:\r\n', '']) {
      assertFrontDoorError(await client.sendRaw(`${line}${host}\r\n`), {
        status: 400,
        code: 'HostInformationNotPresent',
        message:
          'The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.',
      });
    }
  });

  it('answers a timeout that is no number', async () => {
    const response = await client.send({ path: '/Tables?timeout=soon' });
    assertFrontDoorError(response, {
      status: 400,
      code: 'InvalidQueryParameterValue',
      message: 'Value for one of the query parameters specified in the request URI is invalid.',
    });
  });

  it('comes before routing: a bad signature on an unknown path is still 403', async () => {
    const headers = { Authorization: `SharedKey ${client.account}:AAAA` };
    const response = await client.send({ path: '/a/b/c', headers });
    assertFrontDoorError(response, { status: 403, code: 'AuthenticationFailed' });
  });
});
