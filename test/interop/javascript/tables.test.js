import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AzureNamedKeyCredential, TableServiceClient, odata } from '@azure/data-tables';
import { all, assertRefused, freshName, freshTable, overHttp, settings, tables } from './server.js';

const withPrefix = (prefix) => ({
  queryOptions: { filter: odata`TableName ge ${prefix} and TableName lt ${`${prefix}z`}` },
});

describe('tables', () => {
  it('are created, listed and deleted', async () => {
    const prefix = freshName();
    for (const letter of 'abc') await tables.createTable(prefix + letter);
    const names = async () =>
      (await all(tables.listTables(withPrefix(prefix)))).map(({ name }) => name);
    assert.deepEqual(await names(), [`${prefix}a`, `${prefix}b`, `${prefix}c`]);
    await tables.deleteTable(`${prefix}b`);
    assert.deepEqual(await names(), [`${prefix}a`, `${prefix}c`]);
  });

  it('come in pages, from a token as well', async () => {
    const prefix = freshName();
    for (const number of [0, 1, 2, 3, 4]) await tables.createTable(prefix + number);
    const page = { maxPageSize: 2 };
    const pages = await all(tables.listTables(withPrefix(prefix)).byPage(page));
    assert.deepEqual(
      pages.map(({ length }) => length),
      [2, 2, 1],
    );
    const { continuationToken } = pages[0];
    const rest = tables.listTables(withPrefix(prefix)).byPage({ ...page, continuationToken });
    const names = (await all(rest)).flat().map(({ name }) => name);
    assert.deepEqual(names, [`${prefix}2`, `${prefix}3`, `${prefix}4`]);
  });

  it('are created once: the client takes the conflict for done', async () => {
    const table = await freshTable();
    await table.createTable();
    const names = (await all(tables.listTables())).map(({ name }) => name);
    assert.equal(names.filter((name) => name === table.tableName).length, 1);
  });

  it('have no illegal names', async () => {
    const codes = {
      '1st': 'InvalidResourceName',
      ab: 'OutOfRangeInput',
      ['a'.repeat(64)]: 'OutOfRangeInput',
      'with-dash': 'InvalidResourceName',
    };
    for (const [name, code] of Object.entries(codes)) {
      await assertRefused(tables.createTable(name), 400, code);
    }
  });

  it('are told when they are missing', async () => {
    const table = await freshTable();
    await table.deleteTable();
    await table.deleteTable();
    const entity = { partitionKey: 'p', rowKey: 'r' };
    await assertRefused(table.createEntity(entity), 404, 'TableNotFound');
  });

  it('are not for those with a wrong key', async () => {
    const wrong = new AzureNamedKeyCredential(settings.AccountName, 'd3Jvbmc=');
    const stranger = new TableServiceClient(settings.TableEndpoint, wrong, overHttp);
    await assertRefused(stranger.getProperties(), 403, 'AuthenticationFailed');
  });
});
