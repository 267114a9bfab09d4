import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  odata,
  RestError,
  TableClient,
  TableServiceClient,
  TableTransaction,
  type TableEntity,
  type TransactionAction,
} from '@azure/data-tables';
import { startFixture } from '../kit/server.js';

// On disk, as in normal use; the tests in the folder `tables` use memory.
const { server } = await startFixture({}, 'lmdb');
const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
let tableCount = 0;
const service = TableServiceClient.fromConnectionString(server.connectionString(), options);

async function newTable(): Promise<TableClient> {
  tableCount += 1;
  const client = tableClient(`sdk${tableCount}`);
  await client.createTable();
  return client;
}

function tableClient(name: string): TableClient {
  return TableClient.fromConnectionString(server.connectionString(), name, options);
}

/** Returns the status and code of the error as the SDK shows them. */
async function failureOf(work: Promise<unknown>): Promise<{ status: number; code: string }> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof RestError, `expected a RestError, got ${String(error)}`);
    const details = error.details as { odataError?: { code?: string } } | undefined;
    return { status: error.statusCode ?? 0, code: details?.odataError?.code ?? '' };
  }
  return assert.fail('expected a failure');
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function rowKeysOf(client: TableClient, filter: string): Promise<unknown[]> {
  const entities = await collect(client.listEntities({ queryOptions: { filter } }));
  return entities.map(({ rowKey }) => rowKey);
}

describe('@azure/data-tables: tables', () => {
  it('creates, lists by filter, deletes and creates again', async () => {
    await service.createTable('lifecycleA');
    await service.createTable('lifecycleB');
    const filter = odata`TableName ge 'lifecycle' and TableName lt 'lifecycle{'`;
    const names = async () =>
      (await collect(service.listTables({ queryOptions: { filter } }))).map(({ name }) => name);
    assert.deepEqual(await names(), ['lifecycleA', 'lifecycleB']);
    await service.deleteTable('lifecycleA');
    assert.deepEqual(await names(), ['lifecycleB']);
    await service.createTable('lifecycleA');
    assert.deepEqual(await names(), ['lifecycleA', 'lifecycleB']);
  });

  it('swallows the 409 of a table that exists and the 404 of one that does not', async () => {
    const client = await newTable();
    await client.createTable();
    await service.createTable(client.tableName);
    await client.deleteTable();
    await client.deleteTable();
    assert.deepEqual(await failureOf(client.createEntity({ partitionKey: 'p', rowKey: 'r' })), {
      status: 404,
      code: 'TableNotFound',
    });
  });

  it('pages through tables by continuation token', async () => {
    for (const letter of 'abcde') await service.createTable(`paged${letter}`);
    const filter = odata`TableName ge 'paged' and TableName lt 'paged{'`;
    const pages: string[][] = [];
    let continuationToken: string | undefined;
    do {
      const iterator = service.listTables({ queryOptions: { filter } }).byPage({
        maxPageSize: 2,
        ...(continuationToken === undefined ? {} : { continuationToken }),
      });
      const { value } = await iterator.next();
      assert.ok(value !== undefined);
      pages.push(value.map(({ name }: { name?: string }) => name ?? ''));
      continuationToken = value.continuationToken;
    } while (continuationToken !== undefined && pages.length < 9);
    assert.deepEqual(pages, [['pageda', 'pagedb'], ['pagedc', 'pagedd'], ['pagede']]);
  });
});

