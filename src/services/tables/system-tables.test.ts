import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { account, openService, text } from '../../../test/support/table-services.js';
import { propertyBagOf } from '../../model/bag/bag.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { writeEntity } from './entity-writes.js';
import type { TableService } from './table-service.js';
import type { WriteOperation } from './types.js';

const name = '$MetricsHourPrimaryTransactionsTable';

const entity = (rowKey: string) => ({
  partitionKey: 'p',
  rowKey,
  properties: propertyBagOf([{ name: 'Value', value: text('x') }]),
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    assert.ok(error instanceof StorageError);
    return error.code;
  }
}

const inserts: readonly WriteOperation[] = [
  { kind: 'insert', entity: entity('new') },
  { kind: 'insert-or-replace', entity: entity('r') },
  { kind: 'insert-or-merge', entity: entity('r') },
  { kind: 'replace', entity: entity('r'), condition: { kind: 'any' } },
  { kind: 'merge', entity: entity('r'), condition: { kind: 'any' } },
];

async function names(service: TableService): Promise<string[]> {
  return (await service.queryTables(account, {})).tables.map((table) => table.name);
}

describe('a system table (blob-service §22.1)', () => {
  it('is not there until the server makes it', async (t) => {
    const { service } = await openService.memory(t);
    assert.equal(await codeOf(service.queryEntities(account, name, {})), 'TableNotFound');
    assert.equal(await codeOf(service.createTable(account, name)), 'InvalidResourceName');
    assert.equal(await codeOf(service.queryEntities(account, '$Other', {})), 'InvalidResourceName');
  });

  it('can be read in any spelling, and its entities deleted, but not written', async (t) => {
    const { service, store } = await openService.memory(t);
    const prefix = await service.openSystemTable(account, name);
    assert.deepEqual(await service.openSystemTable(account, name), prefix);
    const context = { store, propertiesMax: 252 };
    for (const rowKey of ['r', 's']) {
      await writeEntity(context, prefix, { kind: 'insert', entity: entity(rowKey) });
    }
    for (const operation of inserts) {
      assert.equal(await codeOf(service.write(account, name, operation)), 'AuthorizationFailure');
      const lower = name.toLowerCase();
      assert.equal(
        await codeOf(service.transact(account, lower, [operation])),
        'AuthorizationFailure',
      );
    }
    assert.equal((await service.getEntity(account, name.toUpperCase(), 'p', 'r')).rowKey, 'r');
    const condition = { kind: 'any' } as const;
    await service.write(account, name, {
      kind: 'delete',
      partitionKey: 'p',
      rowKey: 'r',
      condition,
    });
    const { entities } = await service.queryEntities(account, name, {});
    assert.deepEqual(
      entities.map(({ rowKey }) => rowKey),
      ['s'],
    );
  });

  it('is in no list, and cannot be deleted', async (t) => {
    const { service } = await openService.memory(t);
    await service.openSystemTable(account, name);
    await service.createTable(account, 'abc');
    assert.deepEqual(await names(service), ['abc']);
    for (const from of ['', '!', '$', name, 'A']) {
      const { tables } = await service.queryTables(account, { from });
      assert.deepEqual(
        tables.map((table) => table.name),
        ['abc'],
      );
    }
    const literal = { type: 'Edm.String', value: name } as const;
    const filter = {
      kind: 'comparison',
      property: 'TableName',
      operator: 'eq',
      literal,
    } as const;
    assert.deepEqual((await service.queryTables(account, { filter })).tables, []);
    assert.equal(await codeOf(service.deleteTable(account, name)), 'AuthorizationFailure');
    assert.deepEqual(
      (await service.systemTables(account)).map((table) => table.name),
      [name],
    );
  });
});
