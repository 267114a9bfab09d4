import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keyRing, withEncryption } from '../../src/modeling/encryption/index.js';
import {
  DecodeError,
  defineEntity,
  int32,
  key,
  string,
  type RowProperties,
  type RowWrite,
} from '../../src/modeling/index.js';
import { openModel } from '../../src/modeling/model/index.js';
import { samePartition, withIndexes } from '../../src/modeling/patterns/indexes/index.js';
import { CountingKey } from './support/encryption-keys.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';

// Writers that do not know a definition change what its computed properties are made of.

const lowered = ({ name }: { readonly name: string }): string => name.toLowerCase();

const Person = defineEntity({
  type: 'Person',
  properties: {
    team: string(),
    id: int32(),
    name: string(),
    note: string().encrypted(),
    search: string().computed({ name: string() }, lowered).encrypted(),
    /** A resolver may encrypt it. */
    sort: string().computed({ name: string() }, lowered),
  },
  partitionKey: (p) => key`${p.team}`,
  rowKey: (p) => key`p_${p.id.padded(3)}`,
});
const indexed = withIndexes(Person, {
  id: samePartition({ rowKey: (p) => key`id_${p.id.padded(3)}` }),
});

const at = { team: 'blue', id: 1 };
const rowAt = { partitionKey: 'blue', rowKey: 'p_001' };
const ada = { ...at, name: 'Ada', note: 'a secret' };
const named = (name: string) =>
  ({ ...rowAt, properties: { name: { type: 'String', value: name } } }) as const;

async function newPeople(encrypts: (name: string) => boolean = () => false) {
  const rows = new MemoryRows();
  const keys = keyRing(new CountingKey('master').kek);
  const resolver = (_partition: string, _row: string, name: string) => encrypts(name);
  const table = withEncryption(new MemoryTable(rows), { keys, resolver });
  const model = openModel({ table, entities: { people: indexed } });
  await model.entities.people.insert(ada);
  const stored = (rowKey = 'p_001'): RowProperties =>
    rows.get({ ...rowAt, rowKey })?.properties ?? {};
  return { model, stored, people: model.entities.people };
}

const merges: readonly ((etag: string) => RowWrite)[] = [
  () => ({ kind: 'merge', row: named('Grace'), etag: '*' }),
  (etag) => ({ kind: 'merge', row: named('Grace'), etag }),
  () => ({ kind: 'upsert-merge', row: named('Grace') }),
];

function nameOf(made: (etag: string) => RowWrite): string {
  const write = made('an ETag');
  return 'etag' in write ? `${write.kind} if ${write.etag}` : write.kind;
}

describe('a merge of what an encrypted property is computed from', () => {
  for (const [how, encrypts] of [
    ['its definition says', undefined],
    ['its definition and a resolver say', (name: string) => name === 'sort'],
  ] as const) {
    for (const made of merges) {
      it(`encrypts it anew, as ${how} (${nameOf(made)})`, async () => {
        const { model, people: found, stored } = await newPeople(encrypts);
        const row = await model.table.get(rowAt);
        assert.ok(row !== undefined);
        await model.table.write(made(row.etag));
        for (const rowKey of ['p_001', 'id_001']) {
          const { search, sort, note } = stored(rowKey);
          const types = [search, sort, note].map((value) => value?.type);
          assert.deepEqual(types, ['Binary', encrypts ? 'Binary' : 'String', 'Binary']);
        }
        const read = await found.get(at);
        assert.deepEqual([read?.search, read?.sort, read?.note], ['grace', 'grace', 'a secret']);
        assert.equal((await found.by.id.get(at))?.search, 'grace');
        for await (const drift of model.verify()) assert.fail(JSON.stringify(drift));
      });
    }
  }

  it('loses nothing that others write at the same time', async () => {
    const { model, people: found } = await newPeople();
    await Promise.all([
      model.table.write({ kind: 'merge', row: named('Grace'), etag: '*' }),
      model.table.write({
        kind: 'merge',
        row: { ...rowAt, properties: { extra: { type: 'Int32', value: 7 } } },
        etag: '*',
      }),
      found.update(at, (current) => ({ ...current, note: 'another secret' })),
    ]);
    const row = await model.table.get(rowAt);
    assert.equal(row?.properties['extra']?.value, 7);
    const read = await found.get(at);
    assert.deepEqual([read?.search, read?.note], ['grace', 'another secret']);
  });
});

describe('a replace that does not know an encrypted computed property', () => {
  it('is refused instead of being stored in plain', async () => {
    const { model, people: found } = await newPeople();
    const row = await model.table.get(rowAt);
    assert.ok(row !== undefined);
    const replaced = { ...row.properties, ...named('Grace').properties };
    const write = model.table.write({
      kind: 'replace',
      row: { ...rowAt, properties: replaced, encrypt: ['note'] },
      etag: row.etag,
    });
    await assert.rejects(write, DecodeError);
    assert.equal((await found.get(at))?.search, 'ada');
  });
});
