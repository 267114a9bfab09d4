import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { insertOperation, sendChangeset } from '../kit/batch.js';
import { entityPath } from '../kit/client.js';
import { assertJsonError, refusals } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

const { client } = await startFixture();
const tableNotFound = refusals.tableNotFound;

describe('table names (table-service §2.1)', () => {
  const create = (body: string) => client.send({ method: 'POST', path: '/Tables', body });
  const cases: readonly (readonly [name: string, code: string, message: string])[] = [
    ['a-b', 'InvalidResourceName', refusals.nameCharacters.message],
    ['a_b', 'InvalidResourceName', refusals.nameCharacters.message],
    ['1abc', 'InvalidResourceName', refusals.nameCharacters.message],
    ['täble', 'InvalidResourceName', refusals.nameCharacters.message],
    ['ab', 'OutOfRangeInput', refusals.nameLength.message],
    ['x'.repeat(64), 'OutOfRangeInput', refusals.nameLength.message],
    ['tables', 'InvalidInput', refusals.inputInvalid.message],
    ['TABLES', 'InvalidInput', refusals.inputInvalid.message],
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
    assertJsonError(await create('{"TableName":'), refusals.bodyNotParseable);
  });

  it('ignores odata members of the body', async () => {
    const body = '{"odata.metadata":"x","odata.type":"y","TableName":"odataMembers"}';
    assert.equal((await create(body)).status, 201);
  });

  it('refuses a second name that differs in case only, and keeps the first spelling', async () => {
    assert.equal((await create('{"TableName":"MixedCase"}')).status, 201);
    assertJsonError(await create('{"TableName":"mixedcase"}'), refusals.tableExists);
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

describe('names that no table can have', () => {
  const characters = refusals.nameCharacters;
  const length = refusals.nameLength;
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

describe('a table that is deleted', () => {
  const keys = { PartitionKey: 'p', RowKey: 'r' };

  it('can be created again at once, and is empty', async () => {
    const table = await client.newTable();
    for (let round = 0; round < 5; round += 1) {
      await client.put(table, keys);
      const path = `/Tables('${table}')`;
      assert.equal((await client.send({ method: 'DELETE', path })).status, 204);
      assert.equal((await client.createTable(table)).status, 201);
      assert.deepEqual(await client.rowKeys(table), []);
    }
  });

  it('takes nothing of tables whose names begin as its own', async () => {
    const others = ['subtables', 'subtablesmore', 'table'];
    for (const name of ['subtable', ...others]) {
      await client.createTable(name);
      await client.put(name, keys);
    }
    assert.equal(
      (await client.send({ method: 'DELETE', path: "/Tables('subtable')" })).status,
      204,
    );
    for (const name of others) assert.deepEqual(await client.rowKeys(name), ['r'], name);
    assert.equal((await client.query('subtable')).status, 404);
  });
});
