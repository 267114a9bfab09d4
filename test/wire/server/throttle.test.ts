import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableClient, type TransactionAction } from '@azure/data-tables';
import {
  createServer,
  manualClock,
  type ServerOptions,
  type ThrottleSetting,
} from '../../../src/app/index.js';
import { startServer } from '../../support/start-server.js';
import { insertOperation, sendChangeset } from '../kit/batch.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { WireClient } from '../kit/client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';
import { costly } from '../../support/run-length.js';

/** A throttled server with a clock that stands still until a test advances it, and its clients. */
async function throttled(throttle: ThrottleSetting, options: ServerOptions = {}) {
  const clock = manualClock(Date.UTC(2024, 2, 1, 12) * 1000);
  const started = await startServer({ clock, checkClockSkew: false, throttle, ...options });
  const client = WireClient.of(started.server);
  const queues = QueueWireClient.of(started.server);
  return {
    ...started,
    client,
    queues,
    wait: (ms: number) => clock.advanceMicros(ms * 1000),
    async [Symbol.asyncDispose]() {
      client.close();
      queues.close();
      await started[Symbol.asyncDispose]();
      assert.deepEqual(started.errors, []);
    },
  };
}

type Send = (index: number) => Promise<WireResponse>;

let sent = 0;

/** The number of requests that are served; the others must be refused as by a busy server. */
async function served(count: number, send: Send): Promise<number> {
  let passed = 0;
  for (let index = 0; index < count; index += 1) {
    sent += 1;
    const response = await send(sent);
    if (response.status < 400) passed += 1;
    else assert.equal(response.status, 503, response.text);
  }
  return passed;
}

const entity = (partitionKey: string, index: number) => ({
  PartitionKey: partitionKey,
  RowKey: `r${index}`,
});

