import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AzureSASCredential, TableClient, TableServiceClient } from '@azure/data-tables';
import { QueueClient, QueueServiceClient } from '@azure/storage-queue';
import { runCommand } from '../../support/command-host.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { costly } from '../../support/run-length.js';

// Tokens that the command line makes, used by the official clients and by the command line.

let started: StartedServer;
let endpoint: string;

type Made = Readonly<
  Record<'token' | 'url' | 'tableUrl' | 'queueUrl' | 'connectionString', string>
>;

async function made(...args: readonly string[]): Promise<Made> {
  const connection = ['-c', started.server.connectionString()];
  const { code, stdout, stderr } = await runCommand(['sas', ...args, '-o', 'json', ...connection]);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

const http = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

async function isForbidden(request: Promise<unknown>): Promise<void> {
  await assert.rejects(request, { statusCode: 403 });
}

async function partitions(client: TableClient): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { partitionKey } of client.listEntities()) found.push(partitionKey);
  return found;
}

describe('a token of the command line', () => {
  before(async () => {
    started = await startServer();
    const text = started.server.connectionString();
    endpoint = /TableEndpoint=([^;]+)/.exec(text)?.[1] ?? '';
    await TableServiceClient.fromConnectionString(text, http).createTable('people');
    const people = TableClient.fromConnectionString(text, 'people', http);
    for (const partitionKey of ['a', 'b', 'c']) {
      await people.createEntity({ partitionKey, rowKey: '1' });
    }
    await QueueServiceClient.fromConnectionString(text).createQueue('work');
  });
  after(() => started[Symbol.asyncDispose]());

  it('opens a range of the keys of a table, and what its letters say', costly(), async () => {
    const range = ['--start-pk', 'a', '--end-pk', 'b'];
    const { token, url } = await made('table', '-t', 'People', '-p', 'ra', ...range);
    const people = new TableClient(endpoint, 'people', new AzureSASCredential(token), http);
    assert.deepEqual(await partitions(people), ['a', 'b']);
    await people.createEntity({ partitionKey: 'b', rowKey: '2' });
    await isForbidden(people.createEntity({ partitionKey: 'c', rowKey: '2' }));
    await isForbidden(people.deleteEntity('a', '1'));

    assert.ok(url.startsWith(`${endpoint}/People?`));
    const pasted = await fetch(url, { headers: { accept: 'application/json;odata=nometadata' } });
    assert.equal(pasted.status, 200);
    const { value }: { value: readonly unknown[] } = JSON.parse(await pasted.text());
    assert.equal(value.length, 3);
  });

  it('opens a queue by its URL, and what its letters say', async () => {
    const { url } = await made('queue', '-q', 'work', '-p', 'ar');
    const work = new QueueClient(url);
    await work.sendMessage('text');
    assert.equal((await work.peekMessages()).peekedMessageItems.length, 1);
    await isForbidden(work.receiveMessages());
    await isForbidden(new QueueClient(url.replace('/work?', '/other?')).peekMessages());
  });

  it('opens the services of an account by their URLs and their connection string', async () => {
    const account = await made('account', '-p', 'rlac');
    const tables = new TableServiceClient(account.tableUrl, http);
    await tables.createTable('made');
    const names: unknown[] = [];
    for await (const { name } of tables.listTables()) names.push(name);
    assert.deepEqual(names, ['made', 'people']);
    await isForbidden(tables.deleteTable('made'));
    await new QueueServiceClient(account.queueUrl).createQueue('made');

    const people = TableClient.fromConnectionString(account.connectionString, 'people', http);
    assert.equal((await partitions(people))[0], 'a');
    const query = ['table', 'query', '-t', 'people', '-f', "PartitionKey eq 'c'", '-o', 'jsonl'];
    const { code, stdout, stderr } = await runCommand([...query, '-c', account.connectionString]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /"PartitionKey":"c"/);
  });

  it('opens nothing when it is over, or for https on a server without it', async () => {
    for (const limit of [['--expiry', '2020-01-01'], ['--https-only'], ['--ip', '203.0.113.1']]) {
      const { token } = await made('table', '-t', 'people', ...limit);
      const people = new TableClient(endpoint, 'people', new AzureSASCredential(token), http);
      await isForbidden(partitions(people));
    }
  });

  it('opens nothing any more when the policy that it names is gone', async () => {
    const { url } = await made('queue', '-q', 'work', '--policy', 'readers');
    const work = new QueueClient(url);
    await isForbidden(work.peekMessages());
    const owner = QueueServiceClient.fromConnectionString(started.server.connectionString());
    const queue = owner.getQueueClient('work');
    const expiresOn = new Date(Date.now() + 3_600_000);
    const accessPolicy = { startsOn: new Date(0), expiresOn, permissions: 'r' };
    await queue.setAccessPolicy([{ id: 'readers', accessPolicy }]);
    await work.peekMessages();
    await queue.setAccessPolicy([]);
    await isForbidden(work.peekMessages());
  });
});
