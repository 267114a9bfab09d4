import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  entity,
  failsWith,
  int,
  openService,
  property,
} from '../../../test/support/table-services.js';
import type { CommitBatch, Store } from '../../kv/store.js';
import { decodeBag, propertyBagOf } from '../../model/bag/bag.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import type { Condition, WriteOperation } from './types.js';

const any: Condition = { kind: 'any' };

const insert = (rowKey: string, n = 0, partitionKey = 'p'): WriteOperation => ({
  kind: 'insert',
  entity: entity(partitionKey, rowKey, { n }),
});
const merge = (rowKey: string, n: number, condition: Condition = any): WriteOperation => ({
  kind: 'merge',
  entity: entity('p', rowKey, { [`n${n}`]: n }),
  condition,
});
const remove = (rowKey: string, condition: Condition = any): WriteOperation => ({
  kind: 'delete',
  partitionKey: 'p',
  rowKey,
  condition,
});

async function openTable(
  t: TestContext,
  engine: 'memory' | 'lmdb' = 'memory',
  wrap: (store: Store) => Store = (store) => store,
) {
  const { service } = await openService[engine](t, { wrap });
  await service.createTable(account, 'data');
  const transact = (...operations: readonly WriteOperation[]) =>
    service.transact(account, 'data', operations);
  const rows = async () => {
    const { entities } = await service.queryEntities(account, 'data', {});
    return entities.map(({ rowKey }) => rowKey);
  };
  return { service, transact, rows };
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`an entity group transaction over ${engine}`, () => {
    it('applies all kinds of writes at once, under one version, results in order', async (t) => {
      const { transact, rows } = await openTable(t, engine);
      await transact(insert('a'), insert('b'), insert('c'), insert('d'));
      const results = await transact(
        insert('e'),
        remove('a'),
        merge('b', 1),
        { kind: 'replace', entity: entity('p', 'c', { x: 1 }), condition: any },
        { kind: 'insert-or-merge', entity: entity('p', 'd', { y: 1 }) },
        { kind: 'insert-or-merge', entity: entity('p', 'f') },
        { kind: 'insert-or-replace', entity: entity('p', 'g') },
      );
      assert.deepEqual(
        results.map((result) => result?.rowKey),
        ['e', undefined, 'b', 'c', 'd', 'f', 'g'],
      );
      const versions = new Set(results.flatMap((result) => result?.version ?? []));
      assert.equal(versions.size, 1);
      assert.deepEqual(await rows(), ['b', 'c', 'd', 'e', 'f', 'g']);
      const merged = results[2]?.bag;
      assert.deepEqual(merged && decodeBag(merged).map(({ name }) => name), ['n', 'n1']);
    });

    it('takes a hundred changes', async (t) => {
      const { transact, rows } = await openTable(t, engine);
      await transact(...Array.from({ length: 100 }, (_, index) => insert(`r${index}`)));
      assert.equal((await rows()).length, 100);
    });

    it('applies nothing when one operation fails, and names the first that does', async (t) => {
      const { transact, rows } = await openTable(t, engine);
      await transact(insert('old'), insert('gone'), remove('never-there', any)).catch(() => 0);
      assert.deepEqual(await rows(), []);
      const [old] = await transact(insert('old'));
      const stale: Condition = { kind: 'version', version: (old?.version ?? 0) - 1 };
      const cases: readonly (readonly [StorageError['code'], WriteOperation])[] = [
        ['EntityAlreadyExists', insert('old')],
        ['ResourceNotFound', remove('missing')],
        ['ResourceNotFound', merge('missing', 1)],
        ['UpdateConditionNotSatisfied', remove('old', stale)],
        ['UpdateConditionNotSatisfied', merge('old', 1, stale)],
        ['UpdateConditionNotSatisfied', merge('old', 1, { kind: 'never' })],
      ];
      for (const [code, operation] of cases) {
        const before = [insert('x'), { ...insert('y'), kind: 'insert-or-merge' } as WriteOperation];
        await assert.rejects(
          transact(...before, operation, remove('missing-too'), insert('z')),
          failsWith(code, { operationIndex: 2 }),
        );
        assert.deepEqual(await rows(), ['old']);
      }
    });

    it('counts operations without a condition when it names the one that fails', async (t) => {
      const { transact } = await openTable(t, engine);
      const upsert = (rowKey: string): WriteOperation => ({
        kind: 'insert-or-replace',
        entity: entity('p', rowKey),
      });
      await assert.rejects(
        transact(upsert('a'), upsert('b'), remove('c'), upsert('d')),
        failsWith('ResourceNotFound', { operationIndex: 2 }),
      );
    });

    it('never lets two that read the same entity lose a change', async (t) => {
      const { service, transact } = await openTable(t, engine);
      await transact(insert('sum'));
      await Promise.all(
        Array.from({ length: 40 }, (_, n) => transact(merge('sum', n), insert(`r${n}`))),
      );
      const { bag } = await service.getEntity(account, 'data', 'p', 'sum');
      assert.equal(decodeBag(bag).length, 41);
    });
  });
}

