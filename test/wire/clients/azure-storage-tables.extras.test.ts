import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  legacyCall as call,
  loadLegacyClient,
  type LegacyBatch,
  type LegacyError,
  type LegacyRow as Row,
} from '../../support/legacy-client.js';
import { startFixture } from '../kit/server.js';

// The legacy Node client: LF-only batches, `%27` around keys, SharedKey, JSON in fullmetadata.

const azure = loadLegacyClient();
const { server } = await startFixture();
const { entityGenerator } = azure.TableUtilities;
const service = azure.createTableService(server.connectionString());
let tables = 0;

async function newTable(): Promise<string> {
  tables += 1;
  const name = `legacy${tables}`;
  await call((done) => service.createTable(name, done));
  return name;
}

function entity(partitionKey: string, rowKey: string, properties: object = {}): object {
  return {
    PartitionKey: entityGenerator.String(partitionKey),
    RowKey: entityGenerator.String(rowKey),
    ...properties,
  };
}

const insert = (table: string, row: object) =>
  call((done) => service.insertEntity(table, row, done));
const retrieve = (table: string, partitionKey: string, rowKey: string) =>
  call<Row>((done) => service.retrieveEntity(table, partitionKey, rowKey, done));

async function failureOf(work: Promise<unknown>): Promise<{ status: number; code: string }> {
  try {
    await work;
  } catch (error) {
    const { statusCode = 0, code = '' } = error as LegacyError;
    return { status: statusCode, code };
  }
  return assert.fail('expected a failure');
}

describe('azure-storage: tables', () => {
  it('creates if not exists, tells that it exists, deletes if exists', async () => {
    type Created = { readonly created?: boolean };
    const create = () =>
      call<Created>((done) => service.createTableIfNotExists('legacyOnce', done));
    assert.equal((await create()).created, true);
    assert.equal((await create()).created, false);
    const exists = (name: string) =>
      call<{ exists?: boolean }>((done) => service.doesTableExist(name, done));
    assert.equal((await exists('legacyOnce')).exists, true);
    assert.equal((await exists('legacyTwice')).exists, false);
    const remove = () => call<boolean>((done) => service.deleteTableIfExists('legacyOnce', done));
    assert.equal(await remove(), true);
    assert.equal(await remove(), false);
  });

  it('tells a table that exists', async () => {
    const table = await newTable();
    assert.deepEqual(await failureOf(call((done) => service.createTable(table, done))), {
      status: 409,
      code: 'TableAlreadyExists',
    });
  });

  it('lists tables by prefix', async () => {
    for (const name of ['prefixedb', 'prefixeda', 'prefixless', 'prefiy']) {
      await call((done) => service.createTable(name, done));
    }
    const { entries } = await call<{ entries: unknown[] }>((done) =>
      service.listTablesSegmentedWithPrefix('prefixed', null, done),
    );
    assert.deepEqual(entries, ['prefixeda', 'prefixedb']);
  });
});

