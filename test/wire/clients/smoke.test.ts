import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RestError, TableClient, TableServiceClient, odata } from '@azure/data-tables';
import { startDurableServer, startServer, type StartedServer } from '../../support/start-server.js';

const allowInsecureConnection = { allowInsecureConnection: true };

function tableClient({ server }: StartedServer, table: string): TableClient {
  const connection = server.connectionString();
  return TableClient.fromConnectionString(connection, table, allowInsecureConnection);
}

interface Row {
  partitionKey: string;
  rowKey: string;
  n: number;
}

async function seed(client: TableClient, count: number): Promise<void> {
  await client.createTable();
  for (let start = 0; start < count; start += 100) {
    await client.submitTransaction(
      Array.from({ length: Math.min(100, count - start) }, (_, index) => {
        const n = start + index;
        return ['create', { partitionKey: 'p', rowKey: String(n).padStart(6, '0'), n }];
      }),
    );
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function isRestError(status: number, code: string) {
  return (error: unknown) => {
    assert.ok(error instanceof RestError);
    assert.equal(error.statusCode, status);
    assert.match(`${error.code} ${JSON.stringify(error.details)}`, new RegExp(code));
    return true;
  };
}

for (const [engine, start] of [
  ['memory', startServer],
  ['lmdb', startDurableServer],
] as const) {
  describe(`the official client against a server on ${engine}`, () => {
    it('creates, lists and deletes tables', async () => {
      await using started = await start();
      const connection = started.server.connectionString();
      const service = TableServiceClient.fromConnectionString(connection, allowInsecureConnection);
      await service.createTable('People');
      await service.createTable('people');
      const names: (string | undefined)[] = [];
      for await (const table of service.listTables()) names.push(table.name);
      assert.deepEqual(names, ['People']);
      await service.deleteTable('PEOPLE');
      await service.deleteTable('people');
      assert.deepEqual(await all(service.listTables()), []);
      assert.deepEqual(started.errors, []);
    });

    it('gives back what was inserted, types included', async () => {
      await using started = await start();
      const client = tableClient(started, 'people');
      await client.createTable();
      const entity = {
        partitionKey: "O'Neil%ü",
        rowKey: '',
        text: 'ä"\\\n',
        int: 3,
        double: { type: 'Double', value: '3' },
        long: 9_007_199_254_740_993n,
        yes: true,
        when: new Date('2025-11-21T10:00:00.123Z'),
        bytes: Buffer.from([0, 255]),
        id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
      };
      const inserted = await client.createEntity(entity);
      const found = await client.getEntity(entity.partitionKey, entity.rowKey);
      const { etag, timestamp, ...rest } = found;
      assert.equal(etag, inserted.etag);
      assert.ok(etag.includes(encodeURIComponent(timestamp ?? 'no timestamp')));
      const { 'odata.metadata': metadata, ...values } = rest as Record<string, unknown>;
      assert.equal(metadata, `${started.server.tableEndpoint}/$metadata#people/@Element`);
      assert.deepEqual(values, { ...entity, double: 3 });
    });

    it('pages through more entities than one page holds, in key order', async () => {
      await using started = await start();
      const client = tableClient(started, 'many');
      await seed(client, 2500);
      const sizes: number[] = [];
      const keys: string[] = [];
      for await (const page of client.listEntities<Row>().byPage()) {
        sizes.push(page.length);
        keys.push(...page.map(({ rowKey }) => rowKey ?? ''));
      }
      assert.deepEqual(sizes, [1000, 1000, 500]);
      assert.deepEqual(keys, [...keys].sort());
      const filter = odata`PartitionKey eq ${'p'} and n ge ${2490}`;
      const some = await all(client.listEntities<Row>({ queryOptions: { filter } }));
      assert.equal(some.length, 10);
    });

    it('applies a transaction wholly or not at all', async () => {
      await using started = await start();
      const client = tableClient(started, 'group');
      await client.createTable();
      const done = await client.submitTransaction([
        ['create', { partitionKey: 'p', rowKey: '1', n: 1 }],
        ['upsert', { partitionKey: 'p', rowKey: '2', n: 2 }, 'Replace'],
      ]);
      assert.deepEqual(
        done.subResponses.map(({ status }) => status),
        [204, 204],
      );
      await assert.rejects(
        client.submitTransaction([
          ['update', { partitionKey: 'p', rowKey: '2', n: 9 }, 'Merge'],
          ['create', { partitionKey: 'p', rowKey: '1', n: 9 }],
        ]),
        isRestError(409, 'EntityAlreadyExists'),
      );
      assert.equal((await client.getEntity<Row>('p', '2')).n, 2);
    });

    it('refuses a write over a stale etag and deletes with the current one', async () => {
      await using started = await start();
      const client = tableClient(started, 'etags');
      await client.createTable();
      const key = { partitionKey: 'p', rowKey: 'r' };
      const first = await client.createEntity({ ...key, n: 1 });
      const second = await client.updateEntity({ ...key, n: 2 }, 'Replace', { etag: '*' });
      assert.notEqual(second.etag, first.etag);
      const stale = { etag: first.etag ?? '' };
      await assert.rejects(
        client.updateEntity({ ...key, n: 3 }, 'Merge', stale),
        isRestError(412, 'UpdateConditionNotSatisfied'),
      );
      await assert.rejects(
        client.deleteEntity('p', 'r', stale),
        isRestError(412, 'UpdateConditionNotSatisfied'),
      );
      await client.deleteEntity('p', 'r', { etag: second.etag ?? '' });
      await assert.rejects(client.getEntity('p', 'r'), isRestError(404, 'ResourceNotFound'));
    });
  });
}
