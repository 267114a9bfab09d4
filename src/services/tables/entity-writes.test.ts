import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  account,
  entity,
  failsWith,
  int,
  openService,
  property,
  text,
} from '../../../test/support/table-services.js';
import { decodeBag, propertyBagOf } from '../../model/bag/bag.js';
import type { EntityInput, StoredEntity } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { TableService } from './table-service.js';
import type { Condition, WriteOperation } from './types.js';
import { costly } from '../../../test/support/run-length.js';

const any: Condition = { kind: 'any' };
const never: Condition = { kind: 'never' };
const at = (version: number): Condition => ({ kind: 'version', version });

const remove = (condition: Condition, rowKey = 'r'): WriteOperation => ({
  kind: 'delete',
  partitionKey: 'p',
  rowKey,
  condition,
});

async function openTable(t: TestContext, engine: 'memory' | 'lmdb' = 'memory') {
  const { service } = await openService[engine](t);
  await service.createTable(account, 'data');
  const write = (operation: WriteOperation) => service.write(account, 'data', operation);
  const insert = async (given: EntityInput) =>
    (await write({ kind: 'insert', entity: given }))?.version ?? 0;
  const get = () => service.getEntity(account, 'data', 'p', 'r');
  return { service, write, insert, get };
}

function numbersOf({ bag }: StoredEntity): (readonly [string, unknown])[] {
  return decodeBag(bag).map(({ name, value }) => [name, value.value] as const);
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`a write over ${engine}`, () => {
    it('returns what a read then finds', async (t) => {
      const { write, get } = await openTable(t, engine);
      const operations: readonly WriteOperation[] = [
        { kind: 'insert', entity: entity('p', 'r', { b: 1, a: 2 }) },
        { kind: 'merge', entity: entity('p', 'r', { c: 3 }), condition: any },
        { kind: 'replace', entity: entity('p', 'r', { z: 1, y: 2 }), condition: any },
        { kind: 'insert-or-merge', entity: entity('p', 'r', { x: 0 }) },
        { kind: 'insert-or-replace', entity: entity('p', 'r', { n: 9, m: 8 }) },
      ];
      const seen: number[] = [];
      for (const operation of operations) {
        const written = await write(operation);
        assert.ok(written !== undefined);
        const { partitionKey, rowKey, version, bag } = await get();
        assert.deepEqual(
          { ...written, bag: [...written.bag] },
          { partitionKey, rowKey, version, bag: [...bag] },
        );
        assert.ok(version > (seen.at(-1) ?? 0));
        seen.push(version);
      }
      assert.equal(await write(remove(any)), undefined);
      await assert.rejects(get(), failsWith('ResourceNotFound'));
    });

    it('inserts a key exactly once when many try', async (t) => {
      const { write } = await openTable(t, engine);
      const attempts = Array.from({ length: 50 }, (_, n) =>
        write({ kind: 'insert', entity: entity('p', 'r', { n }) }),
      );
      const results = await Promise.allSettled(attempts);
      const failures = results.filter((result) => result.status === 'rejected');
      assert.equal(failures.length, 49);
      for (const { reason } of failures) assert.ok(failsWith('EntityAlreadyExists')(reason));
    });

    it('loses no increment when a hundred writers merge with etags', costly(), async (t) => {
      const { service, write, insert } = await openTable(t, engine);
      await insert(entity('p', 'r', { n: 0 }));
      await Promise.all(Array.from({ length: 100 }, () => increment(service, write)));
      const { bag } = await service.getEntity(account, 'data', 'p', 'r');
      assert.deepEqual(decodeBag(bag), [property('n', int(100))]);
    });

    it('keeps the properties of all unconditional merges of one entity', costly(), async (t) => {
      const { write, get } = await openTable(t, engine);
      await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          write({ kind: 'insert-or-merge', entity: entity('p', 'r', { [`n${n}`]: n }) }),
        ),
      );
      assert.equal(numbersOf(await get()).length, 100);
    });
  });
}

async function increment(
  service: TableService,
  write: (operation: WriteOperation) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const { version, bag } = await service.getEntity(account, 'data', 'p', 'r');
    const n = decodeBag(bag)[0]?.value.value;
    assert.ok(typeof n === 'number');
    try {
      await write({
        kind: 'merge',
        entity: entity('p', 'r', { n: n + 1 }),
        condition: at(version),
      });
      return;
    } catch (error) {
      if (!(error instanceof StorageError) || error.code !== 'UpdateConditionNotSatisfied')
        throw error;
    }
  }
}