describe('azure-storage: entities', () => {
  it('round-trips every type that it can generate', async () => {
    const table = await newTable();
    const date = new Date('2011-11-11T11:11:11.250Z');
    const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
    await insert(
      table,
      entity('p', 'types', {
        text: entityGenerator.String("it's"),
        int32: entityGenerator.Int32(-7),
        int64: entityGenerator.Int64('9223372036854775807'),
        double: entityGenerator.Double(3.5),
        whole: entityGenerator.Double(3),
        yes: entityGenerator.Boolean(true),
        date: entityGenerator.DateTime(date),
        guid: entityGenerator.Guid(guid),
        bytes: entityGenerator.Binary(Buffer.from([1, 2, 255])),
      }),
    );
    const row = await retrieve(table, 'p', 'types');
    assert.equal(row['text']?._, "it's");
    assert.equal(row['int32']?._, -7);
    assert.deepEqual(row['int64'], { $: 'Edm.Int64', _: '9223372036854775807' });
    assert.equal(row['double']?._, 3.5);
    assert.equal(row['whole']?._, 3);
    assert.equal(row['yes']?._, true);
    assert.deepEqual(row['date']?._, date);
    assert.deepEqual(row['guid'], { $: 'Edm.Guid', _: guid });
    assert.deepEqual(row['bytes']?._, Buffer.from([1, 2, 255]));
  });

  it('uses keys with quotes, percent signs and other scripts', async () => {
    const table = await newTable();
    for (const key of ["O'Neil", "''", '100%', 'a b+c', 'ü日本😀', 'x)(y,=']) {
      await insert(table, entity(key, key, { n: entityGenerator.Int32(1) }));
      assert.equal((await retrieve(table, key, key))['RowKey']?._, key);
      await call((done) =>
        service.insertOrMergeEntity(table, entity(key, key, { m: entityGenerator.Int32(2) }), done),
      );
      const row = await retrieve(table, key, key);
      assert.deepEqual([row['n']?._, row['m']?._], [1, 2]);
      await call((done) => service.deleteEntity(table, entity(key, key), done));
      assert.equal((await failureOf(retrieve(table, key, key))).code, 'ResourceNotFound');
    }
  });

  it('merges, replaces and inserts or replaces', async () => {
    const table = await newTable();
    const one = { a: entityGenerator.Int32(1), b: entityGenerator.Int32(1) };
    const two = { b: entityGenerator.Int32(2) };
    const names = async () => {
      const row = await retrieve(table, 'p', 'r');
      return [row['a']?._, row['b']?._];
    };
    await insert(table, entity('p', 'r', one));
    await call((done) => service.mergeEntity(table, entity('p', 'r', two), done));
    assert.deepEqual(await names(), [1, 2]);
    await call((done) => service.replaceEntity(table, entity('p', 'r', two), done));
    assert.deepEqual(await names(), [undefined, 2]);
    await call((done) => service.insertOrReplaceEntity(table, entity('p', 'r', one), done));
    assert.deepEqual(await names(), [1, 1]);
  });

  it('refuses a replacement with a stale etag', async () => {
    const table = await newTable();
    await insert(table, entity('p', 'r'));
    const stale = await retrieve(table, 'p', 'r');
    await call((done) => service.replaceEntity(table, entity('p', 'r'), done));
    const replace = call((done) => service.replaceEntity(table, stale, done));
    assert.deepEqual(await failureOf(replace), {
      status: 412,
      code: 'UpdateConditionNotSatisfied',
    });
  });

  it('follows continuation tokens with a filter', async () => {
    const table = await newTable();
    const batch = new azure.TableBatch();
    for (let index = 0; index < 30; index += 1) {
      const rowKey = String(index).padStart(2, '0');
      batch.insertEntity(entity('p', rowKey, { n: entityGenerator.Int32(index) }), {});
    }
    await call((done) => service.executeBatch(table, batch, done));
    const query = new azure.TableQuery().top(7).where('PartitionKey eq ? and n ge ?', 'p', 5);
    type Page = { readonly entries: Row[]; readonly continuationToken: object | null };
    const sizes: number[] = [];
    let token: object | null = null;
    do {
      const from: object | null = token;
      const page: Page = await call<Page>((done) =>
        service.queryEntities(table, query, from, done),
      );
      sizes.push(page.entries.length);
      token = page.continuationToken;
    } while (token !== null && token !== undefined && sizes.length < 9);
    assert.deepEqual(sizes, [7, 7, 7, 4]);
  });
});

describe('azure-storage: batches', () => {
  type Result = {
    readonly response?: { readonly statusCode: number };
    readonly entity?: { readonly '.metadata'?: { readonly etag?: string } } & Row;
    readonly error?: LegacyError;
  };
  const execute = (table: string, batch: LegacyBatch) =>
    call<Result[]>((done) => service.executeBatch(table, batch, done));

  it('runs every kind of operation in one batch', async () => {
    const table = await newTable();
    await insert(table, entity("p'q", 'merge', { a: entityGenerator.Int32(1) }));
    await insert(table, entity("p'q", 'delete'));
    const batch = new azure.TableBatch();
    batch.insertEntity(entity("p'q", 'insert'), {});
    batch.insertEntity(entity("p'q", 'echo', { n: entityGenerator.Double(3) }), {
      echoContent: true,
    });
    batch.mergeEntity(entity("p'q", 'merge', { b: entityGenerator.Int32(2) }));
    batch.insertOrMergeEntity(entity("p'q", 'upsert'));
    batch.insertOrReplaceEntity(entity("p'q", 'replace'));
    batch.deleteEntity(entity("p'q", 'delete'));
    const results = await execute(table, batch);
    assert.deepEqual(
      results.map(({ response }) => response?.statusCode),
      [204, 201, 204, 204, 204, 204],
    );
    assert.equal(results[1]?.entity?.['n']?._, 3);
    const merged = await retrieve(table, "p'q", 'merge');
    assert.deepEqual([merged['a']?._, merged['b']?._], [1, 2]);
    assert.equal((await failureOf(retrieve(table, "p'q", 'delete'))).status, 404);
  });

  it('retrieves one entity as a batch', async () => {
    const table = await newTable();
    await insert(table, entity('p', "r'r", { n: entityGenerator.Int32(4) }));
    const batch = new azure.TableBatch();
    batch.retrieveEntity('p', "r'r", {});
    const [result] = await execute(table, batch);
    assert.equal(result?.response?.statusCode, 200);
    assert.equal(result?.entity?.['n']?._, 4);
  });

  it('fails as a whole with the code of the operation', async () => {
    const table = await newTable();
    await insert(table, entity('p', 'there'));
    const batch = new azure.TableBatch();
    batch.insertEntity(entity('p', 'new'), {});
    batch.insertEntity(entity('p', 'there'), {});
    const error = (await execute(table, batch).catch((failure: unknown) => failure)) as LegacyError;
    assert.equal(error.statusCode, 409);
    assert.equal(error.code, 'EntityAlreadyExists');
    assert.match(error.message, /^1:The specified entity already exists\./);
    assert.equal((await failureOf(retrieve(table, 'p', 'new'))).status, 404);
  });
});
