import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  TableClient,
  TableServiceClient,
} from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { systemTimers } from '../../../src/base/async/timers.js';
import { systemClock } from '../../../src/base/clock.js';
import { forwardClock } from '../../../src/base/forward-clock.js';
import { systemRandomness } from '../../../src/base/randomness.js';
import { openMemoryContent } from '../../../src/content/memory/content.js';
import { openLmdbStore } from '../../../src/engines/lmdb/store.js';
import { openMemoryStore } from '../../../src/engines/memory/store.js';
import { AnalyticsObserver } from '../../../src/http/analytics/analytics-observer.js';
import type { LoggingProperties } from '../../../src/model/resources/service-properties.js';
import { ServicePropertiesService } from '../../../src/services/accounts/service-properties.js';
import { logFolder, logName } from '../../../src/services/analytics/log-name.js';
import { LogWriter } from '../../../src/services/analytics/log-writer.js';
import { RequestMetrics } from '../../../src/services/analytics/request-metrics.js';
import { BlobService } from '../../../src/services/blobs/blob-service.js';
import { parseLog, type LogFields } from '../../support/log-lines.js';
import { memoryLogs } from '../../support/memory-logs.js';
import { startDurableServer, startServer } from '../../support/start-server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';

// Lines of requests over HTTP, as Storage Analytics logs them (blob-service §21).

const insecure = { allowInsecureConnection: true };
const credential = new AzureNamedKeyCredential(developmentAccount, developmentKey);
const everything: LoggingProperties = {
  version: '2.0',
  read: true,
  write: true,
  delete: true,
  retention: { enabled: false },
};