describe('@azure/data-tables: types', () => {
  it('round-trips every plain JavaScript value', async () => {
    const client = await newTable();
    const entity = {
      partitionKey: 'p',
      rowKey: 'plain',
      text: 'é 日本 😀 "quoted" \\ / \n\t',
      empty: '',
      integer: 3,
      negative: -2_147_483_648,
      fraction: 3.5,
      millis: 1_763_719_200_000,
      yes: true,
      no: false,
      big: 9_007_199_254_740_993n,
      date: new Date('2025-11-21T10:00:00.123Z'),
      bytes: new Uint8Array([0, 1, 254, 255]),
    };
    await client.createEntity(entity);
    const { etag, timestamp, ...read } = await client.getEntity('p', 'plain');
    assert.match(etag, /^W\/"datetime'.+'"$/);
    assert.ok(timestamp);
    delete read['odata.metadata'];
    assert.deepEqual(
      { ...read, bytes: [...(read['bytes'] as Uint8Array)] },
      { ...entity, bytes: [...entity.bytes] },
    );
  });

  it('round-trips every typed value', async () => {
    const client = await newTable();
    const typed = {
      double: { type: 'Double', value: '3' },
      nan: { type: 'Double', value: 'NaN' },
      infinite: { type: 'Double', value: '-Infinity' },
      int32: { type: 'Int32', value: '54' },
      int64: { type: 'Int64', value: '-9223372036854775808' },
      yes: { type: 'Boolean', value: 'true' },
      text: { type: 'String', value: 'x' },
      guid: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
      date: { type: 'DateTime', value: '2017-11-10T02:46:57.0430859Z' },
      bytes: { type: 'Binary', value: 'AAH+/w==' },
    };
    await client.createEntity({ partitionKey: 'p', rowKey: 'typed', ...typed });
    const read = await client.getEntity('p', 'typed', { disableTypeConversion: true });
    const seen = Object.fromEntries(
      Object.keys(typed).map((name) => {
        const { type, value } = read[name] as { type: string; value: unknown };
        return [name, { type, value: String(value) }];
      }),
    );
    assert.deepEqual(seen, {
      ...typed,
      // The client's JSON.parse turns 3.0 into 3, so it cannot tell that it was a Double.
      double: { type: 'Int32', value: '3' },
    });
  });
});

describe('@azure/data-tables: entities', () => {
  it('tells an insert of an entity that exists', async () => {
    const client = await newTable();
    await client.createEntity({ partitionKey: 'p', rowKey: 'r' });
    assert.deepEqual(await failureOf(client.createEntity({ partitionKey: 'p', rowKey: 'r' })), {
      status: 409,
      code: 'EntityAlreadyExists',
    });
  });

  it('tells a get, an update and a delete of an entity that does not exist', async () => {
    const client = await newTable();
    const missing = { status: 404, code: 'ResourceNotFound' };
    const entity = { partitionKey: 'p', rowKey: 'r' };
    assert.deepEqual(await failureOf(client.getEntity('p', 'r')), missing);
    assert.deepEqual(await failureOf(client.updateEntity(entity, 'Merge')), missing);
    assert.deepEqual(await failureOf(client.updateEntity(entity, 'Replace')), missing);
    await assert.rejects(client.deleteEntity('p', 'r'), { statusCode: 404 });
  });

  it('merges and replaces, with and without an entity there', async () => {
    const client = await newTable();
    const keys = { partitionKey: 'p', rowKey: 'r' };
    const properties = async () => {
      const { a, b, c } = await client.getEntity<{ a?: number; b?: number; c?: number }>('p', 'r');
      return { a, b, c };
    };
    await client.upsertEntity({ ...keys, a: 1 }, 'Merge');
    await client.upsertEntity({ ...keys, b: 2 }, 'Merge');
    assert.deepEqual(await properties(), { a: 1, b: 2, c: undefined });
    await client.upsertEntity({ ...keys, c: 3 }, 'Replace');
    assert.deepEqual(await properties(), { a: undefined, b: undefined, c: 3 });
    await client.updateEntity({ ...keys, a: 4 }, 'Merge');
    assert.deepEqual(await properties(), { a: 4, b: undefined, c: 3 });
    await client.updateEntity({ ...keys, b: 5 }, 'Replace');
    assert.deepEqual(await properties(), { a: undefined, b: 5, c: undefined });
    await client.deleteEntity('p', 'r');
    await client.upsertEntity({ ...keys, b: 6 }, 'Replace');
    assert.deepEqual(await properties(), { a: undefined, b: 6, c: undefined });
  });

  it('lets a write with the current etag pass, once, and refuses the stale one', async () => {
    const client = await newTable();
    const keys = { partitionKey: 'p', rowKey: 'r' };
    const created = await client.createEntity({ ...keys, n: 1 });
    const etag = created.etag ?? '';
    assert.equal((await client.getEntity('p', 'r')).etag, etag);
    const updated = await client.updateEntity({ ...keys, n: 2 }, 'Replace', { etag });
    assert.notEqual(updated.etag, etag);
    const stale = { status: 412, code: 'UpdateConditionNotSatisfied' };
    assert.deepEqual(await failureOf(client.updateEntity({ ...keys }, 'Merge', { etag })), stale);
    await assert.rejects(client.deleteEntity('p', 'r', { etag }), { statusCode: 412 });
    assert.equal((await client.getEntity('p', 'r'))['n'], 2);
    await client.updateEntity({ ...keys, n: 3 }, 'Merge', { etag: '*' });
    const { etag: last } = await client.getEntity('p', 'r');
    await client.deleteEntity('p', 'r', { etag: last });
    assert.equal((await failureOf(client.getEntity('p', 'r'))).status, 404);
  });

  it('selects properties and leaves the others out', async () => {
    const client = await newTable();
    await client.createEntity({ partitionKey: 'p', rowKey: 'r', a: 1, b: 2 });
    const entity = await client.getEntity('p', 'r', { queryOptions: { select: ['a', 'rowKey'] } });
    assert.equal(entity['a'], 1);
    assert.equal(entity['b'], undefined);
    const select = ['PartitionKey', 'b'];
    const [listed] = await collect(client.listEntities({ queryOptions: { select } }));
    assert.equal(listed?.['b'], 2);
    assert.equal(listed?.['a'], undefined);
    assert.equal(listed?.partitionKey, 'p');
  });

  const oddKeys = [
    '',
    "'",
    "''",
    '%',
    '%25',
    '%2F',
    'a b',
    '+',
    'ü',
    '日本',
    '😀',
    ')',
    "',RowKey='x",
  ];
  for (const key of oddKeys) {
    it(`uses the key ${JSON.stringify(key)} in every operation (table-service §14 no. 2)`, async () => {
      const client = await newTable();
      const keys = { partitionKey: key, rowKey: key };
      await client.createEntity({ ...keys, n: 1 });
      await client.upsertEntity({ partitionKey: 'other', rowKey: 'other' });
      const read = await client.getEntity(key, key);
      assert.equal(read.partitionKey, key);
      assert.equal(read.rowKey, key);
      await client.updateEntity({ ...keys, n: 2 }, 'Merge', { etag: read.etag });
      await client.upsertEntity({ ...keys, n: 3 }, 'Replace');
      const filter = odata`PartitionKey eq ${key} and RowKey eq ${key}`;
      const found = await collect(client.listEntities({ queryOptions: { filter } }));
      assert.deepEqual(
        found.map(({ partitionKey, rowKey, n }) => ({ partitionKey, rowKey, n })),
        [{ ...keys, n: 3 }],
      );
      await client.submitTransaction([['update', { ...keys, n: 4 }, 'Merge']]);
      assert.equal((await client.getEntity(key, key))['n'], 4);
      await client.submitTransaction([['delete', keys]]);
      assert.equal((await failureOf(client.getEntity(key, key))).status, 404);
      await client.submitTransaction([['create', keys]]);
      await client.deleteEntity(key, key);
      assert.equal((await collect(client.listEntities())).length, 1);
    });
  }
});

