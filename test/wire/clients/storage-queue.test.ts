import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AccountSASPermissions,
  AnonymousCredential,
  QueueClient,
  QueueSASPermissions,
  QueueServiceClient,
  newPipeline,
  StorageSharedKeyCredential,
  type SignedIdentifier,
} from '@azure/storage-queue';
import { createServer, type RequestRecord } from '../../../src/app/index.js';
import { queueService } from '../../../src/model/services/queue.js';
import { answerOf, failureOf, statusOf } from '../kit/sdk.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';
import { startFixture } from '../kit/server.js';

// The queue service and queues with the official Node client. Messages:
// storage-queue-messages.test.ts.

const records: RequestRecord[] = [];
const observers = [(record: RequestRecord) => void records.push(record)];
const { server } = await startFixture({ observers }, 'lmdb');
const options = { retryOptions: { maxTries: 1 } };
const service = QueueServiceClient.fromConnectionString(server.connectionString(), options);
let queueCount = 0;

function freshQueue(): QueueClient {
  queueCount += 1;
  return service.getQueueClient(`sdk-${queueCount}`);
}

async function newQueue(): Promise<QueueClient> {
  const client = freshQueue();
  await client.create();
  return client;
}

async function namesOf(prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of service.listQueues({ prefix })) names.push(name);
  return names;
}

describe('@azure/storage-queue: queues', () => {
  it('creates and creates again with 201 and 204', async () => {
    const client = freshQueue();
    const created = await client.create({ metadata: { colour: 'blue' } });
    assert.equal(statusOf(created), 201);
    assert.match(created.requestId ?? '', /^[0-9a-f-]{36}$/);
    assert.match(created.version ?? '', /^20\d\d-\d\d-\d\d$/);
    assert.ok(created.date instanceof Date);
    assert.match(created.clientRequestId ?? '', /^[0-9a-f-]{36}$/);
    const again = await client.create({ metadata: { colour: 'blue' } });
    assert.equal(statusOf(again), 204);
    assert.equal(
      await answerOf(client.create({ metadata: { colour: 'red' } })),
      '409 QueueAlreadyExists',
    );
    assert.equal(await answerOf(client.create()), '409 QueueAlreadyExists');
  });

  it('creates if there is none', async () => {
    const client = freshQueue();
    assert.equal((await client.createIfNotExists()).succeeded, true);
    assert.equal((await client.createIfNotExists()).succeeded, false);
    const other = { metadata: { some: 'thing' } };
    const existing = await client.createIfNotExists(other);
    assert.equal(existing.succeeded, false);
    assert.equal(existing.errorCode, 'QueueAlreadyExists');
    assert.deepEqual((await client.getProperties()).metadata, {});
  });

  it('deletes, and deletes if there is one', async () => {
    const client = await newQueue();
    assert.equal(statusOf(await client.delete()), 204);
    assert.equal(await answerOf(client.delete()), '404 QueueNotFound');
    const missing = await client.deleteIfExists();
    assert.equal(missing.succeeded, false);
    assert.equal(missing.errorCode, 'QueueNotFound');
    await client.create();
    assert.equal((await client.deleteIfExists()).succeeded, true);
    assert.equal(await client.exists(), false);
  });

  it('tells whether a queue exists', async () => {
    const client = freshQueue();
    assert.equal(await client.exists(), false);
    await client.create();
    assert.equal(await client.exists(), true);
  });

  it('creates and deletes through the service client', async () => {
    await service.createQueue('by-service', { metadata: { a: '1' } });
    assert.deepEqual(await namesOf('by-service'), ['by-service']);
    await service.deleteQueue('by-service');
    assert.deepEqual(await namesOf('by-service'), []);
  });

  it('sets, replaces and takes away metadata', async () => {
    const client = await newQueue();
    const metadataOf = async () => (await client.getProperties()).metadata;
    await client.setMetadata({ keya: 'vala', keyb: 'b b' });
    assert.deepEqual(await metadataOf(), { keya: 'vala', keyb: 'b b' });
    await client.setMetadata({ keyc: 'c' });
    assert.deepEqual(await metadataOf(), { keyc: 'c' });
    await client.setMetadata();
    assert.deepEqual(await metadataOf(), {});
  });

  it('tells every operation on a queue that is not there', async () => {
    const client = freshQueue();
    const id = '5974b586-0df3-4e2d-ad0c-18e3892bfca2';
    const other = await newQueue();
    const { popReceipt } = await other.sendMessage('x');
    for (const work of [
      () => client.getProperties(),
      () => client.setMetadata({ a: '1' }),
      () => client.getAccessPolicy(),
      () => client.setAccessPolicy([]),
      () => client.sendMessage('x'),
      () => client.receiveMessages(),
      () => client.peekMessages(),
      () => client.updateMessage(id, popReceipt, 'x', 0),
      () => client.deleteMessage(id, popReceipt),
      () => client.clearMessages(),
      () => client.delete(),
    ]) {
      assert.equal(await answerOf(work()), '404 QueueNotFound', work.toString());
    }
  });
});