describe('conditions', () => {
  const kinds = ['replace', 'merge', 'delete'] as const;
  const operation = (kind: (typeof kinds)[number], condition: Condition): WriteOperation =>
    kind === 'delete' ? remove(condition) : { kind, entity: entity('p', 'r', { n: 2 }), condition };

  for (const kind of kinds) {
    it(`${kind}: a missing entity is not found, whatever the etag`, async (t) => {
      const { write } = await openTable(t);
      for (const condition of [any, never, at(1)]) {
        await assert.rejects(write(operation(kind, condition)), failsWith('ResourceNotFound'));
      }
    });

    it(`${kind}: a stale or foreign etag is refused and changes nothing`, async (t) => {
      const { write, insert, get } = await openTable(t);
      const version = await insert(entity('p', 'r', { n: 1 }));
      for (const condition of [never, at(version - 1), at(version + 1)]) {
        await assert.rejects(
          write(operation(kind, condition)),
          failsWith('UpdateConditionNotSatisfied'),
        );
      }
      assert.equal((await get()).version, version);
    });

    it(`${kind}: the current etag and the wildcard are accepted`, async (t) => {
      const { write, insert } = await openTable(t);
      for (const current of [true, false]) {
        const version = await insert(entity('p', 'r', { n: 1 }));
        await write(operation(kind, current ? at(version) : any));
        if (kind !== 'delete') await write(remove(any));
      }
    });
  }

  it('an insert of what exists is a conflict and changes nothing', async (t) => {
    const { write, insert, get } = await openTable(t);
    const version = await insert(entity('p', 'r', { n: 1 }));
    await assert.rejects(
      write({ kind: 'insert', entity: entity('p', 'r', { n: 2 }) }),
      failsWith('EntityAlreadyExists'),
    );
    assert.equal((await get()).version, version);
  });
});

describe('properties', () => {
  it('keep the order of an insert and are sorted by any other write', async (t) => {
    const { write, insert, get } = await openTable(t);
    const given = { b: 1, a: 2, C: 3 };
    const sorted = [
      ['C', 3],
      ['a', 2],
      ['b', 1],
    ];
    await insert(entity('p', 'r', given));
    assert.deepEqual(numbersOf(await get()), [
      ['b', 1],
      ['a', 2],
      ['C', 3],
    ]);
    await write({ kind: 'merge', entity: entity('p', 'r'), condition: any });
    assert.deepEqual(numbersOf(await get()), sorted);
    for (const kind of ['insert-or-replace', 'insert-or-merge'] as const) {
      await write(remove(any));
      await write({ kind, entity: entity('p', 'r', given) });
      assert.deepEqual(numbersOf(await get()), sorted);
    }
    await write({ kind: 'replace', entity: entity('p', 'r', given), condition: any });
    assert.deepEqual(numbersOf(await get()), sorted);
  });

  it('not named by a merge stay, those named change value and type', async (t) => {
    const { write, insert, get } = await openTable(t);
    await insert(entity('p', 'r', { a: 1, b: 2 }));
    const properties = propertyBagOf([property('b', text('two')), property('c', int(3))]);
    const changed = { partitionKey: 'p', rowKey: 'r', properties };
    await write({ kind: 'merge', entity: changed, condition: any });
    assert.deepEqual(numbersOf(await get()), [
      ['a', 1],
      ['b', 'two'],
      ['c', 3],
    ]);
  });

  it('not named by a replacement go', async (t) => {
    const { write, insert, get } = await openTable(t);
    await insert(entity('p', 'r', { a: 1, b: 2 }));
    await write({ kind: 'insert-or-replace', entity: entity('p', 'r', { c: 3 }) });
    assert.deepEqual(numbersOf(await get()), [['c', 3]]);
  });
});