describe('@azure/data-tables: queries', () => {
  let client: TableClient;
  before(async () => {
    client = await newTable();
    const actions = Array.from({ length: 25 }, (_, index): TransactionAction => [
      'create',
      {
        partitionKey: "p'q",
        rowKey: String(index).padStart(3, '0'),
        n: index,
        text: `t${index % 3}`,
        even: index % 2 === 0,
        at: new Date(Date.UTC(2025, 0, 1 + index)),
        big: { type: 'Int64', value: String(9_007_199_254_740_990n + BigInt(index)) },
      },
    ]);
    await client.submitTransaction(actions);
  });

  const cases: readonly (readonly [filter: string, count: number])[] = [
    [odata`PartitionKey eq ${"p'q"} and n gt ${22}`, 2],
    [odata`text eq ${'t0'} and even eq ${true}`, 5],
    [odata`at lt ${new Date(Date.UTC(2025, 0, 4))}`, 3],
    [odata`not (n ge 5)`, 5],
    [`big gt 9007199254740992L and big le 9007199254740994L`, 2],
    [odata`big eq ${9_007_199_254_740_993n}`, 1],
    [odata`RowKey ge ${'010'} and RowKey lt ${'020'}`, 10],
    [odata`PartitionKey eq 'p'`, 0],
  ];
  for (const [filter, count] of cases) {
    it(`finds ${count} for ${filter}`, async () => {
      assert.equal((await rowKeysOf(client, filter)).length, count);
    });
  }

  it('pages by size and token, and a token made by one client serves another', async () => {
    const seen: string[] = [];
    let continuationToken: string | undefined;
    let pages = 0;
    do {
      const other = tableClient(client.tableName);
      const iterator = other.listEntities().byPage({
        maxPageSize: 10,
        ...(continuationToken === undefined ? {} : { continuationToken }),
      });
      const { value } = await iterator.next();
      assert.ok(value !== undefined);
      seen.push(...value.map(({ rowKey }: TableEntity) => rowKey));
      continuationToken = value.continuationToken;
      pages += 1;
    } while (continuationToken !== undefined && pages < 9);
    assert.equal(pages, 3);
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, index) => String(index).padStart(3, '0')),
    );
  });

  it('tells a filter that cannot be read', async () => {
    assert.deepEqual(await failureOf(rowKeysOf(client, 'PartitionKey eq')), {
      status: 400,
      code: 'InvalidInput',
    });
  });
});

