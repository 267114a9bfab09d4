import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  QueueClient,
  QueueSASPermissions,
  QueueServiceClient,
  StorageSharedKeyCredential,
  generateAccountSASQueryParameters,
  generateQueueSASQueryParameters,
} from '@azure/storage-queue';
import {
  all,
  assertRefused,
  freshName,
  freshQueue,
  inHours,
  queueKey,
  queues,
  settings,
} from './server.js';

const mismatch = 'AuthorizationPermissionMismatch';

describe('queues', () => {
  it('are created, listed and deleted', async () => {
    const prefix = freshName('q');
    for (const letter of 'cba') await queues.createQueue(prefix + letter);
    const names = async () => (await all(queues.listQueues({ prefix }))).map(({ name }) => name);
    assert.deepEqual(await names(), [`${prefix}a`, `${prefix}b`, `${prefix}c`]);
    await queues.deleteQueue(`${prefix}b`);
    assert.deepEqual(await names(), [`${prefix}a`, `${prefix}c`]);
  });

  it('come in pages, from a token as well', async () => {
    const prefix = freshName('q');
    for (const number of [0, 1, 2, 3, 4]) await queues.createQueue(prefix + number);
    const page = { maxPageSize: 2 };
    const pages = await all(queues.listQueues({ prefix }).byPage(page));
    const names = pages.map(({ queueItems }) => queueItems.map(({ name }) => name));
    assert.deepEqual(
      names.map(({ length }) => length),
      [2, 2, 1],
    );
    const { continuationToken } = pages[0];
    const rest = await all(queues.listQueues({ prefix }).byPage({ ...page, continuationToken }));
    assert.deepEqual(
      rest.map(({ queueItems }) => queueItems.map(({ name }) => name)),
      names.slice(1),
    );
  });

  it('have metadata', async () => {
    const queue = await freshQueue();
    const metadata = { colour: 'blue', b: 'two words' };
    await queue.setMetadata(metadata);
    assert.deepEqual((await queue.getProperties()).metadata, metadata);
    const listed = queues.listQueues({ prefix: queue.name, includeMetadata: true });
    assert.deepEqual((await all(listed))[0].metadata, metadata);
    await queue.setMetadata();
    assert.deepEqual((await queue.getProperties()).metadata, {});
  });

  it('are not created again with other metadata', async () => {
    const queue = await freshQueue();
    await queue.create();
    await assertRefused(queue.create({ metadata: { a: '1' } }), 409, 'QueueAlreadyExists');
  });

  it('are told when they are missing', async () => {
    const missing = queues.getQueueClient(freshName('q'));
    await assertRefused(missing.delete(), 404, 'QueueNotFound');
    await assertRefused(missing.sendMessage('x'), 404, 'QueueNotFound');
  });

  it('have no illegal names', async () => {
    await assertRefused(queues.createQueue('ab'), 400, 'OutOfRangeInput');
    await assertRefused(queues.createQueue('Upper'), 400, 'InvalidResourceName');
  });

  it('are not for those with a wrong key', async () => {
    const wrong = new StorageSharedKeyCredential(settings.AccountName, 'bm8=');
    const stranger = new QueueServiceClient(settings.QueueEndpoint, wrong);
    await assertRefused(stranger.getProperties(), 403, 'AuthenticationFailed');
  });
});

describe('a signature for a queue', () => {
  /** A client that knows a signature and no key. */
  function guest(queue, signed) {
    const signature = generateQueueSASQueryParameters(
      { queueName: queue.name, ...signed },
      queueKey,
    );
    return new QueueClient(`${settings.QueueEndpoint}/${queue.name}?${signature.toString()}`);
  }

  const allowed = (permissions) => ({
    permissions: QueueSASPermissions.parse(permissions),
    expiresOn: inHours(1),
  });

  it('divides the work', async () => {
    const queue = await freshQueue();
    const sender = guest(queue, allowed('a'));
    const worker = guest(queue, allowed('p'));
    await sender.sendMessage('work');
    await assertRefused(sender.peekMessages(), 403, mismatch);
    await assertRefused(sender.receiveMessages(), 403, mismatch);
    await assertRefused(worker.sendMessage('x'), 403, mismatch);
    const [message] = (await worker.receiveMessages()).receivedMessageItems;
    assert.equal(message.messageText, 'work');
    await worker.deleteMessage(message.messageId, message.popReceipt);
  });

  it('is refused out of its time', async () => {
    const queue = await freshQueue();
    const { permissions } = allowed('r');
    for (const period of [
      { startsOn: inHours(-2), expiresOn: inHours(-1) },
      { startsOn: inHours(1), expiresOn: inHours(2) },
    ]) {
      const visitor = guest(queue, { permissions, ...period });
      await assertRefused(visitor.peekMessages(), 403, 'AuthenticationFailed');
    }
  });

  it('can be of the account', async () => {
    const signature = generateAccountSASQueryParameters(
      {
        expiresOn: inHours(1),
        permissions: AccountSASPermissions.parse('rac'),
        services: AccountSASServices.parse('q').toString(),
        resourceTypes: AccountSASResourceTypes.parse('co').toString(),
      },
      queueKey,
    );
    const service = new QueueServiceClient(`${settings.QueueEndpoint}?${signature.toString()}`);
    const queue = service.getQueueClient(freshName('q'));
    await queue.create();
    await queue.sendMessage('text');
    assert.equal((await queue.peekMessages()).peekedMessageItems[0].messageText, 'text');
    await assertRefused(queue.delete(), 403, mismatch);
    await assertRefused(service.getProperties(), 403, 'AuthorizationResourceTypeMismatch');
  });

  it('follows a stored policy until that is revoked', async () => {
    const queue = await freshQueue();
    const accessPolicy = { permissions: 'r', startsOn: inHours(-1), expiresOn: inHours(1) };
    await queue.setAccessPolicy([{ id: 'reader', accessPolicy }]);
    const { signedIdentifiers } = await queue.getAccessPolicy();
    assert.deepEqual(signedIdentifiers, [{ id: 'reader', accessPolicy }]);
    const visitor = guest(queue, { identifier: 'reader' });
    assert.deepEqual((await visitor.peekMessages()).peekedMessageItems, []);
    await assertRefused(visitor.sendMessage('x'), 403, mismatch);
    await queue.setAccessPolicy([]);
    assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
    await assertRefused(visitor.peekMessages(), 403, 'AuthenticationFailed');
  });
});