describe('limits', () => {
  const upserts = ['insert', 'insert-or-replace', 'insert-or-merge'] as const;
  const withKeys = (partitionKey: string, rowKey: string) => entity(partitionKey, rowKey);
  const withProperties = (count: number, name = (index: number) => `p${index}`) =>
    entity('p', 'r', Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), n])));
  const withStrings = (...lengths: number[]): EntityInput => ({
    partitionKey: 'p',
    rowKey: 'r',
    properties: propertyBagOf(
      lengths.map((length, n) => property(`s${n}`, text('x'.repeat(length)))),
    ),
  });
  const withBinary = (length: number): EntityInput => ({
    partitionKey: 'p',
    rowKey: 'r',
    properties: propertyBagOf([
      property('b', { type: 'Edm.Binary', value: new Uint8Array(length) }),
    ]),
  });
  const fillers = Array.from({ length: 15 }, () => 32_768);
  const used =
    8 + fillers.reduce((sum, length, n) => sum + 12 + 2 * `s${n}`.length + 2 * length, 0);
  const rest = (1_048_576 - used - 12 - 2 * 's15'.length) / 2;

  const tooLarge: readonly (readonly [string, EntityInput, StorageError['code']])[] = [
    ['253 properties', withProperties(253), 'TooManyProperties'],
    ['a name of 256', withProperties(1, () => 'n'.repeat(256)), 'PropertyNameTooLong'],
    ['a string of 32,769', withStrings(32_769), 'PropertyValueTooLarge'],
    ['a binary of 65,537', withBinary(65_537), 'PropertyValueTooLarge'],
    ['a binary of 1 MiB', withBinary(1_048_576), 'EntityTooLarge'],
    ['a partition key of 513', withKeys('k'.repeat(513), 'r'), 'PropertyValueTooLarge'],
    ['a row key of 513', withKeys('p', 'k'.repeat(513)), 'PropertyValueTooLarge'],
  ];
  for (const [what, given, code] of tooLarge) {
    for (const kind of upserts) {
      it(`refuse ${what} on ${kind}`, async (t) => {
        const { write } = await openTable(t);
        await assert.rejects(write({ kind, entity: given }), failsWith(code));
      });
    }
  }

  it('are inclusive', async (t) => {
    const { write } = await openTable(t);
    const fitting = [
      withProperties(252),
      withProperties(1, () => 'n'.repeat(255)),
      withStrings(32_768),
      withBinary(65_536),
      withKeys('\uffff'.repeat(512), '\uffff'.repeat(512)),
      withKeys('', ''),
    ];
    for (const given of fitting) await write({ kind: 'insert-or-replace', entity: given });
  });

  it('put an entity at 1 MiB by the formula, exactly', async (t) => {
    assert.ok(Number.isInteger(rest) && rest < 32_768);
    const { write } = await openTable(t);
    await write({ kind: 'insert', entity: withStrings(...fillers, rest) });
    await assert.rejects(
      write({ kind: 'insert-or-replace', entity: withStrings(...fillers, rest + 1) }),
      failsWith('EntityTooLarge'),
    );
  });

  it('hold for the merged entity', async (t) => {
    const { write, insert } = await openTable(t);
    await insert(withProperties(200));
    const more = withProperties(53, (index) => `q${index}`);
    await assert.rejects(
      write({ kind: 'merge', entity: more, condition: any }),
      failsWith('TooManyProperties'),
    );
    await write({ kind: 'insert-or-merge', entity: withProperties(252) });
  });

  it('make what needs an entity under an impossible key not find it', async (t) => {
    const { service, write } = await openTable(t);
    for (const key of ['k'.repeat(513), '\u0000'.repeat(512), 'a/b']) {
      const given = withKeys(key, key);
      const missing = failsWith('ResourceNotFound');
      await assert.rejects(service.getEntity(account, 'data', key, key), missing);
      await assert.rejects(write({ kind: 'replace', entity: given, condition: any }), missing);
      await assert.rejects(write({ kind: 'merge', entity: given, condition: any }), missing);
      await assert.rejects(
        write({ kind: 'delete', partitionKey: key, rowKey: key, condition: any }),
        missing,
      );
    }
  });

  for (const character of ['/', '\\', '#', '?', '\t', '\u0000', '\u001f', '\u007f', '\u009f']) {
    it(`refuse U+${character.charCodeAt(0).toString(16)} in a new key by name`, async (t) => {
      const { write } = await openTable(t);
      const key = `a${character}b`;
      const message = (name: string) =>
        `The '${name}' parameter of value '${key}' is out of range.`;
      await assert.rejects(
        write({ kind: 'insert', entity: withKeys(key, 'r') }),
        failsWith('OutOfRangeInput', { message: message('PartitionKey') }),
      );
      await assert.rejects(
        write({ kind: 'insert-or-merge', entity: withKeys('p', key) }),
        failsWith('OutOfRangeInput', { message: message('RowKey') }),
      );
    });
  }

  it('fail on a missing table first', async (t) => {
    const { service } = await openService.memory(t);
    await assert.rejects(
      service.write(account, 'nothing', { kind: 'insert', entity: withProperties(300) }),
      failsWith('TableNotFound'),
    );
  });
});
