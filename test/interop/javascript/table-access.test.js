import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  AzureSASCredential,
  TableServiceClient,
  generateAccountSas,
  generateTableSas,
} from '@azure/data-tables';
import {
  all,
  assertRefused,
  freshTable,
  inHours,
  overHttp,
  settings,
  tableGuest,
  tableKey,
} from './server.js';

const everything = { query: true, add: true, update: true, delete: true };
const mismatch = 'AuthorizationPermissionMismatch';

describe('a signature for a table', () => {
  let table;

  before(async () => {
    table = await freshTable();
    for (const partitionKey of 'abcd') {
      await table.submitTransaction(
        ['1', '2', '3'].map((rowKey) => ['create', { partitionKey, rowKey }]),
      );
    }
  });

  const guest = (signed) =>
    tableGuest(table.tableName, generateTableSas(table.tableName, tableKey, signed));

  it('shows only the rows in its range', async () => {
    const visitor = guest({
      permissions: everything,
      expiresOn: inHours(1),
      startPartitionKey: 'b',
      startRowKey: '2',
      endPartitionKey: 'c',
      endRowKey: '2',
    });
    const found = await all(visitor.listEntities());
    assert.deepEqual(
      found.map(({ partitionKey, rowKey }) => partitionKey + rowKey),
      ['b2', 'b3', 'c1', 'c2'],
    );
    const inside = { partitionKey: 'c', rowKey: '11' };
    await visitor.upsertEntity(inside);
    await visitor.deleteEntity('c', '11');
    const outside = { partitionKey: 'd', rowKey: '1' };
    for (const write of [
      visitor.createEntity(outside),
      visitor.upsertEntity(outside),
      visitor.updateEntity(outside),
      visitor.deleteEntity('d', '1'),
      visitor.submitTransaction([['create', outside]]),
    ]) {
      await assertRefused(write, 403, 'AuthorizationFailure');
    }
    await assertRefused(visitor.getEntity('a', '1'), 404, 'ResourceNotFound');
  });

  it('allows no more than it says', async () => {
    const reader = guest({ permissions: { query: true }, expiresOn: inHours(1) });
    assert.equal((await all(reader.listEntities())).length >= 12, true);
    const entity = { partitionKey: 'a', rowKey: '1' };
    await assertRefused(reader.createEntity(entity), 403, mismatch);
    await assertRefused(reader.updateEntity(entity), 403, mismatch);
    await assertRefused(reader.deleteEntity('a', '1'), 403, mismatch);
    const writer = guest({ permissions: { add: true }, expiresOn: inHours(1) });
    await writer.createEntity({ partitionKey: 'a', rowKey: 'new' });
    await assertRefused(writer.getEntity('a', 'new'), 403, mismatch);
  });

  it('is refused out of its time', async () => {
    const permissions = everything;
    for (const period of [
      { startsOn: inHours(-2), expiresOn: inHours(-1) },
      { startsOn: inHours(1), expiresOn: inHours(2) },
    ]) {
      const visitor = guest({ permissions, ...period });
      await assertRefused(all(visitor.listEntities()), 403, 'AuthenticationFailed');
    }
  });

  it('is refused over http when it is for https', async () => {
    const visitor = guest({ permissions: everything, expiresOn: inHours(1), protocol: 'https' });
    await assertRefused(all(visitor.listEntities()), 403, 'AuthorizationProtocolMismatch');
  });

  it('can be of the account', async () => {
    const accountGuest = (permissions) => {
      const signature = generateAccountSas(tableKey, {
        permissions,
        expiresOn: inHours(1),
        services: { table: true },
        resourceTypes: 'so',
      });
      return tableGuest(table.tableName, signature);
    };
    const writer = accountGuest({ query: true, write: true, add: true });
    await writer.createEntity({ partitionKey: 'a', rowKey: 'by account' });
    const reader = accountGuest({ query: true });
    assert.equal((await reader.getEntity('a', 'by account')).rowKey, 'by account');
    const more = reader.createEntity({ partitionKey: 'a', rowKey: 'x' });
    await assertRefused(more, 403, mismatch);
    await assertRefused(writer.createTable(), 403, 'AuthorizationResourceTypeMismatch');
    const service = new TableServiceClient(
      settings.TableEndpoint,
      new AzureSASCredential(
        generateAccountSas(tableKey, { permissions: { list: true }, expiresOn: inHours(-1) }),
      ),
      overHttp,
    );
    await assertRefused(all(service.listTables()), 403, 'AuthenticationFailed');
  });

  it('follows a stored policy until that is revoked', async () => {
    const accessPolicy = { permission: 'r', start: inHours(-1), expiry: inHours(1) };
    await table.setAccessPolicy([{ id: 'reader', accessPolicy }]);
    const [kept, ...none] = await table.getAccessPolicy();
    assert.deepEqual(none, []);
    assert.deepEqual(kept, { id: 'reader', accessPolicy });
    const visitor = guest({ identifier: 'reader' });
    assert.equal((await all(visitor.listEntities())).length >= 12, true);
    await assertRefused(visitor.deleteEntity('a', '1'), 403, mismatch);
    await table.setAccessPolicy([]);
    assert.deepEqual(await table.getAccessPolicy(), []);
    await assertRefused(all(visitor.listEntities()), 403, 'AuthenticationFailed');
  });
});
