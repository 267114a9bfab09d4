import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { runCli, type CliResult } from '../../test/support/cli-process.js';
import { runCommand } from '../../test/support/command-host.js';
import { createServer, type TabulariumServer } from '../app/index.js';
import { costly } from '../../test/support/run-length.js';

// A directory as Azurite writes it. test/import-azurite.extras.test.ts does the same with
// Azurite itself.

const key = Buffer.alloc(32, 7).toString('base64');
const guid = 'c9da6455-213d-42c9-9a79-3e9149a57833';
const readers = { start: '2020-01-01T00:00:00Z', expiry: '2099-01-01T00:00:00Z', permission: 'r' };
let folder: string;
let source: string;

const row = (PartitionKey: string, RowKey: string, properties: object) => ({
  PartitionKey,
  RowKey,
  properties: { PartitionKey, RowKey, ...properties, Timestamp: '2026-01-01T00:00:00.0000000Z' },
  eTag: 'W/"x"',
});

const texts = ['first <b>& ü😀', 'second', 'later', 'for ever', 'expired', 'gone'];

function database(collections: Readonly<Record<string, readonly object[]>>): string {
  const all = Object.entries(collections).map(([name, data]) => ({ name, data, idIndex: null }));
  return JSON.stringify({ filename: 'x', collections: all, engineVersion: 1.5 });
}

function tablesFile(): string {
  const rows = [
    row("o'neil", 'r 1', {
      text: 'ü😀',
      empty: '',
      int32: -5,
      int64: '9223372036854775807',
      'int64@odata.type': 'Edm.Int64',
      whole: 3,
      'whole@odata.type': 'Edm.Double',
      large: 1e300,
      yes: true,
      guid: Buffer.from(guid).toString('base64'),
      'guid@odata.type': 'Edm.Guid',
      date: '2011-11-11T11:11:11.1234567Z',
      'date@odata.type': 'Edm.DateTime',
      bytes: 'AQL/',
      'bytes@odata.type': 'Edm.Binary',
    }),
    row('', '', {}),
    row('p', 'bad name', { 'a-b': 1 }),
    row('p', 'too/bad', {}),
    row('', '', { second: true }),
  ];
  return database({
    $TABLES_COLLECTION$: [
      { account: 'one', table: 'People', tableAcl: [{ id: 'readers', accessPolicy: readers }] },
      { account: 'two', table: 'People' },
      { account: 'two', table: '9bad' },
      { account: 'two', table: 'people' },
    ],
    one$People: rows,
    two$People: [row('p', 'r', { n: 1 })],
    two$people: [row('p', 'r', { n: 7 }), row('p', 'other', {})],
    $SERVICES_COLLECTION$: [],
  });
}

function queuesFile(nowMs: number): string {
  let offset = 0;
  const messages = texts.map((text, at) => {
    const count = Buffer.byteLength(text);
    const forEver = text === 'for ever';
    const lifeMs = text === 'expired' ? -1000 : 86_400_000;
    const message = {
      accountName: 'one',
      queueName: 'work',
      messageId: `id-${at}`,
      // `second` was put before `first`, so it becomes visible earlier.
      timeNextVisible: nowMs + (text === 'later' ? 3_600_000 : text === 'second' ? -2000 : -1000),
      persistency: { id: text === 'gone' ? 'lost' : 'extent-1', offset, count },
      expirationTime: forEver ? '9999-12-31T23:59:59.999Z' : new Date(nowMs + lifeMs).toISOString(),
    };
    offset += count;
    return message;
  });
  const cors = {
    allowedOrigins: 'http://x,http://y',
    allowedMethods: 'GET',
    allowedHeaders: '*',
    exposedHeaders: '',
    maxAgeInSeconds: 5,
  };
  return database({
    $QUEUES_COLLECTION$: [
      {
        accountName: 'one',
        name: 'work',
        metadata: { Colour: 'blue', 'no-name': 'x' },
        queueAcl: [{ id: 'readers', accessPolicy: readers }],
      },
      { accountName: 'two', name: 'empty', metadata: {} },
    ],
    $MESSAGES_COLLECTION$: messages,
    $SERVICES_COLLECTION$: [{ accountName: 'one', cors: [cors] }],
  });
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-azurite-'));
  source = join(folder, 'azurite');
  await mkdir(join(source, '__queuestorage__'), { recursive: true });
  const write = (name: string, text: string) => writeFile(join(source, name), text);
  await write('__azurite_db_table__.json', tablesFile());
  await write('__azurite_db_queue__.json', queuesFile(Date.now()));
  const extents = database({ $EXTENTS_COLLECTION$: [{ id: 'extent-1', path: 'extent-1' }] });
  await write('__azurite_db_queue_extent__.json', extents);
  await write('__azurite_db_blob__.json', database({ $BLOBS_COLLECTION$: [{}, {}] }));
  await write('__queuestorage__/extent-1', texts.join(''));
});
after(() => rm(folder, { recursive: true, force: true }));

function importInto(location: string, ...args: readonly string[]): Promise<CliResult> {
  return runCommand(['import', 'azurite', source, '-l', location, ...args], { cwd: folder });
}

function serve(location: string): Promise<TabulariumServer> {
  const accounts = ['one', 'two'].map((name) => ({ name, key }));
  return createServer({ location, accounts });
}

const insecure = { allowInsecureConnection: true };