describe('a throttled server', () => {
  it('lets a burst of a second and then the rate of a partition through', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 40 });
    const { client, wait } = fixture;
    const table = await client.newTable();
    const insert = (partition: string) => (index: number) =>
      client.insert(table, entity(partition, index));
    assert.equal(await served(60, insert('hot')), 40);
    assert.equal(await served(60, insert('other')), 40);
    wait(250);
    assert.equal(await served(20, insert('hot')), 10);
    let steady = 0;
    for (let step = 0; step < 20; step += 1) {
      wait(50);
      steady += await served(3, insert('hot'));
    }
    assert.equal(steady, 40);
    assert.equal(fixture.server.throttle.refused, 20 + 20 + 10 + 20);
  });

  it('says when to try again, in the shape of the service', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 0.25 });
    const { client, wait } = fixture;
    const table = await client.newTable();
    await client.put(table, entity('p', 1));
    const refused = await client.insert(table, entity('p', 2));
    assert.equal(refused.status, 503);
    assert.equal(refused.header('retry-after'), '4');
    assert.equal(refused.header('x-ms-error-code'), 'ServerBusy');
    assert.match(refused.text, /The server is currently unable to receive requests/);
    assert.equal((await client.get(table, 'p', '2')).status, 503);
    wait(3_999);
    assert.equal((await client.insert(table, entity('p', 3))).header('retry-after'), '1');
    wait(1);
    assert.equal((await client.insert(table, entity('p', 4))).status, 201);
  });

  it('counts the operations of a transaction, and lets it through as a whole', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 10 });
    const { client } = fixture;
    const table = await client.newTable();
    const group = (from: number) =>
      sendChangeset(
        client,
        [0, 1, 2, 3].map((offset) => insertOperation(table, entity('p', from + offset))),
      );
    assert.equal((await group(0)).status, 202);
    assert.equal((await group(10)).status, 202);
    assert.equal((await group(20)).status, 503);
    // Two tokens are left, for two single inserts.
    assert.equal(await served(4, (index) => client.insert(table, entity('p', 100 + index))), 2);
    assert.equal((await client.rowKeys(table)).length, 10);
  });

  it('counts the rows that a query returns, and is paid back before the next one', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 10 });
    const { client, wait } = fixture;
    const table = await client.newTable();
    for (let index = 0; index < 30; index += 1) {
      await client.put(table, entity('p', index));
      wait(1000);
    }
    const query = () => client.query(table, { filter: "PartitionKey eq 'p'" });
    assert.equal((await query()).items.length, 30);
    assert.equal((await query()).status, 503);
    // A query over all partitions does not count for a single partition.
    assert.equal((await client.query(table, { top: 1 })).status, 200);
    wait(2100);
    assert.equal((await query()).status, 503);
    wait(200);
    assert.equal((await query()).status, 200);
  });

  it('counts nothing of a partition for writes that fail', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 5 });
    const { client } = fixture;
    const table = await client.newTable();
    await client.put(table, entity('p', 1));
    for (let index = 0; index < 10; index += 1) {
      assert.equal((await client.insert(table, entity('p', 1))).status, 409);
    }
    assert.equal(await served(10, (index) => client.insert(table, entity('p', 100 + index))), 4);
  });

  it('does not let requests that run side by side exceed a limit together', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 30 });
    const table = await fixture.client.newTable();
    const clients = Array.from({ length: 20 }, () => WireClient.of(fixture.server));
    const counts = await Promise.all(
      clients.map((client) => served(5, (index) => client.insert(table, entity('p', index)))),
    );
    for (const client of clients) client.close();
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      30,
    );
  });

  it('counts the requests of an account, whatever the service', async () => {
    const key = 'c2VjcmV0IGtleSBvZiB0aGUgb3RoZXIgYWNjb3VudA==';
    const accounts = [
      { name: developmentAccount, key: developmentKey },
      { name: 'other', key },
    ];
    const limits = {
      requestsPerSecondPerAccount: 10,
      accounts: { other: { requestsPerSecondPerAccount: 20 } },
    };
    await using fixture = await throttled(limits, { accounts });
    const { client, queues, wait } = fixture;
    const ask = () => client.send({ path: '/Tables' });
    const list = () => queues.send({ path: '/?comp=list' });
    assert.equal(await served(6, ask), 6);
    assert.equal(await served(6, list), 4);
    const second = new WireClient(fixture.server.tablePort, 'other', key);
    assert.equal(await served(30, () => second.send({ path: '/Tables' })), 20);
    second.close();
    wait(500);
    assert.equal(await served(10, list), 5);
  });

  it('counts the messages that go into a queue and come out of it', async () => {
    await using fixture = await throttled({ messagesPerSecondPerQueue: 10 });
    const { queues, wait } = fixture;
    const queue = await queues.newQueue();
    const body = '<QueueMessage><MessageText>hi</MessageText></QueueMessage>';
    const put = () => queues.send({ method: 'POST', path: `/${queue}/messages`, body });
    assert.equal(await served(15, put), 10);
    wait(1000);
    const get = () => queues.send({ path: `/${queue}/messages?numofmessages=8` });
    assert.equal((await get()).status, 200);
    assert.equal(await served(5, put), 2);
    const otherQueue = await queues.newQueue();
    assert.equal((await queues.send({ path: `/${otherQueue}?comp=metadata` })).status, 200);
  });

  it('counts a batch of blobs for each blob in it, and refuses it as a whole', async () => {
    await using fixture = await throttled({ requestsPerSecondPerBlob: 2 });
    const blobs = BlobWireClient.of(fixture.server);
    const container = await blobs.newContainer();
    const tier = (...names: string[]): Promise<WireResponse> => {
      const parts = names.map(
        (name) =>
          '--b\r\nContent-Type: application/http\r\n\r\n' +
          `PUT /${blobs.account}/${container}/${name}?comp=tier HTTP/1.1\r\n\r\n\r\n`,
      );
      const headers = { 'Content-Type': 'multipart/mixed; boundary=b' };
      const body = `${parts.join('')}--b--`;
      return blobs.send({ method: 'POST', path: '/?comp=batch', headers, body });
    };
    assert.equal((await tier('hot', 'warm')).status, 202);
    assert.equal((await tier('hot')).status, 202);
    assert.equal((await tier('warm', 'hot')).status, 503);
    assert.equal((await blobs.send({ path: `/${container}/hot` })).status, 503);
    assert.equal((await tier('warm')).status, 202, 'the refused batch cost it nothing');
    assert.equal((await tier('warm')).status, 503);
    assert.equal((await tier('cold')).status, 202);
    blobs.close();
  });

  it('counts a request for the blob that it names also when it fails', async () => {
    await using fixture = await throttled({ requestsPerSecondPerBlob: 3 });
    const blobs = BlobWireClient.of(fixture.server);
    const container = await blobs.newContainer();
    const statuses: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      statuses.push((await blobs.send({ path: `/${container}/missing` })).status);
    }
    assert.deepEqual(statuses, [404, 404, 404, 503, 503]);
    blobs.close();
  });

  it('is no more in the way once its limits are off', async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 1 });
    const { client, server } = fixture;
    const table = await client.newTable();
    const insert: Send = (index) => client.insert(table, entity('p', index));
    assert.equal(await served(5, insert), 1);
    server.throttle.set('off');
    assert.equal(await served(5, insert), 5);
    await server.reload({ throttle: { entitiesPerSecondPerPartition: 2 } });
    assert.equal(await served(5, insert), 2);
    assert.deepEqual(server.throttle.setting, { entitiesPerSecondPerPartition: 2 });
    await assert.rejects(
      server.reload({ throttle: { entitiesPerSecond: 2 } as object }),
      /throttle/,
    );
    assert.deepEqual(server.throttle.setting, { entitiesPerSecondPerPartition: 2 });
  });

  it('is got through by the official client, which waits as it is told', costly(), async () => {
    await using fixture = await throttled({ entitiesPerSecondPerPartition: 100 });
    const people = TableClient.fromConnectionString(fixture.server.connectionString(), 'people', {
      allowInsecureConnection: true,
    });
    await people.createTable();
    const group = (from: number): TransactionAction[] =>
      Array.from({ length: 75 }, (_, index) => [
        'create',
        { partitionKey: 'p', rowKey: `${from + index}` },
      ]);
    await people.submitTransaction(group(0));
    const second = people.submitTransaction(group(1000));
    await Promise.race([second, fixture.recorded(3)]);
    fixture.wait(1000);
    await second;
    const statuses = fixture.records.map(({ status }) => status);
    assert.deepEqual(statuses, [201, 202, 503, 202]);
  });
});

describe('limits that cannot be', () => {
  const refused: readonly [what: string, throttle: unknown, message: RegExp][] = [
    ['an unknown name', 'aws', /throttle must be azure, off or an object/],
    ['an unknown member', { perSecond: 1 }, /throttle has no member 'perSecond'/],
    ['nothing a second', { requestsPerSecondPerAccount: 0 }, /must be a number from 0\.001/],
    [
      'a text',
      { requestsPerSecondPerAccount: '5' },
      /requestsPerSecondPerAccount must be a number/,
    ],
    ['a list of accounts', { accounts: [] }, /throttle\.accounts must be an object/],
    ['an account with another member', { accounts: { a: { x: 1 } } }, /accounts\.a has no member/],
  ];
  for (const [what, throttle, message] of refused) {
    it(`are refused: ${what}`, async () => {
      const options = { inMemory: true, throttle } as ServerOptions;
      await assert.rejects(createServer(options), { name: 'ServerOptionsError', message });
    });
  }
});
