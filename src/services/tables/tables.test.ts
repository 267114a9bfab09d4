import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { account, entity, failsWith, openService } from '../../../test/support/table-services.js';
import { systemClock } from '../../base/clock.js';
import type { ComparisonOperator, Filter } from '../../model/edm/filter.js';
import { TableService } from './table-service.js';
import type { TableQuery } from './types.js';

function compare(operator: ComparisonOperator, value: string): Filter {
  return {
    kind: 'comparison',
    property: 'TableName',
    operator,
    literal: { type: 'Edm.String', value },
  };
}

async function names(service: TableService, query: TableQuery = {}): Promise<string[]> {
  const { tables } = await service.queryTables(account, query);
  return tables.map(({ name }) => name);
}

async function withTables(service: TableService, ...tables: string[]): Promise<void> {
  for (const table of tables) await service.createTable(account, table);
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`tables over ${engine}`, () => {
    it('are found without case and keep the spelling of their creation', async (t) => {
      const { service } = await openService[engine](t);
      assert.deepEqual(await service.createTable(account, 'MyTable'), { name: 'MyTable' });
      assert.deepEqual(await service.getTable(account, 'mytable'), { name: 'MyTable' });
      await assert.rejects(
        service.createTable(account, 'MYTABLE'),
        failsWith('TableAlreadyExists'),
      );
      await service.write(account, 'myTABLE', { kind: 'insert', entity: entity('p', 'r') });
      await service.getEntity(account, 'MyTable', 'p', 'r');
      await service.deleteTable(account, 'MYtable');
      await assert.rejects(service.getTable(account, 'MyTable'), failsWith('ResourceNotFound'));
      await assert.rejects(service.deleteTable(account, 'MyTable'), failsWith('ResourceNotFound'));
    });

    it('keep what their policies were set to, and all else', async (t) => {
      const { service } = await openService[engine](t);
      await service.createTable(account, 'Shared');
      await service.write(account, 'Shared', { kind: 'insert', entity: entity('p', 'r') });
      assert.deepEqual(await service.getSignedIdentifiers(account, 'shared'), []);
      const first = [{ id: 'a', permission: 'raud' }, { id: 'b' }];
      await service.setSignedIdentifiers(account, 'SHARED', first);
      assert.deepEqual(await service.storedPolicies(account, 'shared'), first);
      await service.setSignedIdentifiers(account, 'shared', [{ id: 'c' }]);
      assert.deepEqual(await service.getSignedIdentifiers(account, 'Shared'), [{ id: 'c' }]);
      assert.deepEqual(await service.getTable(account, 'shared'), { name: 'Shared' });
      await service.getEntity(account, 'shared', 'p', 'r');
    });

    it('forget their policies when they are dropped', async (t) => {
      const { service } = await openService[engine](t);
      await service.createTable(account, 'again');
      await service.setSignedIdentifiers(account, 'again', [{ id: 'a' }]);
      await service.deleteTable(account, 'again');
      assert.deepEqual(await service.storedPolicies(account, 'again'), []);
      const missing = failsWith('TableNotFound');
      await assert.rejects(service.getSignedIdentifiers(account, 'again'), missing);
      await assert.rejects(service.setSignedIdentifiers(account, 'again', []), missing);
      await service.createTable(account, 'again');
      assert.deepEqual(await service.getSignedIdentifiers(account, 'again'), []);
    });

    it('belong to their account', async (t) => {
      const { service } = await openService[engine](t);
      await service.createTable(account, 'mine');
      await service.createTable('other', 'mine');
      await service.deleteTable('other', 'mine');
      assert.deepEqual(await names(service), ['mine']);
      await assert.rejects(service.queryEntities('other', 'mine', {}), failsWith('TableNotFound'));
    });

    it('are empty when they are created again at once', async (t) => {
      const { service } = await openService[engine](t);
      await service.createTable(account, 'again');
      await service.write(account, 'again', { kind: 'insert', entity: entity('p', 'r') });
      for (let round = 0; round < 3; round += 1) {
        await service.deleteTable(account, 'again');
        await assert.rejects(
          service.getEntity(account, 'again', 'p', 'r'),
          failsWith('TableNotFound'),
        );
        await service.createTable(account, 'again');
        assert.deepEqual((await service.queryEntities(account, 'again', {})).entities, []);
        await service.write(account, 'again', { kind: 'insert', entity: entity('p', 'r') });
      }
    });

    it('are created once when many try, and dropped once', async (t) => {
      const { service } = await openService[engine](t);
      const settled = async (run: () => Promise<unknown>) => {
        const results = await Promise.allSettled(Array.from({ length: 20 }, run));
        return results.filter(({ status }) => status === 'fulfilled').length;
      };
      assert.equal(await settled(() => service.createTable(account, 'race')), 1);
      assert.equal(await settled(() => service.deleteTable(account, 'race')), 1);
    });

    it('created side by side, by several processes, share no entity', async (t) => {
      const { service, store } = await openService[engine](t);
      const other = new TableService({ store, clock: systemClock });
      const tables = Array.from({ length: 250 }, (_, index) => `table${index}`);
      const create = (table: string, index: number) =>
        (index % 2 === 0 ? service : other).createTable(account, table);
      await Promise.all(tables.map(create));
      const insert = { kind: 'insert' as const, entity: entity('p', 'r') };
      await Promise.all(tables.map((table) => service.write(account, table, insert)));
      assert.equal((await names(service)).length, 250);
    });

    it('are listed by lower-case name, page by page', async (t) => {
      const { service } = await openService[engine](t);
      await withTables(service, 'bbb', 'AAA', 'ccc', 'Bba');
      assert.deepEqual(await names(service), ['AAA', 'Bba', 'bbb', 'ccc']);
      const first = await service.queryTables(account, { top: 2 });
      assert.deepEqual(first, { tables: [{ name: 'AAA' }, { name: 'Bba' }], next: 'bbb' });
      const second = await service.queryTables(account, { top: 2, from: first.next ?? '' });
      assert.deepEqual(second, { tables: [{ name: 'bbb' }, { name: 'ccc' }] });
      assert.deepEqual(await names(service, { from: 'BBB' }), ['bbb', 'ccc']);
      assert.deepEqual(await service.queryTables(account, { top: 0 }), { tables: [] });
    });
  });
}