describe('@azure/data-tables: transactions', () => {
  it('writes 100 operations and answers each with its row key and etag', async () => {
    const client = await newTable();
    const transaction = new TableTransaction();
    for (let index = 0; index < 100; index += 1) {
      transaction.createEntity({ partitionKey: 'p', rowKey: `r${index}`, n: index });
    }
    const { status, subResponses } = await client.submitTransaction(transaction.actions);
    assert.equal(status, 202);
    assert.equal(subResponses.length, 100);
    assert.deepEqual(
      subResponses.map((each) => each.rowKey),
      Array.from({ length: 100 }, (_, index) => `r${index}`),
    );
    assert.ok(subResponses.every((each) => each.status === 204));
    const { etag } = await client.getEntity('p', 'r42');
    assert.equal(subResponses[42]?.etag, etag);
  });

  it('mixes all kinds of operations', async () => {
    const client = await newTable();
    const entity = (rowKey: string, n = 0) => ({ partitionKey: 'p', rowKey, n });
    for (const rowKey of ['merged', 'replaced', 'deleted', 'upserted']) {
      await client.createEntity({ ...entity(rowKey), kept: 'yes' });
    }
    const { etag } = await client.getEntity('p', 'merged');
    const { subResponses } = await client.submitTransaction([
      ['create', entity('created', 1)],
      ['update', entity('merged', 2), 'Merge', { etag }],
      ['update', entity('replaced', 3), 'Replace'],
      ['delete', entity('deleted')],
      ['upsert', entity('upserted', 4), 'Merge'],
      ['upsert', entity('new', 5), 'Replace'],
    ]);
    assert.deepEqual(
      subResponses.map(({ status }) => status),
      [204, 204, 204, 204, 204, 204],
    );
    const all = await collect(client.listEntities<{ n: number; kept?: string }>());
    assert.deepEqual(
      all.map(({ rowKey, n, kept }) => [rowKey, n, kept]),
      [
        ['created', 1, undefined],
        ['merged', 2, 'yes'],
        ['new', 5, undefined],
        ['replaced', 3, undefined],
        ['upserted', 4, 'yes'],
      ],
    );
  });

  it('applies nothing when one operation fails, and tells why', async () => {
    const client = await newTable();
    await client.createEntity({ partitionKey: 'p', rowKey: 'changed', n: 1 });
    await client.createEntity({ partitionKey: 'p', rowKey: 'there', n: 1 });
    const work = client.submitTransaction([
      ['create', { partitionKey: 'p', rowKey: 'a' }],
      ['update', { partitionKey: 'p', rowKey: 'changed', n: 2 }, 'Replace'],
      ['create', { partitionKey: 'p', rowKey: 'there' }],
    ]);
    await assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof RestError);
      assert.equal(error.statusCode, 409);
      assert.equal(error.code, 'EntityAlreadyExists');
      assert.match(error.message, /^2:The specified entity already exists\./);
      return true;
    });
    const all = await collect(client.listEntities());
    assert.deepEqual(
      all.map(({ rowKey, n }) => [rowKey, n]),
      [
        ['changed', 1],
        ['there', 1],
      ],
    );
  });

  it('names the code of a stale etag and of a missing entity', async () => {
    const client = await newTable();
    const { etag = '' } = await client.createEntity({ partitionKey: 'p', rowKey: 'r' });
    await client.updateEntity({ partitionKey: 'p', rowKey: 'r', n: 1 });
    await assert.rejects(
      client.submitTransaction([['update', { partitionKey: 'p', rowKey: 'r' }, 'Merge', { etag }]]),
      { statusCode: 412, code: 'UpdateConditionNotSatisfied' },
    );
    await assert.rejects(
      client.submitTransaction([['delete', { partitionKey: 'p', rowKey: 'x' }]]),
      {
        statusCode: 404,
        code: 'ResourceNotFound',
      },
    );
  });
});