describe('tabularium import azurite', () => {
  it('says with --dry-run what it would do, and writes nothing', costly(), async () => {
    const { code, stderr } = await importInto(join(folder, 'dry'), '--dry-run');
    assert.equal(code, 1, 'something is refused');
    assert.match(stderr, /Would import one: 1 table with 2 entities, 1 queue with 4 messages\./);
    assert.match(stderr, /Would import two: 1 table with 1 entity, 1 queue with 0 messages\./);
    assert.match(stderr, /Left out: 1 expired message\./);
    assert.match(stderr, /Left out: 2 blobs; blobs are not taken over\./);
    for (const refused of [
      /Refused: one\/People\(PartitionKey='p',RowKey='bad name'\): a-b: a property cannot/,
      /Refused: one\/People\(PartitionKey='p',RowKey='too\/bad'\): /,
      /Refused: two\/9bad: /,
      /Refused: two\/people: a table before has the same name/,
      /Refused: one\/People\(PartitionKey='',RowKey=''\): an entity before has the same keys/,
      /Refused: one\/work: metadata: .*'no-name'/,
      /Refused: one\/work\/messages\/id-5: its text is not in __queuestorage__/,
    ]) {
      assert.match(stderr, refused);
    }
    assert.ok(!existsSync(join(folder, 'dry')));
  });

  it('takes over every type, metadata, policies, properties and accounts', costly(), async () => {
    const location = join(folder, 'data');
    const { stderr } = await importInto(location);
    assert.match(stderr, /Imported one: 1 table with 2 entities/);
    await using server = await serve(location);
    const table = TableClient.fromConnectionString(
      server.connectionString('one'),
      'People',
      insecure,
    );
    const entity = await table.getEntity("o'neil", 'r 1', { disableTypeConversion: true });
    const { etag: _etag, timestamp: _timestamp, ...values } = entity;
    assert.deepEqual(
      Object.fromEntries(
        Object.entries(values)
          .filter(([name]) => !name.startsWith('odata.'))
          .map(([name, value]) => [name, Object(value).value ?? value]),
      ),
      {
        partitionKey: "o'neil",
        rowKey: 'r 1',
        text: 'ü😀',
        empty: '',
        int32: '-5',
        int64: '9223372036854775807',
        whole: '3',
        large: '1e+300',
        yes: 'true',
        guid,
        date: '2011-11-11T11:11:11.1234567Z',
        bytes: 'AQL/',
      },
    );
    assert.equal((await table.getAccessPolicy())[0]?.id, 'readers');
    const other = TableServiceClient.fromConnectionString(server.connectionString('two'), insecure);
    assert.equal((await other.listTables().next()).value?.name, 'People');
    const queues = QueueServiceClient.fromConnectionString(server.connectionString('one'));
    assert.equal((await queues.getProperties()).cors?.[0]?.allowedOrigins, 'http://x,http://y');
    const queue = queues.getQueueClient('work');
    const { metadata, approximateMessagesCount } = await queue.getProperties();
    assert.deepEqual([metadata, approximateMessagesCount], [{ colour: 'blue' }, 4]);
    assert.equal(
      (await queue.getAccessPolicy()).signedIdentifiers[0]?.accessPolicy.permissions,
      'r',
    );
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32 });
    const received = receivedMessageItems.map(({ messageText }) => messageText);
    assert.deepEqual(received, ['second', 'first <b>& ü😀', 'for ever']);
  });

  it('can be done again: what is there stays, or is replaced', costly(), async () => {
    const location = join(folder, 'again');
    await importInto(location);
    const changed = async (): Promise<unknown> => {
      await using server = await serve(location);
      const text = server.connectionString('two');
      const table = TableClient.fromConnectionString(text, 'People', insecure);
      const { n } = await table.getEntity('p', 'r');
      await table.updateEntity({ partitionKey: 'p', rowKey: 'r', n: 2 });
      const queue = QueueServiceClient.fromConnectionString(server.connectionString('one'));
      const count = (await queue.getQueueClient('work').getProperties()).approximateMessagesCount;
      return [n, count];
    };
    assert.deepEqual(await changed(), [1, 4]);
    const again = await importInto(location);
    assert.match(again.stderr, /Found one: 1 table with 2 entities, 1 queue with 4 messages\./);
    assert.match(again.stderr, /Imported: 0 entities, 0 messages\./);
    assert.match(
      again.stderr,
      /there already: 3 entities, 2 queues\. Use --if-exists replace to overwrite them\./,
    );
    assert.deepEqual(await changed(), [2, 4]);
    const replaced = await importInto(location, '--if-exists', 'replace');
    assert.match(replaced.stderr, /Imported one: 1 table with 2 entities, 1 queue with 4/);
    assert.deepEqual(await changed(), [1, 4]);
  });

  it('changes nothing of what it reads', async () => {
    const name = join(source, '__azurite_db_table__.json');
    assert.equal(await readFile(name, 'utf8'), tablesFile());
    assert.equal((await readdir(source)).length, 5);
  });

  it(
    'refuses directories that are none of Azurite, and data directories in use',
    costly(),
    async () => {
      const broken = join(folder, 'broken');
      await mkdir(broken);
      const location = join(folder, 'used');
      const fails = async (from: string, reason: RegExp): Promise<void> => {
        const { code, stderr } = await runCli(['import', 'azurite', from, '-l', location]);
        assert.match(stderr, reason);
        assert.equal(code, 1);
      };
      await fails(join(folder, 'missing'), /There is no directory .*missing/);
      await fails(broken, /neither __azurite_db_table__\.json nor/);
      await writeFile(join(broken, '__azurite_db_table__.json'), '{"collections": [');
      await fails(broken, /no complete file of Azurite.*Stop Azurite first/);
      await writeFile(join(broken, '__azurite_db_table__.json'), '{}');
      await fails(broken, /it has no collections/);
      assert.ok(!existsSync(location));
      await using server = await serve(location);
      await fails(source, /data directory|in use|another/i);
      assert.ok(server.tablePort > 0);
    },
  );
});
