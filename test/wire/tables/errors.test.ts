import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptFull, acceptNone, entityPath } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError, assertXmlError, messages } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// The three error shapes of table-service §3.1 and which layer answers in which.

const { client } = await startFixture();

const resourceNotFound = {
  status: 404,
  code: 'ResourceNotFound',
  message: messages.resourceNotFound,
} as const;
const tableNotFound = {
  status: 404,
  code: 'TableNotFound',
  message: messages.tableNotFound,
} as const;

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

  it('carries x-ms-error-code too, for code written against emulators', async () => {
    const table = await client.newTable();
    const response = await client.get(table, 'p', 'r');
    assert.equal(response.header('x-ms-error-code'), 'ResourceNotFound');
  });

  for (const prefer of ['return-content', 'return-no-content']) {
    it(`echoes Preference-Applied: ${prefer} on a 409 from storage`, async () => {
      const table = await client.newTable();
      await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
      const headers = { Prefer: prefer };
      const again = await client.insert(table, { PartitionKey: 'p', RowKey: 'r' }, headers);
      assertJsonError(again, {
        status: 409,
        code: 'EntityAlreadyExists',
        message: messages.entityExists,
      });
      assert.equal(again.header('preference-applied'), prefer);
      const tableAgain = await client.send({
        method: 'POST',
        path: '/Tables',
        body: `{"TableName":"${table}"}`,
        headers,
      });
      assertJsonError(tableAgain, {
        status: 409,
        code: 'TableAlreadyExists',
        message: messages.tableExists,
      });
      assert.equal(tableAgain.header('preference-applied'), prefer);
    });
  }

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

describe('table names (table-service §2.1)', () => {
  const create = (body: string) => client.send({ method: 'POST', path: '/Tables', body });
  const cases: readonly (readonly [name: string, code: string, message: string])[] = [
    ['a-b', 'InvalidResourceName', messages.nameCharacters],
    ['a_b', 'InvalidResourceName', messages.nameCharacters],
    ['1abc', 'InvalidResourceName', messages.nameCharacters],
    ['täble', 'InvalidResourceName', messages.nameCharacters],
    ['ab', 'OutOfRangeInput', messages.nameLength],
    ['x'.repeat(64), 'OutOfRangeInput', messages.nameLength],
    ['tables', 'InvalidInput', messages.inputInvalid],
    ['TABLES', 'InvalidInput', messages.inputInvalid],
  ];
  for (const [name, code, message] of cases) {
    it(`refuses ${name.slice(0, 12)} (${name.length} characters) with ${code}`, async () => {
      assertJsonError(await create(JSON.stringify({ TableName: name })), {
        status: 400,
        code,
        message,
      });
    });
  }

  it('takes names of 3 and of 63 characters', async () => {
    assert.equal((await create('{"TableName":"abc"}')).status, 201);
    assert.equal((await create(`{"TableName":"${'x'.repeat(63)}"}`)).status, 201);
  });

  it('refuses a body without TableName with PropertiesNeedValue (choice of this server)', async () => {
    assertJsonError(await create('{}'), { status: 400, code: 'PropertiesNeedValue' });
  });

  it('refuses a body that is no JSON', async () => {
    assertJsonError(await create('{"TableName":'), {
      status: 400,
      code: 'InvalidInput',
      message: messages.bodyNotParseable,
    });
  });

  it('ignores odata members of the body', async () => {
    const body = '{"odata.metadata":"x","odata.type":"y","TableName":"odataMembers"}';
    assert.equal((await create(body)).status, 201);
  });

  it('refuses a second name that differs in case only, and keeps the first spelling', async () => {
    assert.equal((await create('{"TableName":"MixedCase"}')).status, 201);
    assertJsonError(await create('{"TableName":"mixedcase"}'), {
      status: 409,
      code: 'TableAlreadyExists',
      message: messages.tableExists,
    });
    const read = await client.send({ path: "/Tables('MIXEDCASE')" });
    assert.equal(read.status, 200);
    assert.equal(read.json['TableName'], 'MixedCase');
    const list = await client.send({
      path: `/Tables?$filter=${encodeURIComponent("TableName eq 'MixedCase'")}`,
    });
    assert.deepEqual(list.items, [{ TableName: 'MixedCase' }]);
    await client.put('mixedCASE', { PartitionKey: 'p', RowKey: 'r' });
    assert.equal((await client.get('MixedCase', 'p', 'r')).status, 200);
    const deleted = await client.send({ method: 'DELETE', path: "/Tables('mixedcase')" });
    assert.equal(deleted.status, 204);
    assertJsonError(await client.query('MixedCase'), tableNotFound);
  });
});

describe('shape b: front-door XML', () => {
  it('answers a wrong signature, with the message as reason phrase', async () => {
    const headers = { Authorization: `SharedKeyLite ${client.account}:AAAA` };
    const response = await client.send({ path: '/Tables', headers });
    assertFrontDoorError(response, {
      status: 403,
      code: 'AuthenticationFailed',
      message: messages.authenticationFailed,
    });
    assert.equal(response.reason, messages.authenticationFailed);
  });

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

describe('shape c: OData XML', () => {
  it('answers a request without Accept', async () => {
    const response = await client.send({ path: '/Tables', headers: { Accept: undefined } });
    assertXmlError(response, {
      status: 415,
      code: 'AtomFormatNotSupported',
      message: 'Atom format is not supported.',
    });
  });
});
