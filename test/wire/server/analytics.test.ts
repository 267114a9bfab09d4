import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables';
import {
  BlobSASPermissions,
  BlobServiceClient,
  type ContainerClient,
  StorageSharedKeyCredential,
} from '@azure/storage-blob';
import { QueueServiceClient, StorageSharedKeyCredential as QueueKey } from '@azure/storage-queue';
import { manualClock } from '../../../src/app/index.js';
import { systemTimers } from '../../../src/base/async/timers.js';
import type { RequestRecord } from '../../../src/http/exchange/record.js';
import { startCountingProxy, type CountingProxy } from '../../support/counting-proxy.js';
import { parseLog, type LogFields } from '../../support/log-lines.js';
import { manualTimers } from '../../support/manual-timers.js';
import { testIssuer } from '../../support/oauth-issuer.js';
import { startServer } from '../../support/start-server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';

// What official clients send to the three services, told four times over: by the bytes on the wire,
// the records of requests, the lines of logs and the sums of metrics (blob-service §21, §22). All
// four must agree, and logs and metrics are read as clients read them.

const services = ['Blob', 'Queue', 'Table'] as const;
type Service = (typeof services)[number];

const logged = {
  version: '2.0',
  read: true,
  write: true,
  retentionPolicy: { enabled: false },
};
const analytics = { ...logged, deleteProperty: true };
const metrics = {
  version: '1.0',
  enabled: true,
  includeAPIs: true,
  retentionPolicy: { enabled: false },
};
const begun = Date.UTC(2024, 2, 1, 12, 30) * 1000;
const contributor = { roles: ['Storage Blob Data Contributor'], oid: 'somebody' };

interface Row {
  readonly rowKey: string;
  readonly [name: string]: unknown;
}

/** What is known of the requests of one service. */
interface Told {
  readonly records: readonly RequestRecord[];
  readonly lines: readonly LogFields[];
  readonly hours: readonly Row[];
  readonly minutes: readonly Row[];
  readonly wire: Pick<CountingProxy, 'sent' | 'answered'>;
}

async function startAnalysed() {
  const issuer = await testIssuer({ nowSeconds: begun / 1_000_000 });
  const clock = manualClock(begun);
  const long = manualTimers();
  const timers: typeof long = {
    ...long,
    start: (delayMs, callback, argument) =>
      (delayMs < 1_000 ? systemTimers : long).start(delayMs, callback, argument),
  };
  const started = await startServer({
    clock,
    timers,
    checkClockSkew: false,
    oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
  });
  const { server } = started;
  const proxies = {
    Blob: await startCountingProxy(server.blobPort),
    Queue: await startCountingProxy(server.queuePort),
    Table: await startCountingProxy(server.tablePort),
  };
  const urls = (ofService: Service) => `${proxies[ofService].origin}/${developmentAccount}`;
  return { started, clock, timers, issuer, proxies, urls };
}

type World = Awaited<ReturnType<typeof startAnalysed>>;

const keys = [developmentAccount, developmentKey] as const;
const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

async function sendToBlobs({ urls, issuer }: World): Promise<void> {
  const credential = new StorageSharedKeyCredential(...keys);
  const options = { retryOptions: { maxTries: 1 } };
  const service = new BlobServiceClient(urls('Blob'), credential, options);
  await service.setProperties({
    blobAnalyticsLogging: analytics,
    hourMetrics: metrics,
    minuteMetrics: metrics,
  });
  const container = service.getContainerClient('things');
  await container.create({ access: 'blob' });
  const blob = container.getBlockBlobClient('dir/a b;"ü".bin');
  const content = Buffer.alloc(100_000, 7);
  const { etag } = await blob.upload(content, content.length);
  await blob.stageBlock('AAAA', content, content.length);
  await blob.commitBlockList(['AAAA']);
  // Without bytes: those of a body that is refused are not read.
  await assert.rejects(blob.upload('', 0, { conditions: { ifNoneMatch: '*' } }));
  assert.equal((await blob.downloadToBuffer(10, 1000)).length, 1000);
  for await (const piece of (await blob.download()).readableStreamBody ?? []) {
    assert.ok(piece.length > 0);
  }
  await assert.rejects(blob.download(0, undefined, { conditions: { ifMatch: etag ?? '' } }));
  const { etag: now } = await blob.getProperties();
  await assert.rejects(blob.download(0, undefined, { conditions: { ifNoneMatch: now ?? '' } }), {
    statusCode: 304,
  });
  const poller = await container.getBlobClient('copy').beginCopyFromURL(blob.url);
  await poller.pollUntilDone();
  await container.getBlobClient('sync').syncCopyFromURL(blob.url);
  const permissions = BlobSASPermissions.parse('r');
  const expiresOn = new Date('2099-01-01T00:00:00Z');
  const sas = new URL(await blob.generateSasUrl({ permissions, expiresOn }));
  for (const url of [sas, new URL(blob.url)]) {
    const answer = await fetch(url);
    assert.equal(answer.status, 200);
    assert.equal((await answer.arrayBuffer()).byteLength, content.length);
  }
  assert.equal((await fetch(sas, { method: 'DELETE' })).status, 403);
  const Authorization = `Bearer ${await issuer.token(contributor)}`;
  const headers = { Authorization, 'x-ms-version': '2021-12-02', Range: 'bytes=5-9' };
  const answer = await fetch(blob.url, { headers });
  assert.deepEqual([answer.status, (await answer.arrayBuffer()).byteLength], [206, 5]);
  const batch = service.getBlobBatchClient();
  const both = [container.getBlobClient('copy'), container.getBlobClient('missing')];
  assert.equal((await batch.deleteBlobs(both)).subResponsesFailedCount, 1);
  for await (const { name } of container.listBlobsFlat()) assert.ok(name !== '');
}