/** A server whose requests are logged into memory, with these settings. */
async function startLogged(logging: LoggingProperties = everything) {
  const clock = systemClock;
  const store = await openMemoryStore({ clock });
  const properties = new ServicePropertiesService(store);
  for (const service of ['table', 'queue'] as const) {
    await properties.set(service, developmentAccount, { logging });
  }
  const sink = memoryLogs();
  const logs = new LogWriter({ logs: sink });
  const services = { properties };
  const observer = new AnalyticsObserver({ metrics: new RequestMetrics(), logs, services, clock });
  const started = await startServer({ observers: [observer.observe] });
  const { server } = started;
  return {
    ...started,
    table: (name: string) => new TableClient(server.tableEndpoint, name, credential, insecure),
    service: new TableServiceClient(server.tableEndpoint, credential, insecure),
    queues: QueueServiceClient.fromConnectionString(server.connectionString()),
    /** The lines of so many requests. */
    async lines(count: number): Promise<LogFields[]> {
      await started.recorded(count);
      observer.flush();
      await logs.write();
      return [...sink.logs.values()].flatMap(({ text }) => parseLog(text));
    },
    async [Symbol.asyncDispose]() {
      await started[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

const summary = (lines: readonly LogFields[]) =>
  lines.map((line) => `${line['operation']} ${line['status']} ${line['authentication']}`);

const logging = {
  version: '1.0',
  read: true,
  write: true,
  deleteProperty: true,
  retentionPolicy: { enabled: false },
};

describe('the container of logs', () => {
  it('is made when logging is switched on, and clients can only read it', async () => {
    await using started = await startServer();
    const blobs = BlobServiceClient.fromConnectionString(started.server.connectionString());
    const container = blobs.getContainerClient('$logs');
    await assert.rejects(container.getProperties(), { statusCode: 404 });
    await assert.rejects(container.create(), { statusCode: 403 });
    await blobs.setProperties({ blobAnalyticsLogging: logging });
    await container.getProperties();
    await assert.rejects(container.setMetadata({ mine: 'yes' }), { statusCode: 403 });
    await assert.rejects(container.setAccessPolicy('blob'), { statusCode: 403 });
    await assert.rejects(container.getBlobLeaseClient().acquireLease(60), { statusCode: 403 });
    await assert.rejects(container.delete(), { statusCode: 403 });
    await blobs.createContainer('mine');
    const names: string[] = [];
    for await (const { name } of blobs.listContainers()) names.push(name);
    assert.deepEqual(names, ['mine']);
  });

  it('has the requests of a server that was closed', async () => {
    const started = await startDurableServer({ journal: 'off' });
    const { server, location = '' } = started;
    const queues = QueueServiceClient.fromConnectionString(server.connectionString());
    await queues.setProperties({ queueAnalyticsLogging: logging });
    await started.recorded(1);
    await server.close();
    // Another start has its first request logged.
    const again = await startServer({ location, journal: 'off' });
    const others = QueueServiceClient.fromConnectionString(again.server.connectionString());
    await others.createQueue('jobs');
    await others.deleteQueue('jobs');
    await again.recorded(2);
    await again.server.close();

    const clock = forwardClock(systemClock);
    const store = await openLmdbStore({ directory: location, clock, durability: 'relaxed' });
    const blobs = new BlobService({
      store,
      clock,
      content: openMemoryContent(),
      randomness: systemRandomness,
      timers: systemTimers,
    });
    const ends = [...started.records, ...again.records].map(({ timeMicros, serverTimeMs }) =>
      Math.round(timeMicros + serverTimeMs * 1000),
    );
    const text = await logOf(blobs, ends);
    assert.deepEqual(
      parseLog(text).map(({ operation, service }) => `${service} ${operation}`),
      ['queue SetQueueServiceProperties', 'queue CreateQueue', 'queue DeleteQueue'],
    );
    await store.close();
    await started[Symbol.asyncDispose]();
  });
});

/** The text of all logs of queues. */
async function logOf(blobs: BlobService, micros: readonly number[]): Promise<string> {
  const names = new Set(micros.map((each) => logName(logFolder('queue', each), 0)));
  const pieces: Buffer[] = [];
  for (const blob of names) {
    const address = { account: developmentAccount, container: '$logs', blob };
    const { body } = await blobs.getBlob(address);
    for await (const piece of body) pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces).toString('utf8');
}

describe('the log of requests', () => {
  it('has what is known of a request of a table', async () => {
    await using fixture = await startLogged();
    await fixture.service.createTable('people');
    const entity = { partitionKey: 'p', rowKey: 'r', text: 'x'.repeat(100) };
    await fixture.table('people').createEntity(entity);
    await fixture.table('people').deleteEntity('p', 'r', { etag: '*' });
    const [, insert, remove] = await fixture.lines(3);
    const record = fixture.records[1];
    assert.ok(insert !== undefined && record !== undefined && remove !== undefined);
    assert.equal(insert['version'], '1.0');
    assert.equal(insert['operation'], 'InsertEntity');
    assert.equal(insert['status'], 'Success');
    assert.equal(insert['httpStatus'], '204');
    assert.equal(insert['requester'], developmentAccount);
    assert.equal(insert['owner'], developmentAccount);
    assert.equal(insert['service'], 'table');
    assert.equal(insert['url'], `${fixture.server.tableEndpoint}/people`);
    assert.equal(insert['objectKey'], `/${developmentAccount}/people`);
    assert.equal(insert['requestId'], record.requestId);
    assert.match(insert['client'] ?? '', /^127\.0\.0\.1:\d+$/);
    assert.equal(insert['protocolVersion'], '2019-02-02');
    assert.equal(Number(insert['requestBodyBytes']), record.bytesReceived);
    assert.equal(insert['contentLength'], insert['requestBodyBytes']);
    assert.ok(Number(insert['requestHeadBytes']) > 300);
    assert.ok(Number(insert['responseHeadBytes']) > 200);
    assert.match(insert['etag'] ?? '', /^W\/"datetime'.*'"$/);
    assert.match(insert['userAgent'] ?? '', /azsdk-js-data-tables/);
    assert.equal(insert['clientRequestId'], record.clientRequestId);
    assert.equal(Date.parse(insert['startTime'] ?? ''), Math.floor(record.timeMicros / 1000));
    assert.equal(remove['conditions'], 'If-Match=*');
  });

  it('tells callers and outcomes apart, and never shows a signature', async () => {
    await using fixture = await startLogged();
    const { service, server, table } = fixture;
    await service.createTable('people');
    const sas = generateAccountSas(credential, { permissions: { query: true } });
    const bySas = (text: string) =>
      new TableClient(server.tableEndpoint, 'people', new AzureSASCredential(text), insecure);
    await assert.rejects(bySas(sas).getEntity('p', 'r'));
    await assert.rejects(bySas(sas).deleteEntity('p', 'r'));
    await assert.rejects(bySas(sas.replace(/sig=[^&]+/, 'sig=AAAA')).getEntity('p', 'r'));
    await assert.rejects(table('people').getEntity('p', 'r'));
    const options = { method: 'OPTIONS', headers: { Origin: 'http://a.example' } };
    await fetch(`${server.tableEndpoint}/people`, options);
    await fetch(`${server.tableEndpoint}/people()`);
    const lines = await fixture.lines(7);
    assert.deepEqual(summary(lines), [
      'CreateTable Success authenticated',
      'QueryEntity ResourceNotFound sas',
      'DeleteEntity SASAuthorizationError sas',
      'QueryEntity SASAuthorizationError sas',
      'QueryEntity ResourceNotFound authenticated',
    ]);
    assert.equal(lines[1]?.['requester'], '');
    assert.match(lines[1]?.['url'] ?? '', new RegExp(`[?&]sig=${'X'.repeat(5)}(&|$)`));
    const signature = /sig=([^&]+)/.exec(sas)?.[1] ?? '';
    assert.ok(!JSON.stringify(lines).includes(signature));
  });

  it('has only the classes of operations that are switched on', async () => {
    await using fixture = await startLogged({ ...everything, read: false, delete: false });
    const queue = fixture.queues.getQueueClient('jobs');
    await queue.create();
    await queue.sendMessage('one');
    await queue.receiveMessages();
    await queue.clearMessages();
    const lines = await fixture.lines(4);
    assert.deepEqual(
      lines.map(({ operation }) => operation),
      ['CreateQueue', 'PutMessage'],
    );
    assert.equal(lines[0]?.['version'], '2.0');
    assert.equal(lines[0]['objectKey'], `/${developmentAccount}/jobs`);
  });

  it('keeps its form whatever a client sends', async () => {
    await using fixture = await startLogged();
    const headers = {
      'User-Agent': `a"b;c<d>&e`,
      Referer: 'http://x/?";',
      'x-ms-version': '2019-02-02',
      'x-ms-client-request-id': '";"',
      Authorization: `SharedKey ${developmentAccount}:AAAA`,
    };
    await fetch(`${fixture.server.tableEndpoint}/%22%3B%0A()`, { headers });
    const [line] = await fixture.lines(1);
    assert.equal(line?.['userAgent'], headers['User-Agent']);
    assert.equal(line['referrer'], headers.Referer);
    assert.equal(line['clientRequestId'], '";"');
    assert.equal(line['status'], 'AuthorizationError');
  });
});
