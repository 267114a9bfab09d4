import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createServer, SeedError, type SeedEntity } from '../../app/index.js';
import { messageOf } from '../terminal/failure.js';
import { loadSeed } from './seed-file.js';

const example = fileURLToPath(
  new URL('../../../../examples/configuration/seed.yaml', import.meta.url),
);

let folder = '';

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** The error of a start with this seed file, without the folder in it. */
async function refusal(text: string): Promise<string> {
  const file = await write('seed.yaml', text);
  try {
    const seed = await loadSeed(file);
    try {
      await using server = await createServer({ inMemory: true, init: seed.data });
      return `accepted by ${server.accounts.join()}`;
    } catch (error) {
      throw error instanceof SeedError ? seed.explain(error) : error;
    }
  } catch (error) {
    return messageOf(error).replaceAll(`${folder}/`, '');
  }
}

async function entitiesOf(text: string): Promise<readonly SeedEntity[]> {
  const { data } = await loadSeed(await write('seed.yaml', text));
  return data.tables?.['people']?.entities ?? [];
}

describe('a seed file', () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tabularium-seed-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('is the example of the documentation, as it stands', async () => {
    const { data, bytesTotal, bytesRead } = await loadSeed(example);
    const accounts = ['orders', 'devstoreaccount1'].map((name) => ({ name, key: 'c2VjcmV0' }));
    const seen: number[] = [];
    const progress = ({ entities }: { readonly entities: number }) => void seen.push(entities);
    await using server = await createServer({
      inMemory: true,
      accounts,
      init: { ...data, progress },
    });
    assert.deepEqual(server.accounts, ['orders', 'devstoreaccount1']);
    assert.equal(seen.at(-1), 4);
    const csv = await readFile(join(example, '../products.csv'));
    // Entities of a table, and the content of a blob.
    assert.equal(bytesTotal, 2 * csv.length);
    assert.equal(bytesRead(), 2 * csv.length);
  });

  it('keeps every number as its digits say', async () => {
    const numbers: readonly [text: string, value: unknown][] = [
      ['1', 1],
      ['-7', -7],
      ['2147483648', 2_147_483_648],
      ['1.5', 1.5],
      ['1.0', { type: 'Double', value: '1.0' }],
      ['-0.0', { type: 'Double', value: '-0.0' }],
      ['1e3', { type: 'Double', value: '1e3' }],
      ['9007199254740993', { type: 'Int64', value: '9007199254740993' }],
      ['0x10', 16],
      ['"1.0"', '1.0'],
      ['{ type: Int64, value: 9007199254740993 }', { type: 'Int64', value: '9007199254740993' }],
      ['{ type: Double, value: 2.0 }', { type: 'Double', value: '2.0' }],
    ];
    const lines = numbers.map(([text], at) => `        N${at}: ${text}\n`).join('');
    const head =
      'tables:\n  people:\n    entities:\n      - PartitionKey: "1.0"\n        RowKey: b\n';
    const [entity] = await entitiesOf(head + lines);
    assert.ok(entity !== undefined);
    assert.equal(entity['PartitionKey'], '1.0');
    for (const [at, [text, value]] of numbers.entries()) {
      assert.deepEqual(entity[`N${at}`], value, text);
    }
  });

  it('reads entities from CSV, JSON and JSONL, with their types', async () => {
    await write('a.csv', 'PartitionKey,RowKey,Age:int32\na,1,5\n');
    await write('b.jsonl', '{"PartitionKey":"a","RowKey":"2","X":1.0,"Y":9007199254740993}\n');
    await write(
      'c.json',
      '[{"PartitionKey":"a","RowKey":"3"},\n{"PartitionKey":"a","RowKey":"4"}]',
    );
    const { data } = await loadSeed(
      await write('seed.yaml', 'tables: { people: { files: [a.csv, b.jsonl, c.json] } }'),
    );
    const entities: SeedEntity[] = [];
    for await (const entity of data.tables?.['people']?.stream ?? []) entities.push(entity);
    assert.deepEqual(entities, [
      { PartitionKey: 'a', RowKey: '1', Age: { type: 'Edm.Int32', value: '5' } },
      {
        PartitionKey: 'a',
        RowKey: '2',
        X: { type: 'Edm.Double', value: '1.0' },
        Y: { type: 'Edm.Int64', value: '9007199254740993' },
      },
      { PartitionKey: 'a', RowKey: '3' },
      { PartitionKey: 'a', RowKey: '4' },
    ]);
  });

  it('reads blobs from files beside it', async () => {
    await write('cat.jpg', 'a cat');
    const { data, bytesTotal, bytesRead } = await loadSeed(
      await write(
        'seed.yaml',
        'containers: { photos: { publicAccess: blob, blobs: { "a/b": { file: cat.jpg } } } }',
      ),
    );
    await using server = await createServer({ inMemory: true, init: data });
    const [, url = ''] = /BlobEndpoint=([^;]+)/.exec(server.connectionString()) ?? [];
    const answer = await fetch(`${url}/photos/a/b`);
    assert.equal(await answer.text(), 'a cat');
    assert.deepEqual([bytesTotal, bytesRead()], [5, 5]);
  });

  it('names the file and the line of a row that cannot be read or stored', async () => {
    await write('a.csv', 'PartitionKey,RowKey,Age:int32\na,1,5\na,2,old\n');
    const seed = 'tables: { people: { files: [a.csv] } }';
    assert.match(await refusal(seed), /^a\.csv:3: Column Age is no Edm\.Int32: 'old'$/);
    await write('a.csv', 'PartitionKey,RowKey,Age\na,1,5\na/b,2,6\n');
    assert.match(
      await refusal(seed),
      /^a\.csv:3: tables people \("a\/b", "2"\): OutOfRangeInput: /,
    );
    await write('a.csv', 'PartitionKey,Age\na,5\n');
    assert.match(await refusal(seed), /^a\.csv:2: tables people .*RowKey.*every entity needs/);
    await write('a.csv', 'A,A\n');
    assert.match(await refusal(seed), /^a\.csv: The CSV header has the column 'A' twice/);
  });

  const entity = (text: string): string =>
    `tables:\n  people:\n    entities:\n      - { PartitionKey: a, RowKey: b, ${text} }\n`;
  const refused: readonly [what: string, text: string, said: RegExp][] = [
    [
      'a value that its type cannot have',
      entity('N: { type: Int32, value: 99999999999 }'),
      /^seed\.yaml:4:42: tables people N \("a", "b"\): the value is no Edm\.Int32\.$/,
    ],
    [
      'an unknown type',
      entity('N: { type: Int46, value: 1 }'),
      /^seed\.yaml:4:50: .*\.type must be String, .*Did you mean 'Int64'\?$/,
    ],
    [
      'a value inside of a value',
      entity('N: { a: 1 }'),
      /^seed\.yaml:4:44: .*\.N has no member 'a'/m,
    ],
    [
      'a list',
      entity('N: [1]'),
      /^seed\.yaml:4:42: .*\.N must be a text, a number, .*not a list of 1\.$/,
    ],
    ['a name that is none', entity('"a b": 1'), /^seed\.yaml:4:\d+: tables people a b .*this name/],
    [
      'an entity without keys',
      'tables: { people: { entities: [{ RowKey: x }] } }',
      /entities\[0\] needs the member 'PartitionKey'/,
    ],
    [
      'a table that cannot have its name',
      'tables: { my-table: }',
      /^seed\.yaml:1:\d+: tables my-table: InvalidResourceName: .*[^.]\.$/,
    ],
    [
      'a blob that has its content twice',
      'containers:\n  photos:\n    blobs:\n      cat.jpg: { text: a, base64: YQ== }',
      /^seed\.yaml:4:\d+: containers photos cat\.jpg: has the content twice: text and base64\.$/,
    ],
    [
      'a blob that is a number',
      'containers: { photos: { blobs: { one: 1 } } }',
      /blobs\.one must be a text, an object, or null for a blob without content, not 1\.$/,
    ],
    [
      'a file of a blob that is not there',
      'containers: { photos: { blobs: { one: { file: none.jpg } } } }',
      /There is no file none\.jpg/,
    ],
    [
      'another public access',
      'accounts: { devstoreaccount1: { containers: { photos: { publicAccess: blobs } } } }',
      /publicAccess must be none, blob or container.*Did you mean 'blob'\?/,
    ],
    [
      'an account that the server does not have',
      'accounts:\n  nobody: { queues: { work: } }',
      /^seed\.yaml:2:11: accounts nobody: .*it has: devstoreaccount1\.$/,
    ],
    [
      'a message that lives no time',
      'queues: { work: { messages: [{ text: x, timeToLiveSeconds: 0 }] } }',
      /timeToLiveSeconds must be a whole number from 1 to 2147483647, or -1 for ever, not 0\.$/,
    ],
    [
      'a file that is not there',
      'tables: { people: { files: [x.csv] } }',
      /There is no file x\.csv/,
    ],
    [
      'another way',
      'ifExists: replce',
      /ifExists must be skip or replace.*Did you mean 'replace'\?/,
    ],
    ['a misspelt member', 'tabels: {}', /Did you mean 'tables'\?/],
  ];
  for (const [what, text, said] of refused) {
    it(`is refused with ${what}`, async () => {
      assert.match(await refusal(text), said);
    });
  }

  it('may be empty, and may have tables and queues without content', async () => {
    assert.equal(await refusal('# nothing\n'), 'accepted by devstoreaccount1');
    assert.equal(
      await refusal('tables: { empty: }\nqueues: { idle: }'),
      'accepted by devstoreaccount1',
    );
  });
});