async function sendToQueues({ urls }: World): Promise<void> {
  const service = new QueueServiceClient(urls('Queue'), new QueueKey(...keys), {
    retryOptions: { maxTries: 1 },
  });
  await service.setProperties({
    queueAnalyticsLogging: analytics,
    hourMetrics: metrics,
    minuteMetrics: metrics,
  });
  const queue = service.getQueueClient('jobs');
  await queue.create();
  for (const text of ['one', 'zwei & ü', 'x'.repeat(40_000)]) await queue.sendMessage(text);
  const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 2 });
  for (const { messageId, popReceipt } of receivedMessageItems) {
    await queue.deleteMessage(messageId, popReceipt);
  }
  await queue.peekMessages();
  await assert.rejects(service.getQueueClient('missing').sendMessage('x'));
}

async function sendToTables({ urls }: World): Promise<void> {
  const credential = new AzureNamedKeyCredential(...keys);
  const service = new TableServiceClient(urls('Table'), credential, insecure);
  await service.setProperties({
    // Logs of tables have no other version (blob-service §21.1).
    logging: { ...logged, version: '1.0', delete: true },
    hourMetrics: metrics,
    minuteMetrics: metrics,
  });
  await service.createTable('people');
  const people = new TableClient(urls('Table'), 'people', credential, insecure);
  const entity = (rowKey: string) => ({ partitionKey: 'p', rowKey, text: 'ü'.repeat(500) });
  await people.createEntity(entity('1'));
  await people.submitTransaction([
    ['create', entity('2')],
    ['upsert', entity('3')],
  ]);
  await assert.rejects(people.createEntity(entity('1')));
  for await (const row of people.listEntities()) assert.ok(row.rowKey !== '');
}

/** Ends the minute, and reads what was written about it past the proxies. */
async function readAll(world: World): Promise<ReadonlyMap<Service, Told>> {
  const { started, clock, timers, proxies } = world;
  const { server } = started;
  const records = [...started.records];
  const wire = new Map(
    services.map((name) => {
      const { sent, answered } = proxies[name];
      return [name, { sent, answered }] as const;
    }),
  );
  clock.advanceMicros(60_000_000);
  timers.fire(60_000);
  for (let turn = 0; turn < 300; turn += 1) await new Promise(setImmediate);
  const blobs = BlobServiceClient.fromConnectionString(server.connectionString());
  const told = new Map<Service, Told>();
  for (const name of services) {
    told.set(name, {
      records: records.filter(({ service }) => service === name.toLowerCase()),
      lines: await linesOf(blobs.getContainerClient('$logs'), name),
      hours: await rowsOf(server.tableEndpoint, `$MetricsHourPrimaryTransactions${name}`),
      minutes: await rowsOf(server.tableEndpoint, `$MetricsMinutePrimaryTransactions${name}`),
      wire: wire.get(name) ?? { sent: 0, answered: 0 },
    });
  }
  return told;
}

async function linesOf(logs: ContainerClient, service: Service): Promise<LogFields[]> {
  const lines: LogFields[] = [];
  for await (const { name } of logs.listBlobsFlat({ prefix: `${service.toLowerCase()}/` })) {
    const log = logs.getBlobClient(name);
    const found = parseLog((await log.downloadToBuffer()).toString('utf8'));
    const { metadata = {} } = await log.getProperties();
    for (const { version } of found) assert.equal(version, metadata['logversion']);
    lines.push(...found);
  }
  return lines;
}

async function rowsOf(endpoint: string, name: string): Promise<Row[]> {
  const table = new TableClient(endpoint, name, new AzureNamedKeyCredential(...keys), insecure);
  const rows: Row[] = [];
  for await (const row of table.listEntities()) {
    rows.push(Object.assign({ rowKey: row.rowKey ?? '' }, row));
  }
  return rows;
}