describe('a group that is no transaction', () => {
  const message = 'The batch request operation exceeds the maximum 100 changes per change set.';
  const cases: readonly (readonly [
    string,
    readonly WriteOperation[],
    StorageError['code'],
    { message?: string; operationIndex?: number },
  ])[] = [
    ['without operations', [], 'InvalidInput', {}],
    [
      'of 101 changes',
      Array.from({ length: 101 }, (_, index) => insert(`r${index}`)),
      'InvalidInput',
      { message, operationIndex: 99 },
    ],
    [
      'over two partitions',
      [insert('a'), insert('a', 0, 'q')],
      'CommandsInBatchActOnDifferentPartitions',
      { operationIndex: 1 },
    ],
    [
      'with an entity twice',
      [insert('a'), insert('b'), remove('a')],
      'InvalidDuplicateRow',
      { operationIndex: 2 },
    ],
    [
      'with a key that cannot be',
      [insert('a'), insert('b/c')],
      'OutOfRangeInput',
      { operationIndex: 1, message: "The 'RowKey' parameter of value 'b/c' is out of range." },
    ],
    [
      'with a value too large',
      [
        insert('a'),
        {
          kind: 'insert-or-merge',
          entity: {
            partitionKey: 'p',
            rowKey: 'b',
            properties: propertyBagOf([
              property('s', { type: 'Edm.String', value: 'x'.repeat(32_769) }),
            ]),
          },
        },
      ],
      'PropertyValueTooLarge',
      { operationIndex: 1 },
    ],
  ];
  for (const [what, operations, code, expected] of cases) {
    it(`${what} is refused with ${code}`, async (t) => {
      const { transact, rows } = await openTable(t);
      await assert.rejects(transact(...operations), failsWith(code, expected));
      assert.deepEqual(await rows(), []);
    });
  }

  it('on a missing table fails at its first operation', async (t) => {
    const { service } = await openService.memory(t);
    await assert.rejects(
      service.transact(account, 'nothing', [insert('a'), insert('b')]),
      failsWith('TableNotFound', { operationIndex: 0 }),
    );
  });
});

describe('a commit of a group', () => {
  it('is one, without a read unless something is merged', async (t) => {
    const calls: string[] = [];
    const { transact } = await openTable(t, 'memory', (store) => ({
      get: (key) => store.get(key),
      getMany(keys) {
        calls.push(`getMany ${keys.length}`);
        return store.getMany(keys);
      },
      range: (range, options) => store.range(range, options),
      commit(batch: CommitBatch) {
        calls.push(`commit ${batch.puts.length}`);
        return store.commit(batch);
      },
      close: () => store.close(),
    }));
    calls.length = 0;
    await transact(insert('a'), insert('b'));
    await transact(insert('c'), merge('a', 1), merge('b', 1));
    assert.deepEqual(calls, ['commit 2', 'getMany 2', 'commit 3']);
  });

  it('is tried again when a merged entity changes in between', async (t) => {
    let interfere: (() => Promise<unknown>) | undefined;
    const { service, transact } = await openTable(t, 'memory', (store) => ({
      get: (key) => store.get(key),
      async getMany(keys) {
        const found = await store.getMany(keys);
        const now = interfere;
        interfere = undefined;
        await now?.();
        return found;
      },
      range: (range, options) => store.range(range, options),
      commit: (batch) => store.commit(batch),
      close: () => store.close(),
    }));
    await transact(insert('a', 1));
    interfere = () => service.write(account, 'data', merge('a', 7));
    await transact(insert('b'), merge('a', 8));
    const { bag } = await service.getEntity(account, 'data', 'p', 'a');
    assert.deepEqual(decodeBag(bag), [
      property('n', int(1)),
      property('n7', int(7)),
      property('n8', int(8)),
    ]);
    interfere = () => service.write(account, 'data', remove('a'));
    await assert.rejects(
      transact(insert('c'), merge('a', 9)),
      failsWith('ResourceNotFound', { operationIndex: 1 }),
    );
  });
});