describe('@azure/storage-queue: listing', () => {
  it('lists by prefix, in order, with metadata when asked', async () => {
    for (const letter of ['c', 'a', 'b']) {
      await service.createQueue(`listed-${letter}`, { metadata: { letter } });
    }
    await service.createQueue('listless');
    const plain: object[] = [];
    for await (const queue of service.listQueues({ prefix: 'listed-' })) plain.push(queue);
    assert.deepEqual(
      plain,
      ['a', 'b', 'c'].map((letter) => ({ name: `listed-${letter}`, metadata: undefined })),
    );
    const found: Record<string, string>[] = [];
    for await (const { name, metadata } of service.listQueues({
      prefix: 'listed-',
      includeMetadata: true,
    })) {
      found.push({ name, letter: metadata?.['letter'] ?? '' });
    }
    assert.deepEqual(
      found,
      ['a', 'b', 'c'].map((letter) => ({ name: `listed-${letter}`, letter })),
    );
    assert.deepEqual(await namesOf('listed-x'), []);
  });

  it('gives pages and goes on from a kept token', async () => {
    const names = Array.from({ length: 7 }, (_, index) => `paged-${index}`);
    for (const name of names) await service.createQueue(name);
    const pages: string[][] = [];
    const tokens: (string | undefined)[] = [];
    const query = { prefix: 'paged-' };
    for await (const page of service.listQueues(query).byPage({ maxPageSize: 3 })) {
      assert.equal(page.maxPageSize, 3);
      assert.equal(page.prefix, 'paged-');
      assert.equal(page.serviceEndpoint, `${server.queueEndpoint}/`);
      pages.push((page.queueItems ?? []).map(({ name }) => name));
      tokens.push(page.continuationToken);
    }
    assert.deepEqual(pages, [names.slice(0, 3), names.slice(3, 6), names.slice(6)]);
    assert.equal(tokens.at(-1), '');
    const [continuationToken] = tokens;
    assert.ok(continuationToken !== undefined && continuationToken !== '');
    const rest = service.listQueues(query).byPage({ continuationToken, maxPageSize: 10 });
    const { value } = await rest.next();
    assert.deepEqual(
      value?.queueItems?.map(({ name }: { name: string }) => name),
      names.slice(3),
    );
    assert.equal(value?.marker, continuationToken);
  });
});