describe('a table name', () => {
  const wrong: readonly (readonly [string, Parameters<typeof failsWith>[0], string])[] = [
    [
      'ab',
      'OutOfRangeInput',
      'The specified resource name length is not within the permissible limits.',
    ],
    [
      'a'.repeat(64),
      'OutOfRangeInput',
      'The specified resource name length is not within the permissible limits.',
    ],
    ['1abc', 'InvalidResourceName', 'The specifed resource name contains invalid characters.'],
    ['a-bc', 'InvalidResourceName', 'The specifed resource name contains invalid characters.'],
    ['äbcd', 'InvalidResourceName', 'The specifed resource name contains invalid characters.'],
    ['Tables', 'InvalidInput', 'One of the request inputs is not valid.'],
  ];
  for (const [name, code, message] of wrong) {
    it(`${name.slice(0, 10)} is refused with ${code}`, async (t) => {
      const { service } = await openService.memory(t);
      await assert.rejects(service.createTable(account, name), failsWith(code, { message }));
      await assert.rejects(service.getTable(account, name), failsWith('ResourceNotFound'));
      await assert.rejects(service.deleteTable(account, name), failsWith('ResourceNotFound'));
      const refused = failsWith(code, { message });
      await assert.rejects(service.queryEntities(account, name, {}), refused);
      await assert.rejects(service.getEntity(account, name, 'p', 'r'), refused);
      await assert.rejects(service.getSignedIdentifiers(account, name), refused);
      await assert.rejects(service.setSignedIdentifiers(account, name, []), refused);
    });
  }

  it('of 3 and of 63 characters is legal', async (t) => {
    const { service } = await openService.memory(t);
    await withTables(service, 'abc', 'z'.repeat(63));
    assert.equal((await names(service)).length, 2);
  });
});

describe('a query over tables', () => {
  const and = (...operands: readonly Filter[]): Filter => ({ kind: 'and', operands });
  const or = (...operands: readonly Filter[]): Filter => ({ kind: 'or', operands });
  const cases: readonly (readonly [string, Filter, readonly string[]])[] = [
    ['a prefix', and(compare('ge', 'p'), compare('lt', 'p{')), ['Park', 'pzz']],
    ['equality without case', compare('eq', 'PARK'), ['Park']],
    ['inequality', compare('ne', 'park'), ['alpha', 'pzz', 'zeta']],
    ['alternatives', or(compare('eq', 'zeta'), compare('lt', 'b')), ['alpha', 'zeta']],
    ['a negation', { kind: 'not', operand: compare('gt', 'alpha') }, ['alpha']],
    ['nothing', { kind: 'constant', value: false }, []],
  ];
  for (const [what, filter, expected] of cases) {
    it(`selects by ${what}`, async (t) => {
      const { service } = await openService.memory(t);
      await withTables(service, 'zeta', 'Park', 'pzz', 'alpha');
      assert.deepEqual(await names(service, { filter }), expected);
      const first = await service.queryTables(account, { filter, top: 1 });
      assert.equal(first.next === undefined, expected.length <= 1);
    });
  }

  const unfit: readonly Filter[] = [
    {
      kind: 'comparison',
      property: 'Name',
      operator: 'eq',
      literal: { type: 'Edm.String', value: 'x' },
    },
    {
      kind: 'comparison',
      property: 'TableName',
      operator: 'eq',
      literal: { type: 'Edm.Int32', value: 1 },
    },
    { kind: 'property', property: 'TableName' },
  ];
  for (const [index, filter] of unfit.entries()) {
    it(`refuses a filter over anything but names (${index})`, async (t) => {
      const { service } = await openService.memory(t);
      await assert.rejects(service.queryTables(account, { filter }), failsWith('InvalidInput'));
    });
  }

  for (const top of [-1, 1001, 1.5, Number.NaN]) {
    it(`refuses a page of ${top}`, async (t) => {
      const { service } = await openService.memory(t);
      await assert.rejects(service.queryTables(account, { top }), failsWith('InvalidInput'));
    });
  }
});