function count(row: Row | undefined, name: string): number {
  const value = row?.[name];
  assert.equal(typeof value, 'bigint', name);
  return Number(value);
}

/** What HTTP adds to an answer, which is no part of sizes. */
const fieldsOfHttp =
  'Date: Fri, 01 Mar 2024 12:30:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n';

const sum = (lines: readonly LogFields[], ...names: readonly string[]) =>
  lines.reduce((all, line) => all + names.reduce((each, name) => each + Number(line[name]), 0), 0);

describe('logs and metrics of requests of official clients', () => {
  let told: ReadonlyMap<Service, Told>;
  let world: World;

  before(async () => {
    world = await startAnalysed();
    await sendToBlobs(world);
    await sendToQueues(world);
    await sendToTables(world);
    told = await readAll(world);
  });

  after(async () => {
    for (const proxy of Object.values(world.proxies)) await proxy[Symbol.asyncDispose]();
    await world.started[Symbol.asyncDispose]();
  });

  for (const service of services) {
    const of = (): Told => told.get(service) ?? assert.fail(service);
    /** One line of each request: a copy has three. */
    const first = () => of().lines.filter(({ operationIndex }) => operationIndex === '0');

    it(`of ${service} have a line of each, in the version that was asked for`, () => {
      const { records, lines } = of();
      assert.ok(records.length > 5);
      const ids = records.map(({ requestId }) => requestId);
      assert.deepEqual(
        first()
          .map(({ requestId = '' }) => requestId)
          .toSorted(),
        ids.toSorted(),
      );
      const version = service === 'Table' ? '1.0' : '2.0';
      for (const line of lines) assert.equal(line['version'], version);
    });

    it(`of ${service} count as many requests, in the hour and in the minute`, () => {
      const { records, hours, minutes } = of();
      for (const rows of [hours, minutes]) {
        const all = rows.find(({ rowKey }) => rowKey === 'user;All');
        assert.equal(count(all, 'TotalRequests'), records.length);
        const operations = new Map<string, number>();
        for (const { operation = '' } of first()) {
          operations.set(operation, (operations.get(operation) ?? 0) + 1);
        }
        const counted = rows
          .filter((row) => row !== all)
          .map((row) => [row.rowKey.slice('user;'.length), count(row, 'TotalRequests')] as const);
        assert.deepEqual(new Map(counted), operations);
      }
    });

    it(`of ${service} have the bytes that were on the wire`, () => {
      const { hours, minutes, records, wire: onTheWire } = of();
      const ofHttp = records.length * fieldsOfHttp.length;
      const wire = { ...onTheWire, answered: onTheWire.answered - ofHttp };
      const sent = sum(first(), 'requestHeadBytes', 'requestBodyBytes');
      const answered = sum(first(), 'responseHeadBytes', 'responseBodyBytes');
      assert.deepEqual({ sent, answered }, wire);
      for (const rows of [hours, minutes]) {
        const all = rows.find(({ rowKey }) => rowKey === 'user;All');
        const [ingress, egress] = [count(all, 'TotalIngress'), count(all, 'TotalEgress')];
        assert.deepEqual({ sent: ingress, answered: egress }, wire);
      }
    });
  }

  it('tell what blobs were asked for, and by whom', () => {
    const { lines = [], hours = [] } = told.get('Blob') ?? {};
    const kinds = lines.map((line) =>
      [line['operation'], line['httpStatus'], line['authentication']].join(' '),
    );
    for (const kind of [
      'GetBlob 200 anonymous',
      'GetBlob 200 authenticated',
      'GetBlob 200 sas',
      'GetBlob 206 authenticated',
      'GetBlob 206 bearer',
      'GetBlob 304 authenticated',
      'GetBlob 412 authenticated',
      'DeleteBlob 403 sas',
      'BlobBatch 202 authenticated',
      'CopyBlob 202 authenticated',
      'CopyBlobSource 202 authenticated',
      'CopyBlobDestination 202 authenticated',
      'CopyBlobFromURL 202 authenticated',
    ]) {
      assert.ok(kinds.includes(kind), `${kind} is not among\n${kinds.join('\n')}`);
    }
    const byToken = lines.find(({ authentication }) => authentication === 'bearer');
    assert.equal(byToken?.['objectId'], contributor.oid);
    assert.equal(byToken['status'], 'OAuthSuccess');
    const read = hours.find(({ rowKey }) => rowKey === 'user;GetBlob');
    assert.deepEqual([count(read, 'AnonymousSuccess'), count(read, 'SASSuccess')], [1, 1]);
  });
});