describe('@azure/storage-queue: access policies', () => {
  it('gives back what was set', async () => {
    const client = await newQueue();
    const policies: SignedIdentifier[] = [
      {
        id: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
        accessPolicy: {
          startsOn: new Date('2017-12-31T11:22:33.456Z'),
          expiresOn: new Date('2018-12-31T11:22:33.000Z'),
          permissions: new QueueSASPermissions().toString(),
        },
      },
      {
        id: 'two',
        accessPolicy: { expiresOn: new Date('2030-01-01T00:00:00Z'), permissions: 'raup' },
      },
      { id: 'three', accessPolicy: { permissions: 'p' } },
    ];
    await client.setAccessPolicy(policies);
    const { signedIdentifiers } = await client.getAccessPolicy();
    assert.deepEqual(
      signedIdentifiers.map(({ id }) => id),
      policies.map(({ id }) => id),
    );
    const [first, second, third] = signedIdentifiers;
    assert.deepEqual(first?.accessPolicy.startsOn, new Date('2017-12-31T11:22:33.456Z'));
    assert.deepEqual(first?.accessPolicy.expiresOn, new Date('2018-12-31T11:22:33Z'));
    assert.equal(second?.accessPolicy.startsOn, undefined);
    assert.equal(second?.accessPolicy.permissions, 'raup');
    assert.equal(third?.accessPolicy.expiresOn, undefined);
    await client.setAccessPolicy();
    assert.deepEqual((await client.getAccessPolicy()).signedIdentifiers, []);
  });
});

describe('@azure/storage-queue: the service', () => {
  it('sets properties and keeps what is left out', async () => {
    const before = await service.getProperties();
    assert.ok(before.queueAnalyticsLogging !== undefined);
    assert.ok(before.hourMetrics !== undefined && before.minuteMetrics !== undefined);
    const changed = {
      queueAnalyticsLogging: {
        deleteProperty: true,
        read: true,
        write: false,
        version: '1.0',
        retentionPolicy: { days: 5, enabled: true },
      },
      minuteMetrics: {
        enabled: true,
        includeAPIs: true,
        retentionPolicy: { days: 4, enabled: true },
        version: '1.0',
      },
      cors: [
        {
          allowedHeaders: '*',
          allowedMethods: 'GET,PUT',
          allowedOrigins: 'http://a.example,http://b.example',
          exposedHeaders: 'x-ms-meta-data*',
          maxAgeInSeconds: 8888,
        },
      ],
    };
    assert.equal(statusOf(await service.setProperties(changed)), 202);
    const after = await service.getProperties();
    assert.deepEqual(after.queueAnalyticsLogging, changed.queueAnalyticsLogging);
    assert.deepEqual(after.minuteMetrics, changed.minuteMetrics);
    assert.deepEqual(after.cors, changed.cors);
    assert.deepEqual(after.hourMetrics, before.hourMetrics);
    await service.setProperties({ cors: [] });
    const cleared = await service.getProperties();
    assert.deepEqual(cleared.cors ?? [], []);
    assert.deepEqual(cleared.minuteMetrics, changed.minuteMetrics);
  });

  it('tells its state on the secondary endpoint, and only there', async () => {
    const credential = new StorageSharedKeyCredential(developmentAccount, developmentKey);
    const url = `${server.queueEndpoint}-secondary`;
    const secondary = new QueueServiceClient(url, credential, options);
    const { geoReplication } = await secondary.getStatistics();
    assert.equal(geoReplication?.status, 'live');
    assert.ok(geoReplication?.lastSyncOn instanceof Date);
    const failure = await failureOf(service.getStatistics());
    assert.equal(failure.statusCode, 400);
    assert.equal(failure.code, 'InvalidQueryParameterValue');
  });
});

