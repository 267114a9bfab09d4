import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  TableClient,
  TableServiceClient,
} from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { manualClock, type RequestRecord, type ServerOptions } from '../../../src/app/index.js';
import { systemTimers } from '../../../src/base/async/timers.js';
import { manualTimers, type ManualTimers } from '../../support/manual-timers.js';
import { startDurableServer, startServer, type StartedServer } from '../../support/start-server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';

// Metrics of requests over HTTP, read with the official client (blob-service §22).

const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
const queueOptions = { retryOptions: { maxTries: 1 } };
const credential = new AzureNamedKeyCredential(developmentAccount, developmentKey);
const hourTable = '$MetricsHourPrimaryTransactionsTable';
const minuteTable = '$MetricsMinutePrimaryTransactionsTable';
const begun = Date.UTC(2024, 2, 1, 12, 30) * 1000;

/** Timers of the machine, but for the long ones, which fire when a test says so. */
function minuteTimers(): ManualTimers {
  const long = manualTimers();
  return {
    ...long,
    start: (delayMs, callback, argument) =>
      (delayMs < 1_000 ? systemTimers : long).start(delayMs, callback, argument),
  };
}

/** A server whose clock and timers are the test's. */
async function startAnalysed(options: ServerOptions = {}) {
  const clock = manualClock(begun);
  const timers = minuteTimers();
  const started = await startServer({ clock, timers, checkClockSkew: false, ...options });
  const { server } = started;
  const table = (name: string) => new TableClient(server.tableEndpoint, name, credential, insecure);
  return {
    ...started,
    clock,
    timers,
    table,
    service: new TableServiceClient(server.tableEndpoint, credential, insecure),
    queues: QueueServiceClient.fromConnectionString(server.connectionString(), queueOptions),
    /** Ends the minute and waits until its counts are written. */
    async endMinute(seconds = 60): Promise<void> {
      clock.advanceMicros(seconds * 1_000_000);
      timers.fire(60_000);
      await settled();
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

/** Lets what was begun end: work in memory takes no time of a clock. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
}

type Row = Readonly<Record<string, unknown>> & {
  readonly partitionKey: string;
  readonly rowKey: string;
};

async function rowsOf(client: TableClient): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of client.listEntities()) rows.push(row as Row);
  return rows;
}

const failing = (work: Promise<unknown>) => assert.rejects(work);

function count(row: Row | undefined, name: string): number {
  const value = row?.[name];
  assert.equal(typeof value, 'bigint', name);
  return Number(value);
}

const prefixes = ['', 'Anonymous', 'SAS'];
const outcomes =
  'Success ThrottlingError ClientTimeoutError ServerTimeoutError ClientOtherError ' +
  'ServerOtherError AuthorizationError NetworkError';
const counters = outcomes
  .split(' ')
  .flatMap((outcome) => prefixes.map((prefix) => `${prefix}${outcome}`));

/** The counters that are not zero. */
function counted(row: Row | undefined): Readonly<Record<string, number>> {
  const pairs = counters.map((name) => [name, count(row, name)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== 0));
}

/** Requests of each kind; returns once all have their records. */
async function sendMixed(fixture: Awaited<ReturnType<typeof startAnalysed>>): Promise<void> {
  const { table, service, server } = fixture;
  await service.createTable('people');
  const people = table('people');
  const entity = (rowKey: string) => ({ partitionKey: 'p', rowKey, n: 1 });
  for (const row of ['1', '2', '3']) await people.createEntity(entity(row));
  await failing(people.createEntity(entity('1')));
  await failing(people.getEntity('p', 'missing'));
  await people.submitTransaction([
    ['create', entity('4')],
    ['create', entity('5')],
  ]);
  const sas = generateAccountSas(credential, {
    permissions: { query: true },
    expiresOn: new Date(Date.now() + 3_600_000),
  });
  const bySas = new TableClient(
    server.tableEndpoint,
    'people',
    new AzureSASCredential(sas),
    insecure,
  );
  await bySas.getEntity('p', '1');
  await failing(bySas.getEntity('p', 'missing'));
  await failing(bySas.deleteEntity('p', '1'));
  const forged = new AzureSASCredential(sas.replace(/sig=[^&]+/, 'sig=AAAA'));
  await failing(
    new TableClient(server.tableEndpoint, 'people', forged, insecure).getEntity('p', '1'),
  );
  const wrong = new AzureNamedKeyCredential(
    developmentAccount,
    Buffer.alloc(64).toString('base64'),
  );
  await failing(
    new TableClient(server.tableEndpoint, 'people', wrong, insecure).getEntity('p', '1'),
  );
  for (let time = 0; time < 2; time += 1) {
    assert.equal((await fetch(`${server.tableEndpoint}/people()`)).status, 401);
  }
  server.throttle.set({ requestsPerSecondPerAccount: 0.001 });
  await failing(people.getEntity('p', '1').then(() => people.getEntity('p', '1')));
  server.throttle.set('off');
  await fixture.recorded(16);
}

describe('metrics', () => {
  it('sum up what was requested, by status and credential', async () => {
    await using fixture = await startAnalysed();
    await sendMixed(fixture);
    const before = [...fixture.records];
    await fixture.endMinute();
    const rows = await rowsOf(fixture.table(hourTable));
    const named = new Map(rows.map((row) => [row.rowKey, row]));
    assert.deepEqual(
      rows.map(({ partitionKey }) => partitionKey),
      rows.map(() => '20240301T1200'),
    );
    const all = named.get('user;All');
    assert.equal(count(all, 'TotalRequests'), before.length);
    assert.deepEqual(counted(named.get('user;InsertEntity')), { Success: 3, ClientOtherError: 1 });
    assert.deepEqual(counted(named.get('user;EntityGroupTransaction')), { Success: 1 });
    assert.deepEqual(counted(named.get('user;CreateTable')), { Success: 1 });
    assert.deepEqual(counted(named.get('user;DeleteEntity')), { SASAuthorizationError: 1 });
    assertSums(
      all,
      [...named.values()].filter((row) => row !== all),
    );
    const { ClientOtherError, SASClientOtherError, SASSuccess, ...others } = counted(all);
    assert.deepEqual([ClientOtherError, SASClientOtherError, SASSuccess], [2, 1, 1]);
    assert.equal(others['AnonymousAuthorizationError'], 2);
    assert.equal(others['SASAuthorizationError'], 2);
    assert.equal(others['AuthorizationError'], 1);
    assert.ok((others['ThrottlingError'] ?? 0) >= 1);
    assertBytes(all, before);
  });

  it('of hours are read by the name that they had before 2013-08-15 as well', async () => {
    await using fixture = await startAnalysed();
    await fixture.service.createTable('people');
    await fixture.queues.createQueue('jobs');
    await fixture.recorded(2);
    const former = fixture.table('$MetricsTransactionsTable');
    await assert.rejects(rowsOf(former), { statusCode: 404 });
    await fixture.endMinute();
    for (const service of ['Table', 'Queue']) {
      const rows = await rowsOf(fixture.table(`$MetricsHourPrimaryTransactions${service}`));
      assert.ok(rows.length > 1);
      assert.deepEqual(await rowsOf(fixture.table(`$metricsTransactions${service}`)), rows);
    }
    const row = { partitionKey: 'p', rowKey: 'r' };
    await assert.rejects(former.createEntity(row), { statusCode: 403 });
    await former.deleteEntity('20240301T1200', 'user;CreateTable');
    const left = await rowsOf(fixture.table(hourTable));
    assert.ok(left.every(({ rowKey }) => rowKey !== 'user;CreateTable'));
    const names: unknown[] = [];
    for await (const { name } of fixture.service.listTables()) names.push(name);
    assert.deepEqual(names, ['people']);
  });

  it('of queues have a table of their own', async () => {
    await using fixture = await startAnalysed();
    const queue = fixture.queues.getQueueClient('jobs');
    await queue.create();
    await queue.sendMessage('one');
    await queue.receiveMessages();
    await failing(fixture.queues.getQueueClient('none').sendMessage('one'));
    await fixture.recorded(4);
    await fixture.endMinute();
    const rows = await rowsOf(fixture.table('$MetricsHourPrimaryTransactionsQueue'));
    assert.deepEqual(
      rows.map((row) => [row.rowKey, counted(row)]),
      [
        ['user;All', { Success: 3, ClientOtherError: 1 }],
        ['user;CreateQueue', { Success: 1 }],
        ['user;GetMessage', { Success: 1 }],
        ['user;PutMessage', { Success: 1, ClientOtherError: 1 }],
      ],
    );
  });

  it('of a minute are written when they are switched on, and not any more when off', async () => {
    await using fixture = await startAnalysed();
    const { service, table } = fixture;
    const metrics = (enabled: boolean) =>
      service.setProperties({
        minuteMetrics: {
          version: '1.0',
          enabled,
          ...(enabled && { includeAPIs: true }),
          retentionPolicy: { enabled: false },
        },
      });
    await metrics(true);
    await service.createTable('people');
    await fixture.recorded(2);
    await fixture.endMinute();
    const [all, ...apis] = await rowsOf(table(minuteTable));
    assert.equal(all?.partitionKey, '20240301T1230');
    assert.equal(count(all, 'TotalRequests'), 2);
    assert.deepEqual(
      apis.map(({ rowKey }) => rowKey),
      ['user;CreateTable', 'user;SetTableServiceProperties'],
    );
    await metrics(false);
    await fixture.recorded(4);
    await fixture.endMinute();
    assert.equal((await rowsOf(table(minuteTable))).length, 3);
  });

  it('have a row for each hour, also without requests, and none before it ends', async () => {
    await using fixture = await startAnalysed();
    await fixture.endMinute();
    assert.deepEqual(fixture.records, []);
    await fixture.endMinute(30 * 60);
    const rows = await rowsOf(fixture.table(hourTable));
    assert.deepEqual(
      rows.map((row) => [row.partitionKey, row.rowKey, counted(row), row['Availability']]),
      [['20240301T1200', 'user;All', {}, 100]],
    );
  });

  it('can be deleted row by row, and neither written nor dropped nor listed', async () => {
    await using fixture = await startAnalysed();
    const { service, table } = fixture;
    await service.createTable('people');
    await fixture.recorded(1);
    await fixture.endMinute();
    const metrics = table(hourTable);
    const status = async (work: Promise<unknown>): Promise<number | undefined> => {
      try {
        await work;
        return undefined;
      } catch (error) {
        return (error as { readonly statusCode?: number }).statusCode;
      }
    };
    const entity = { partitionKey: '20240301T1200', rowKey: 'user;All' };
    assert.equal(await status(metrics.createEntity({ ...entity, rowKey: 'mine' })), 403);
    assert.equal(await status(metrics.upsertEntity({ ...entity, Success: 1 })), 403);
    assert.equal(await status(metrics.submitTransaction([['upsert', entity]])), 403);
    assert.equal(await status(metrics.deleteTable()), 403);
    const listed: (string | undefined)[] = [];
    for await (const { name } of service.listTables()) listed.push(name);
    assert.deepEqual(listed, ['people']);
    assert.equal((await rowsOf(metrics)).length, 2);
    await metrics.deleteEntity(entity.partitionKey, entity.rowKey);
    assert.deepEqual(
      (await rowsOf(metrics)).map(({ rowKey }) => rowKey),
      ['user;CreateTable'],
    );
  });

  it('count a connection that breaks as an error of the network', async () => {
    await using fixture = await startAnalysed();
    fixture.server.faults.add({ operation: 'GetEntity', effect: { kind: 'reset' } });
    await failing(fixture.table('people').getEntity('p', 'r'));
    await fixture.recorded(1);
    await fixture.endMinute();
    const rows = await rowsOf(fixture.table(hourTable));
    const get = rows.find(({ rowKey }) => rowKey === 'user;QueryEntity');
    assert.deepEqual(counted(get), { NetworkError: 1 });
  });

  it('are written when the server closes, and are there when it starts again', async () => {
    const first = await startDurableServer();
    const { location = '' } = first;
    const service = new TableServiceClient(first.server.tableEndpoint, credential, insecure);
    await service.createTable('people');
    await first.recorded(1);
    await first.server.close();
    await using second: StartedServer = await startServer({ location });
    const table = new TableClient(second.server.tableEndpoint, hourTable, credential, insecure);
    assert.deepEqual((await rowsOf(table)).map(counted), [{ Success: 1 }, { Success: 1 }]);
    await second.server.close();
    await first[Symbol.asyncDispose]();
  });

  it('of requests before a reset are not part of the data after it', async () => {
    await using fixture = await startAnalysed();
    await fixture.service.createTable('people');
    await fixture.recorded(1);
    await fixture.server.reset();
    await fixture.endMinute();
    assert.equal((await fetchTables(fixture)).length, 0);
    await assert.rejects(rowsOf(fixture.table(hourTable)), /TableNotFound/);
  });

  it('count in the hours that the clock shows, however it is set', async () => {
    await using fixture = await startAnalysed();
    const { service, clock } = fixture;
    for (const [at, step] of [0, -2, 5, -1].entries()) {
      clock.advanceMicros(step * 3_600_000_000);
      await service.createTable(`people${at}`);
      await fixture.recorded(at + 1);
    }
    await fixture.endMinute();
    const rows = await rowsOf(fixture.table(hourTable));
    const created = rows.filter(({ rowKey }) => rowKey === 'user;CreateTable');
    assert.deepEqual(
      created.map((row) => [row.partitionKey, count(row, 'TotalRequests')]),
      [
        ['20240301T1000', 1],
        ['20240301T1200', 1],
        ['20240301T1400', 1],
        ['20240301T1500', 1],
      ],
    );
  });

  it('of bytes that are no request count nowhere', async () => {
    await using fixture = await startAnalysed();
    const socket = connect(fixture.server.tablePort, '127.0.0.1');
    socket.end('no request\r\n\r\n');
    await fixture.recorded(1);
    await fixture.endMinute();
    await assert.rejects(rowsOf(fixture.table(hourTable)), /TableNotFound/);
  });
});

async function fetchTables({ service }: { readonly service: TableServiceClient }) {
  const names: (string | undefined)[] = [];
  for await (const { name } of service.listTables()) names.push(name);
  return names;
}

/** Every number of the summary is the sum of those of the operations. */
function assertSums(all: Row | undefined, operations: readonly Row[]): void {
  for (const name of [...counters, 'TotalIngress', 'TotalEgress', 'TotalRequests']) {
    const sum = operations.reduce((total, row) => total + count(row, name), 0);
    assert.equal(count(all, name), sum, name);
  }
}

/** More than the bodies: the header fields count as well. */
function assertBytes(all: Row | undefined, records: readonly RequestRecord[]): void {
  const sum = (bytesOf: (record: RequestRecord) => number) =>
    records.reduce((total, record) => total + bytesOf(record), 0);
  const ingress = sum(
    ({ bytesReceived, detail }) => bytesReceived + (detail?.requestHeadBytes ?? 0),
  );
  const egress = sum(({ bytesSent, detail }) => bytesSent + (detail?.responseHeadBytes ?? 0));
  assert.deepEqual([count(all, 'TotalIngress'), count(all, 'TotalEgress')], [ingress, egress]);
}
