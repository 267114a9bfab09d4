import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { withoutExtras } from '../../support/extras.js';
import { legacyCall, loadLegacyClient, type LegacyRow } from '../../support/legacy-client.js';
import type { WireClient } from '../kit/client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import { startFixture, startFixtureOf } from '../kit/server.js';

// Official clients with pages of every legal shape: each must read every row once.

const seeds = ['1', '2', '3'];
const partitions = ['', 'a', 'ab', 'b c', 'é', '😀'];
const rowsEach = 9;
const keys = partitions.flatMap((partitionKey) =>
  Array.from({ length: rowsEach }, (_, row) => ({ partitionKey, rowKey: `r${row}` })),
);
const filters = ["PartitionKey eq 'ab'", 'n ge 4', "RowKey eq 'r3' or n eq 8", "n eq 'none'"];

async function fill(client: WireClient): Promise<string> {
  const table = await client.newTable('shapes');
  for (const { partitionKey, rowKey } of keys) {
    const n = Number(rowKey.slice(1));
    await client.put(table, { PartitionKey: partitionKey, RowKey: rowKey, n });
  }
  return table;
}

type Key = (typeof keys)[number];

const nOf = ({ rowKey }: Key): number => Number(rowKey.slice(1));

function expectedOf(filter: string | undefined): string[] {
  const matching: Readonly<Record<string, (key: Key) => boolean>> = {
    "PartitionKey eq 'ab'": ({ partitionKey }) => partitionKey === 'ab',
    'n ge 4': (key) => nOf(key) >= 4,
    "RowKey eq 'r3' or n eq 8": (key) => [3, 8].includes(nOf(key)),
    "n eq 'none'": () => false,
  };
  const test = filter === undefined ? () => true : matching[filter];
  assert.ok(test);
  return keys.filter(test).map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`);
}

for (const seed of seeds) {
  const { server, client } = await startFixture({ pagingTestMode: { seed } });
  const text = server.connectionString();
  const table = await fill(client);

  describe(`pages of every shape, seed ${seed}`, () => {
    for (const filter of [undefined, ...filters]) {
      for (const maxPageSize of [undefined, 5, 1]) {
        it(`@azure/data-tables: ${filter ?? 'all'}, ${maxPageSize ?? 'any'} a page`, async () => {
          const rows = TableClient.fromConnectionString(text, table, {
            allowInsecureConnection: true,
          });
          const queryOptions = filter === undefined ? {} : { filter };
          const settings = maxPageSize === undefined ? {} : { maxPageSize };
          const found: string[] = [];
          for await (const page of rows.listEntities({ queryOptions }).byPage(settings)) {
            assert.ok(page.length <= (maxPageSize ?? 1000));
            for (const { partitionKey, rowKey } of page) found.push(`${partitionKey}/${rowKey}`);
          }
          assert.deepEqual(found, expectedOf(filter));
        });
      }
    }

    it('azure-storage: all rows', { skip: withoutExtras }, async () => {
      const azure = loadLegacyClient();
      const legacy = azure.createTableService(text);
      const query = new azure.TableQuery().top(7);
      const found: string[] = [];
      let token: unknown;
      do {
        const from = token;
        const page: LegacyPage = await legacyCall<LegacyPage>((done) =>
          legacy.queryEntities(table, query, from, done),
        );
        assert.ok(page.entries.length <= 7);
        found.push(
          ...page.entries.map(
            ({ PartitionKey, RowKey }) => `${String(PartitionKey?._)}/${String(RowKey?._)}`,
          ),
        );
        token = page.continuationToken ?? undefined;
      } while (token !== undefined);
      assert.deepEqual(found, expectedOf(undefined));
    });

    it('lists of tables and queues', async () => {
      const tables = TableServiceClient.fromConnectionString(text, {
        allowInsecureConnection: true,
      });
      const queues = QueueServiceClient.fromConnectionString(text);
      const names = ['ant', 'ant0', 'bee', 'beetle', 'cat', 'dog', 'zebra'];
      for (const name of names) {
        await tables.createTable(name);
        await queues.createQueue(name);
      }
      const foundTables: (string | undefined)[] = [];
      for await (const { name } of tables.listTables()) foundTables.push(name);
      assert.deepEqual(foundTables, [...names, table].sort());
      for (const prefix of ['', 'ant', 'be', 'none']) {
        const found: string[] = [];
        for await (const { name } of queues.listQueues({ prefix })) found.push(name);
        assert.deepEqual(
          found,
          names.filter((name) => name.startsWith(prefix)),
        );
      }
    });

    it('lists of containers and blobs', async () => {
      const blobs = BlobServiceClient.fromConnectionString(text);
      const names = ['ant', 'ant0', 'bee', 'beetle', 'cat'];
      for (const name of names) await blobs.createContainer(name);
      const foundContainers: string[] = [];
      for await (const { name } of blobs.listContainers()) foundContainers.push(name);
      assert.deepEqual(foundContainers, names);

      const container = blobs.getContainerClient('bee');
      const paths = ['a', 'a/1', 'a/2', 'b', 'c/1', 'é'];
      for (const path of paths) await container.getBlockBlobClient(path).upload('x', 1);
      const found: string[] = [];
      for await (const { name } of container.listBlobsFlat()) found.push(name);
      assert.deepEqual(found, paths);
      const grouped: string[] = [];
      for await (const { kind, name } of container.listBlobsByHierarchy('/')) {
        grouped.push(`${kind} ${name}`);
      }
      const expected = ['blob a', 'prefix a/', 'blob b', 'prefix c/', 'blob é'];
      assert.deepEqual(grouped.toSorted(), expected.toSorted());
    });
  });
}

interface LegacyPage {
  readonly entries: readonly LegacyRow[];
  readonly continuationToken: object | null;
}

describe('a server in paging test mode', () => {
  it('sends tokens without a row key, and pages without rows', async (t) => {
    const { client } = await startFixtureOf(t, { pagingTestMode: { seed: '7' } });
    const table = await fill(client);
    const shapes = new Set<string>();
    for (let top = 1; top <= 40; top += 1) {
      const response = await client.query(table, { top });
      const hasPartition = response.header('x-ms-continuation-nextpartitionkey') !== undefined;
      const hasRow = response.header('x-ms-continuation-nextrowkey') !== undefined;
      assert.ok(hasPartition || !hasRow, 'a row key alone is no token');
      shapes.add(`${response.items.length === 0 ? 'empty' : 'rows'} ${hasPartition} ${hasRow}`);
    }
    for (const shape of ['empty true false', 'empty true true', 'rows true false']) {
      assert.ok(shapes.has(shape), `${shape} is not among ${[...shapes].join(', ')}`);
    }
  });

  it('gives queues markers that it takes back, and every page of them', async (t) => {
    const { server } = await startFixtureOf(t, { pagingTestMode: { seed: '8' } });
    const queues = QueueWireClient.of(server);
    t.after(() => queues.close());
    const names = ['aaa', 'bbb', 'ccc', 'd'.repeat(63)];
    for (const name of names) await queues.expect(201, { method: 'PUT', path: `/${name}` });
    for (let size = 1; size <= 9; size += 1) {
      const found: string[] = [];
      let marker = '';
      do {
        const path = `/?comp=list&maxresults=${size}&marker=${encodeURIComponent(marker)}`;
        const { text } = await queues.expect(200, { path });
        found.push(...[...text.matchAll(/<Name>([^<]*)<\/Name>/g)].map(([, name = '']) => name));
        marker = /<NextMarker>([^<]*)<\/NextMarker>/.exec(text)?.[1] ?? '';
      } while (marker !== '');
      assert.deepEqual(found, names);
    }
  });

  it('is in this mode only when it is told to be', async (t) => {
    const { client } = await startFixtureOf(t);
    const table = await fill(client);
    const response = await client.query(table);
    assert.equal(response.items.length, keys.length);
    assert.equal(response.header('x-ms-continuation-nextpartitionkey'), undefined);
  });
});