describe('@azure/storage-queue: credentials', () => {
  const credential = new StorageSharedKeyCredential(developmentAccount, developmentKey);

  it('works with a key, an endpoint with and without a slash, and a whole queue URL', async () => {
    const { queueEndpoint } = server;
    for (const url of [queueEndpoint, `${queueEndpoint}/`]) {
      const client = new QueueServiceClient(url, credential, options);
      assert.equal(statusOf(await client.getProperties()), 200);
    }
    const client = new QueueClient(`${queueEndpoint}/by-url`, credential, options);
    assert.equal(client.name, 'by-url');
    await client.create();
    await client.sendMessage('x');
    assert.equal((await client.getProperties()).approximateMessagesCount, 1);
  });

  it('works from a connection string of a queue', async () => {
    const client = new QueueClient(server.connectionString(), 'by-string', options);
    await client.create();
    assert.equal(client.accountName, developmentAccount);
    assert.equal(client.url, `${server.queueEndpoint}/by-string`);
  });

  it('works with UseDevelopmentStorage=true where a server has its usual port', () => {
    const { url } = new QueueClient('UseDevelopmentStorage=true', 'default', options);
    const usual = `http://127.0.0.1:${queueService.emulatorPort}/${developmentAccount}`;
    assert.equal(url, `${usual}/default`);
    assert.equal(server.queueEndpoint.replace(/:\d+/, `:${queueService.emulatorPort}`), usual);
  });

  it('is refused without credentials: 401', async () => {
    const client = new QueueServiceClient(server.queueEndpoint, new AnonymousCredential(), options);
    const failure = await failureOf(client.getProperties());
    assert.equal(failure.statusCode, 401);
    assert.equal(failure.code, 'NoAuthenticationInformation');
    assert.match(failure.response?.headers.get('www-authenticate') ?? '', /^Bearer /);
  });

  it('is refused with a wrong key: 403', async () => {
    const key = Buffer.from('no key of this account').toString('base64');
    const wrong = new StorageSharedKeyCredential(developmentAccount, key);
    const client = new QueueServiceClient(server.queueEndpoint, wrong, options);
    const failure = await failureOf(client.createQueue('never-made'));
    assert.equal(failure.statusCode, 403);
    assert.equal(failure.code, 'AuthenticationFailed');
    assert.deepEqual(await namesOf('never-made'), []);
  });

  it('works by a shared access signature of a queue, on this queue alone', async () => {
    const client = await newQueue();
    const other = await newQueue();
    await client.sendMessage('x');
    const url = client.generateSasUrl({
      expiresOn: new Date(Date.now() + 3_600_000),
      permissions: QueueSASPermissions.parse('ra'),
    });
    const guest = new QueueClient(url, new AnonymousCredential(), options);
    await guest.sendMessage('y');
    const { peekedMessageItems } = await guest.peekMessages({ numberOfMessages: 32 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText, dequeueCount }) => [messageText, dequeueCount]),
      [
        ['x', 0],
        ['y', 0],
      ],
    );
    assert.equal(await answerOf(guest.receiveMessages()), '403 AuthorizationPermissionMismatch');
    assert.equal(await answerOf(guest.delete()), '403 AuthorizationFailure');
    const elsewhere = new QueueClient(
      url.replace(client.name, other.name),
      new AnonymousCredential(),
      options,
    );
    assert.equal(await answerOf(elsewhere.peekMessages()), '403 AuthenticationFailed');
  });

  it('works by a shared access signature of the account', async () => {
    const url = service.generateAccountSasUrl(
      new Date(Date.now() + 3_600_000),
      AccountSASPermissions.parse('rlc'),
      'sc',
    );
    const guest = new QueueServiceClient(url, new AnonymousCredential(), options);
    await guest.getProperties();
    await guest.createQueue('made-by-a-guest');
    assert.deepEqual(await namesOf('made-by-a-guest'), ['made-by-a-guest']);
    assert.equal((await guest.listQueues().next()).done, false);
    const refused = guest.getQueueClient('made-by-a-guest').sendMessage('x');
    assert.equal(await answerOf(refused), '403 AuthorizationResourceTypeMismatch');
    const refusedDelete = guest.deleteQueue('made-by-a-guest');
    assert.equal(await answerOf(refusedDelete), '403 AuthorizationPermissionMismatch');
  });

  it('keeps policies, by which signatures are given and taken back', async () => {
    const client = await newQueue();
    const expiresOn = new Date(Date.now() + 3_600_000);
    await client.setAccessPolicy([
      { id: 'readers', accessPolicy: { permissions: 'r', expiresOn } },
    ]);
    const { signedIdentifiers } = await client.getAccessPolicy();
    assert.deepEqual(
      signedIdentifiers.map(({ id, accessPolicy }) => [id, accessPolicy.permissions]),
      [['readers', 'r']],
    );
    const url = client.generateSasUrl({ identifier: 'readers' });
    const guest = new QueueClient(url, new AnonymousCredential(), options);
    await guest.peekMessages();
    await client.setAccessPolicy([]);
    assert.equal(await answerOf(guest.peekMessages()), '403 AuthenticationFailed');
  });

  it('works with a pipeline of its own that keeps no connections', async () => {
    const pipeline = newPipeline(credential, {
      retryOptions: { maxTries: 4 },
      userAgentOptions: { userAgentPrefix: 'AdvancedSample V1.0.0' },
      keepAliveOptions: { enable: false },
    });
    const client = new QueueServiceClient(server.queueEndpoint, pipeline);
    const queue = client.getQueueClient('with-pipeline');
    await queue.create();
    for (const text of ['1', '2', '3']) await queue.sendMessage(text);
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 5 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText }) => messageText),
      ['1', '2', '3'],
    );
    const { receivedMessageItems } = await queue.receiveMessages();
    for (const { messageId, popReceipt } of receivedMessageItems) {
      assert.equal(statusOf(await queue.deleteMessage(messageId, popReceipt)), 204);
    }
    assert.equal(statusOf(await queue.delete()), 204);
  });
});

