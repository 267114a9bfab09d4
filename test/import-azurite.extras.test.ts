import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { createServer } from '../src/app/index.js';
import { startAzurite } from './support/azurite.js';
import { runCli } from './support/cli-process.js';
import { costly } from './support/run-length.js';

// Clients must read the same from Azurite and from a server that has imported its data.

const insecure = { allowInsecureConnection: true };
const entity = {
  partitionKey: "o'neil",
  rowKey: 'ü😀',
  text: 'x'.repeat(30_000),
  int32: 7,
  int64: { type: 'Int64', value: '-9223372036854775808' },
  half: 0.5,
  whole: { type: 'Double', value: 3 },
  yes: false,
  guid: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
  date: { type: 'DateTime', value: '2011-11-11T11:11:11.1234567Z' },
  bytes: new Uint8Array([0, 1, 255]),
};
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tabularium-azurite-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function read(connection: string) {
  const table = TableClient.fromConnectionString(connection, 'People', insecure);
  const options = { disableTypeConversion: true };
  const { etag: _, timestamp: _t, ...found } = await table.getEntity("o'neil", 'ü😀', options);
  const values = Object.entries(found).filter(([name]) => !name.startsWith('odata.'));
  return Object.fromEntries(values);
}

async function readQueue(connection: string) {
  const service = QueueServiceClient.fromConnectionString(connection);
  const queue = service.getQueueClient('work');
  const { metadata } = await queue.getProperties();
  const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
  const { signedIdentifiers } = await queue.getAccessPolicy();
  const { cors } = await service.getProperties();
  const texts = peekedMessageItems.map(({ messageText }) => messageText);
  return { metadata, texts, ids: signedIdentifiers.map(({ id }) => id), cors };
}

describe('data of Azurite', () => {
  it(
    'are what they were after tabularium import azurite',
    { ...costly(), timeout: 600_000 },
    async () => {
      const source = join(folder, 'azurite');
      const before = await fillAzurite(source);
      const location = join(folder, 'data');
      const { code, stderr } = await runCli(['import', 'azurite', source, '-l', location]);
      assert.equal(code, 0, stderr);
      await using server = await createServer({ location });
      assert.deepEqual(await read(server.connectionString()), before.entity);
      assert.deepEqual(await readQueue(server.connectionString()), before.queue);
    },
  );
});

async function fillAzurite(location: string) {
  await using tables = await startAzurite('table', location);
  await using queues = await startAzurite('queue', location);
  const table = TableClient.fromConnectionString(tables.connectionString, 'People', insecure);
  await table.createTable();
  await table.createEntity(entity);
  const service = QueueServiceClient.fromConnectionString(queues.connectionString);
  const rule = { allowedHeaders: '*', allowedMethods: 'GET', allowedOrigins: 'http://x' };
  await service.setProperties({ cors: [{ ...rule, exposedHeaders: 'a,b', maxAgeInSeconds: 5 }] });
  const queue = service.getQueueClient('work');
  await queue.create({ metadata: { colour: 'blue' } });
  for (const text of ['first <b>& ü😀', 'second'.repeat(5000), '']) await queue.sendMessage(text);
  const expiresOn = new Date('2099-01-01T00:00:00Z');
  const accessPolicy = { permissions: 'r', startsOn: new Date(0), expiresOn };
  await queue.setAccessPolicy([{ id: 'readers', accessPolicy }]);
  const found = await readQueue(queues.connectionString);
  const kept = { entity: await read(tables.connectionString), queue: found };
  await written(join(location, '__azurite_db_table__.json'), 'Edm.Guid');
  await written(join(location, '__azurite_db_queue__.json'), 'readers');
  return kept;
}

/**
 * Waits for Azurite to write the file: it does so every five seconds, and not always when it ends.
 */
async function written(file: string, text: string): Promise<void> {
  while (!(await readFile(file, 'utf8').catch(() => '')).includes(text)) await delay(100);
}
