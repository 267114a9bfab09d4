import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { TableServiceClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { all, assertRefused, freshName, inHours, settingsOf } from './server.js';

const connectionString = process.env.TABULARIUM_TLS_CONNECTION_STRING;
const token = process.env.TABULARIUM_TOKEN;
const { TableEndpoint, QueueEndpoint } = settingsOf(connectionString);
const trusting = { tlsOptions: { ca: readFileSync(process.env.TABULARIUM_CA, 'utf8') } };
const once = { retryOptions: { maxRetries: 0, maxTries: 1 } };

/** What the credentials of the identity library are to a client. */
const bearer = (text) => ({
  getToken: async () => ({ token: text, expiresOnTimestamp: inHours(1).getTime() }),
});

async function use(tables, queues) {
  const name = freshName();
  await tables.createTable(name);
  assert.ok((await all(tables.listTables())).some((table) => table.name === name));
  const queue = queues.getQueueClient(freshName('q'));
  await queue.create();
  await queue.sendMessage('text');
  const [message] = (await queue.receiveMessages()).receivedMessageItems;
  assert.equal(message.messageText, 'text');
}

describe('https', () => {
  it('works with the certificate of the server', async () => {
    await use(
      TableServiceClient.fromConnectionString(connectionString, trusting),
      QueueServiceClient.fromConnectionString(connectionString, trusting),
    );
  });

  it('is not trusted without the certificate', async () => {
    const stranger = TableServiceClient.fromConnectionString(connectionString, once);
    await assert.rejects(stranger.getProperties(), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  it('works with bearer tokens', async () => {
    await use(
      new TableServiceClient(TableEndpoint, bearer(token), trusting),
      new QueueServiceClient(QueueEndpoint, bearer(token), trusting),
    );
  });

  it('refuses a token that is not signed', async () => {
    const [header, claims] = token.split('.');
    const forged = bearer(`${header}.${claims}.AAAA`);
    const queues = new QueueServiceClient(QueueEndpoint, forged, trusting);
    const creation = queues.createQueue(freshName('q'));
    await assertRefused(creation, 401, 'InvalidAuthenticationInfo');
  });
});