describe('@azure/storage-queue: errors', () => {
  it('have the code, the text and the extra elements in details', async () => {
    const client = await newQueue();
    const failure = await failureOf(client.receiveMessages({ numberOfMessages: 33 }));
    assert.equal(failure.name, 'RestError');
    assert.equal(failure.statusCode, 400);
    assert.equal(failure.code, 'OutOfRangeQueryParameterValue');
    const details = failure.details as Readonly<Record<string, string>>;
    assert.equal(details['code'], 'OutOfRangeQueryParameterValue');
    assert.equal(details['errorCode'], 'OutOfRangeQueryParameterValue');
    assert.equal(details['QueryParameterName'], 'numofmessages');
    assert.equal(details['QueryParameterValue'], '33');
    assert.equal(details['MinimumAllowed'], '1');
    assert.equal(details['MaximumAllowed'], '32');
    const requestId = details['x-ms-request-id'] ?? '';
    assert.match(
      failure.message,
      new RegExp(`^One of the .+\nRequestId:${requestId}\nTime:\\d{4}-.+Z$`),
    );
  });

  it('are not retried when they are the caller’s', async () => {
    const patient = new QueueClient(server.connectionString(), 'never-there', {
      retryOptions: { maxTries: 4 },
    });
    const before = records.length;
    assert.equal(await answerOf(patient.getProperties()), '404 QueueNotFound');
    assert.equal(records.length, before + 1);
  });
});

describe('@azure/storage-queue: retries', () => {
  it('repeat a request that the server never answered, on the server that comes after', async () => {
    const first = await createServer({ inMemory: true });
    const port = first.queuePort;
    const patient = new QueueServiceClient(
      first.queueEndpoint,
      new StorageSharedKeyCredential(developmentAccount, developmentKey),
      { retryOptions: { maxTries: 20, retryDelayInMs: 20, maxRetryDelayInMs: 100 } },
    );
    await patient.createQueue('before');
    await first.close();
    const pending = patient.createQueue('after');
    await using second = await createServer({ inMemory: true, queuePort: port });
    assert.equal(statusOf(await pending), 201);
    assert.equal(second.queuePort, port);
  });
});
