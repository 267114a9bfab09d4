import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { all, assertRefused, freshTable } from './server.js';

const row = (rowKey, more) => ({ partitionKey: 'p', rowKey, ...more });
const rows = async (table) => (await all(table.listEntities())).map(({ rowKey }) => rowKey);

describe('a transaction', () => {
  it('applies every kind of operation at once', async () => {
    const table = await freshTable();
    for (const key of ['merged', 'replaced', 'deleted'])
      await table.createEntity(row(key, { a: 1 }));
    const b = { b: 2 };
    const { subResponses } = await table.submitTransaction([
      ['create', row('created', b)],
      ['update', row('merged', b), 'Merge'],
      ['update', row('replaced', b), 'Replace'],
      ['upsert', row('upserted', b), 'Merge'],
      ['upsert', row('written', b), 'Replace'],
      ['delete', row('deleted')],
    ]);
    assert.deepEqual(
      subResponses.map(({ status }) => status),
      [204, 204, 204, 204, 204, 204],
    );
    assert.ok(subResponses.slice(0, 5).every(({ etag }) => etag !== undefined));
    const left = ['created', 'merged', 'replaced', 'upserted', 'written'];
    assert.deepEqual(await rows(table), left);
    assert.equal((await table.getEntity('p', 'merged')).a, 1);
    assert.equal((await table.getEntity('p', 'replaced')).a, undefined);
  });

  it('takes 100 operations and not 101', async () => {
    const table = await freshTable();
    const actions = Array.from({ length: 101 }, (_, index) => [
      'create',
      row(String(index).padStart(3, '0')),
    ]);
    await assertRefused(table.submitTransaction(actions), 400, 'InvalidInput');
    assert.deepEqual(await rows(table), []);
    await table.submitTransaction(actions.slice(0, 100));
    assert.equal((await rows(table)).length, 100);
  });

  it('says where it fails, and applies nothing', async () => {
    const table = await freshTable();
    await table.createEntity(row('taken'));
    const refusal = await assertRefused(
      table.submitTransaction([
        ['create', row('new')],
        ['upsert', row('newer')],
        ['create', row('taken')],
      ]),
      409,
      'EntityAlreadyExists',
    );
    assert.match(refusal.message, /^2:/);
    assert.deepEqual(await rows(table), ['taken']);
  });

  it('has no entity twice', async () => {
    const table = await freshTable();
    const twice = table.submitTransaction([
      ['upsert', row('r')],
      ['delete', row('r')],
    ]);
    await assertRefused(twice, 400, 'InvalidDuplicateRow');
  });

  it('fails by a stale etag', async () => {
    const table = await freshTable();
    const { etag } = await table.createEntity(row('r', { a: 1 }));
    await table.upsertEntity(row('r', { a: 2 }));
    const conditional = table.submitTransaction([
      ['create', row('new')],
      ['update', row('r', { a: 3 }), 'Replace', { etag }],
    ]);
    await assertRefused(conditional, 412, 'UpdateConditionNotSatisfied');
    assert.deepEqual(await rows(table), ['r']);
  });
});
