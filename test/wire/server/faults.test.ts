import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import {
  TableClient,
  TableServiceClient,
  TableTransaction,
  type TableServiceClientOptions,
} from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { withoutExtras } from '../../support/extras.js';
import { loadLegacyClient, type LegacyError } from '../../support/legacy-client.js';
import type { FaultRule, Timers } from '../../../src/app/index.js';
import { systemTimers } from '../../../src/base/async/timers.js';
import { sendUntilClosed } from '../../support/closing-connection.js';
import { startServer } from '../../support/start-server.js';
import { WireClient } from '../kit/client.js';
import { QueueWireClient } from '../kit/queue-client.js';

const started = await startServer();
const { server, records } = started;
const wire = WireClient.of(server);
const queues = QueueWireClient.of(server);

after(async () => {
  wire.close();
  queues.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});
afterEach(() => server.faults.clear());

const retryAtOnce = { retryDelayInMs: 1, maxRetryDelayInMs: 1 };
const options: TableServiceClientOptions = {
  allowInsecureConnection: true,
  retryOptions: retryAtOnce,
};
const noRetries = { ...options, retryOptions: { maxRetries: 0 } };

function sdkTable(name: string, clientOptions = options): TableClient {
  return TableClient.fromConnectionString(server.connectionString(), name, clientOptions);
}

/** Runs `work` under fault rules; returns its result and the records of its requests. */
async function under<T>(rules: readonly FaultRule[], work: () => Promise<T>) {
  const before = records.length;
  server.faults.replace(rules);
  const result = await work();
  // A record is made when its response has been sent, which may be after it has arrived.
  await settled(() => records.length > before);
  return { result, made: records.slice(before) };
}

async function settled(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const key = (rowKey: string) => ({ partitionKey: 'p', rowKey });

function insertBytes(table: string, rowKey: string): Buffer {
  const body = JSON.stringify({ PartitionKey: 'p', RowKey: rowKey, text: 'x'.repeat(500) });
  return wire.bytes({ method: 'POST', path: `/${table}`, body });
}

describe('a fault on the wire', () => {
  it('answers an error in the shape of the service, and when to try again', async () => {
    const table = await wire.newTable();
    const rule: FaultRule = {
      name: 'busy',
      operation: 'GetEntity',
      effect: { kind: 'error', code: 'ServerBusy', retryAfterSeconds: 7 },
    };
    const { result, made } = await under([rule], () => wire.get(table, 'p', 'r'));
    assert.equal(result.status, 503);
    assert.equal(result.header('retry-after'), '7');
    assert.equal(result.header('x-ms-error-code'), 'ServerBusy');
    assert.match(result.text, /"odata\.error":\{"code":"ServerBusy"/);
    assert.deepEqual(
      made.map(({ fault, status, errorCode, aborted }) => ({ fault, status, errorCode, aborted })),
      [{ fault: 'busy', status: 503, errorCode: 'ServerBusy', aborted: false }],
    );
  });

  it('has a wait of a second with ServerBusy, and none with other errors', async () => {
    const table = await wire.newTable();
    const waits: unknown[] = [];
    for (const code of ['ServerBusy', 'OperationTimedOut', 'InternalError'] as const) {
      server.faults.replace([{ effect: { kind: 'error', code } }]);
      const response = await wire.get(table, 'p', 'r');
      waits.push([response.status, response.header('retry-after')]);
    }
    assert.deepEqual(waits, [
      [503, '1'],
      [500, undefined],
      [500, undefined],
    ]);
  });

  it('answers queues in XML', async () => {
    server.faults.replace([{ effect: { kind: 'error', code: 'ServerBusy' } }]);
    const response = await queues.send({ path: '/?comp=list' });
    assert.equal(response.status, 503);
    assert.match(response.text, /<Code>ServerBusy<\/Code>/);
    assert.equal(response.header('retry-after'), '1');
  });

  it('drops the answer of work that is done', async () => {
    const table = await wire.newTable();
    const rule: FaultRule = { effect: { kind: 'drop-response' }, operation: 'InsertEntity' };
    const { result, made } = await under([rule], () =>
      sendUntilClosed(server.tablePort, insertBytes(table, 'dropped')),
    );
    assert.equal(result.text, '');
    assert.equal((await wire.get(table, 'p', 'dropped')).status, 200);
    const [record] = made;
    assert.deepEqual(
      [record?.fault, record?.status, record?.bytesSent, record?.aborted],
      ['fault-1', 201, 0, true],
    );
  });

  it('resets the connection before any work', async () => {
    const table = await wire.newTable();
    const rule: FaultRule = { effect: { kind: 'reset' }, operation: 'InsertEntity' };
    const { result, made } = await under([rule], () =>
      sendUntilClosed(server.tablePort, insertBytes(table, 'reset')),
    );
    assert.deepEqual(result, { text: '', error: 'ECONNRESET' });
    assert.equal((await wire.get(table, 'p', 'reset')).status, 404);
    assert.deepEqual([made[0]?.fault, made[0]?.status, made[0]?.aborted], ['fault-1', 0, true]);
  });

  const cuts: readonly [bytes: number | undefined, sent: (length: number) => number][] = [
    [undefined, (length) => length >> 1],
    [10, () => 10],
    [1, () => 1],
    [0, () => 0],
    [1e9, (length) => length - 1],
  ];
  for (const [bytes, sent] of cuts) {
    it(`cuts an answer in its body: ${bytes ?? 'half'} bytes`, async () => {
      const table = await wire.newTable();
      const effect = { kind: 'truncate', ...(bytes === undefined ? {} : { bytes }) } as const;
      const { result, made } = await under([{ effect, operation: 'InsertEntity' }], () =>
        sendUntilClosed(server.tablePort, insertBytes(table, 'cut')),
      );
      const [head = '', body = ''] = result.text.split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 201 Created\r\n/);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
      const expected = sent(length);
      assert.equal(body.length, expected);
      assert.ok(body.length < length);
      assert.deepEqual([made[0]?.bytesSent, made[0]?.aborted], [expected, true]);
      assert.equal((await wire.get(table, 'p', 'cut')).status, 200);
    });
  }

  it('cuts an answer without a body in its header', async () => {
    const table = await wire.newTable();
    await wire.put(table, { PartitionKey: 'p', RowKey: 'gone' });
    const path = `/${table}(PartitionKey='p',RowKey='gone')`;
    const bytes = wire.bytes({ method: 'DELETE', path, headers: { 'If-Match': '*' } });
    const { result } = await under([{ effect: { kind: 'truncate' } }], () =>
      sendUntilClosed(server.tablePort, bytes),
    );
    assert.equal(result.text, 'HTTP/1.1 204');
    server.faults.clear();
    assert.equal((await wire.get(table, 'p', 'gone')).status, 404);
  });

  it('delays work, and may do more to the request then', async () => {
    const table = await wire.newTable();
    const rules: FaultRule[] = [
      { name: 'slow', effect: { kind: 'latency', ms: { min: 30, max: 40 } } },
      {
        name: 'late',
        effect: [
          { kind: 'latency', ms: 20 },
          { kind: 'error', code: 'OperationTimedOut' },
        ],
      },
      { name: 'unreached', effect: { kind: 'reset' } },
    ];
    const { result, made } = await under(rules, () => wire.get(table, 'p', 'r'));
    assert.equal(result.status, 500);
    assert.equal(made[0]?.fault, 'slow,late');
    // Timers may fire early by a fraction of a millisecond.
    assert.ok((made[0]?.serverTimeMs ?? 0) >= 49, String(made[0]?.serverTimeMs));
    const fired = server.faults.list().map((rule) => rule.fired);
    assert.deepEqual(fired, [1, 1, 0]);
  });

  it('does not meet requests that are refused anyway', async () => {
    const table = await wire.newTable();
    server.faults.replace([{ effect: { kind: 'reset' } }]);
    const unsigned = await wire.send({ path: `/${table}()`, auth: 'none' });
    const malformed = await wire.query(table, { filter: 'a eq' });
    assert.deepEqual([unsigned.status, malformed.status], [403, 400]);
    assert.equal(server.faults.list()[0]?.matched, 0);
  });
});

describe('a fault rule on the wire', () => {
  const busy = { kind: 'error', code: 'ServerBusy' } as const;

  it('passes some requests, fires so often, and then passes all', async () => {
    const table = await wire.newTable();
    await wire.put(table, { PartitionKey: 'p', RowKey: 'r' });
    server.faults.replace([{ operation: 'GetEntity', skip: 2, count: 3, effect: busy }]);
    const statuses: number[] = [];
    for (let index = 0; index < 7; index += 1) {
      statuses.push((await wire.get(table, 'p', 'r')).status);
    }
    assert.deepEqual(statuses, [200, 200, 503, 503, 503, 200, 200]);
    const [{ matched, fired } = {}] = server.faults.list();
    assert.deepEqual([matched, fired], [7, 3]);
  });

  it('fires by chance, in the same way for the same seed', async () => {
    const table = await wire.newTable();
    const run = async (seed: number) => {
      server.faults.replace([{ probability: 0.3, seed, effect: busy }]);
      const statuses: number[] = [];
      for (let index = 0; index < 60; index += 1) {
        statuses.push((await wire.get(table, 'p', 'r')).status);
      }
      return statuses;
    };
    const first = await run(1);
    assert.deepEqual(await run(1), first);
    assert.notDeepEqual(await run(2), first);
    const fired = first.filter((status) => status === 503).length;
    assert.ok(fired > 5 && fired < 35, String(fired));
  });

  const keysOf: readonly [what: string, request: (table: string) => Promise<number>][] = [
    ['a read', async (table) => (await wire.get(table, 'hot', 'r1')).status],
    [
      'an insert',
      async (table) => (await wire.insert(table, { PartitionKey: 'hot', RowKey: 'r1' })).status,
    ],
    [
      'one operation of a transaction',
      async (table) => {
        const transaction = new TableTransaction();
        for (const rowKey of ['a', 'r1', 'z']) {
          transaction.upsertEntity({ partitionKey: 'hot', rowKey });
        }
        const work = sdkTable(table, noRetries).submitTransaction(transaction.actions);
        return work.then(
          ({ status }) => status,
          (error: { statusCode?: number }) => error.statusCode ?? 0,
        );
      },
    ],
    [
      'a query for the entity',
      async (table) => {
        const filter = "PartitionKey eq 'hot' and RowKey eq 'r1'";
        return (await wire.query(table, { filter })).status;
      },
    ],
  ];
  for (const [what, request] of keysOf) {
    it(`knows the keys of ${what}`, async () => {
      const table = await wire.newTable();
      const fits: FaultRule = { partitionKey: 'h?t', rowKey: ['x*', 'r*'], effect: busy };
      const other: FaultRule = { partitionKey: 'hot', rowKey: 'other*', effect: busy };
      server.faults.replace([other]);
      assert.notEqual(await request(table), 503);
      server.faults.replace([fits]);
      assert.equal(await request(table), 503);
    });
  }

  it('knows the partitions that a query asks about, but no row of them', async () => {
    const table = await wire.newTable();
    const query = async (filter: string) => (await wire.query(table, { filter })).status;
    const [one, either] = [
      "PartitionKey eq 'hot'",
      "PartitionKey eq 'cold' or PartitionKey eq 'hot'",
    ];
    server.faults.replace([{ partitionKey: 'hot', effect: busy }]);
    assert.deepEqual([await query(one), await query(either)], [503, 503]);
    assert.deepEqual([await query("PartitionKey eq 'cold'"), await query('a eq 1')], [200, 200]);
    server.faults.replace([{ partitionKey: 'hot', rowKey: '*', effect: busy }]);
    assert.deepEqual([await query(one), await query(either)], [200, 200]);
  });

  it('tells services, tables in any case, queues, operations and methods apart', async () => {
    const table = await wire.newTable('Mixed');
    const queue = await queues.newQueue('faulty');
    const met = async (rule: Omit<FaultRule, 'effect'>): Promise<string> => {
      server.faults.replace([{ ...rule, effect: busy }]);
      const answers = [
        await wire.get(table, 'p', 'r'),
        await wire.query(table),
        await queues.send({ path: `/${queue}/messages` }),
        await queues.send({ path: `/${queue}?comp=metadata` }),
      ];
      return answers.map(({ status }) => (status === 503 ? 'x' : '-')).join('');
    };
    assert.equal(await met({}), 'xxxx');
    assert.equal(await met({ service: 'table' }), 'xx--');
    assert.equal(await met({ table: 'mixed*' }), 'xx--');
    assert.equal(await met({ queue: 'faulty-?' }), '--xx');
    assert.equal(await met({ queue: 'other' }), '----');
    assert.equal(await met({ operation: '*Entit*' }), 'xx--');
    assert.equal(await met({ operation: ['GetEntity', 'GetMessages'] }), 'x-x-');
    assert.equal(await met({ operation: 'GetMessage' }), '--x-');
    assert.equal(await met({ method: 'get' }), 'xxxx');
    assert.equal(await met({ method: 'POST' }), '----');
    assert.equal(await met({ account: 'devstore*' }), 'xxxx');
    assert.equal(await met({ account: 'other' }), '----');
  });
});

describe('official clients under faults', () => {
  it('retry through a busy server and see nothing of it', async () => {
    const table = await wire.newTable();
    const effect = { kind: 'error', code: 'ServerBusy', retryAfterSeconds: 0 } as const;
    const { made } = await under([{ operation: 'InsertEntity', count: 2, effect }], () =>
      sdkTable(table).createEntity(key('busy')),
    );
    assert.deepEqual(
      made.map(({ status }) => status),
      [503, 503, 204],
    );
  });

  it('get a 409 for an insert whose answer was lost, and the row is there once', async () => {
    const table = await wire.newTable();
    const rule: FaultRule = {
      operation: 'InsertEntity',
      count: 1,
      effect: { kind: 'drop-response' },
    };
    const { result, made } = await under([rule], () =>
      sdkTable(table)
        .createEntity(key('lost'))
        .then(
          () => 'created',
          (error: { statusCode?: number }) => error.statusCode,
        ),
    );
    assert.equal(result, 409);
    assert.deepEqual(
      made.map(({ status, errorCode }) => [status, errorCode]),
      [
        [204, undefined],
        [409, 'EntityAlreadyExists'],
      ],
    );
    assert.deepEqual(await wire.rowKeys(table), ['lost']);
  });

  it('retry a connection that was reset, and the work is done once', async () => {
    const table = await wire.newTable();
    const { made } = await under(
      [{ operation: 'InsertEntity', count: 1, effect: { kind: 'reset' } }],
      () => sdkTable(table).createEntity(key('reset')),
    );
    assert.deepEqual(
      made.map(({ status, fault }) => [status, fault]),
      [
        [0, 'fault-1'],
        [204, undefined],
      ],
    );
  });

  it('fail when an answer ends in its middle', async () => {
    const table = await wire.newTable();
    await wire.put(table, { PartitionKey: 'p', RowKey: 'cut' });
    server.faults.replace([{ operation: 'GetEntity', effect: { kind: 'truncate' } }]);
    await assert.rejects(sdkTable(table, noRetries).getEntity('p', 'cut'), /aborted/);
  });

  it('of queues retry through a busy server and a reset connection', async () => {
    const service = QueueServiceClient.fromConnectionString(server.connectionString(), {
      retryOptions: { retryDelayInMs: 1, maxRetryDelayInMs: 1 },
    });
    const queue = service.getQueueClient(await queues.newQueue());
    const rules: FaultRule[] = [
      { operation: 'PutMessage', count: 1, effect: { kind: 'error', code: 'ServerBusy' } },
      { operation: 'PutMessage', count: 1, effect: { kind: 'reset' } },
    ];
    const { made } = await under(rules, () => queue.sendMessage('hello'));
    assert.deepEqual(
      made.map(({ status }) => status),
      [503, 0, 201],
    );
    const { peekedMessageItems } = await queue.peekMessages();
    assert.deepEqual(
      peekedMessageItems.map(({ messageText }) => messageText),
      ['hello'],
    );
  });

  it('of queues put a message twice when the first answer is lost', async () => {
    const service = QueueServiceClient.fromConnectionString(server.connectionString(), {
      retryOptions: { retryDelayInMs: 1, maxRetryDelayInMs: 1 },
    });
    const queue = service.getQueueClient(await queues.newQueue());
    server.faults.replace([
      { operation: 'PutMessage', count: 1, effect: { kind: 'drop-response' } },
    ]);
    await queue.sendMessage('twice');
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 });
    assert.equal(peekedMessageItems.length, 2);
  });

  it('of the legacy library are told of a time-out', { skip: withoutExtras }, async () => {
    const service = loadLegacyClient().createTableService(server.connectionString());
    server.faults.replace([{ effect: { kind: 'error', code: 'OperationTimedOut' } }]);
    const code = await new Promise((resolve) => {
      service.createTable('legacy', (error: LegacyError | null) => resolve(error?.code));
    });
    assert.equal(code, 'OperationTimedOut');
  });

  it('list tables again when the first answer failed', async () => {
    const service = TableServiceClient.fromConnectionString(server.connectionString(), options);
    const effect = { kind: 'error', code: 'InternalError' } as const;
    server.faults.replace([{ operation: 'QueryTables', count: 1, effect }]);
    const names: unknown[] = [];
    for await (const { name } of service.listTables()) names.push(name);
    assert.ok(names.length > 0);
  });
});

describe('requests that are delayed', () => {
  it('are executed also when their client has not waited', async () => {
    const table = await wire.newTable();
    server.faults.replace([{ operation: 'InsertEntity', effect: { kind: 'latency', ms: 100 } }]);
    const leaving = new AbortController();
    const abortSignal = leaving.signal;
    const left = assert.rejects(
      sdkTable(table, noRetries).createEntity(key('late'), { abortSignal }),
    );
    await settled(() => server.faults.list()[0]?.fired === 1);
    leaving.abort();
    await left;
    server.faults.clear();
    let status = 404;
    while (status === 404) status = (await wire.get(table, 'p', 'late')).status;
    assert.equal(status, 200);
  });

  it('do not keep a server from closing, and are not executed afterwards', async () => {
    const latencyMs = 59_000;
    let pass = (): void => undefined;
    const timers: Timers = {
      start(delayMs, callback, argument) {
        if (delayMs !== latencyMs) return systemTimers.start(delayMs, callback, argument);
        pass = () => callback(argument);
        return { close: () => undefined };
      },
    };
    const other = await startServer({
      faults: [{ operation: 'CreateTable', effect: { kind: 'latency', ms: latencyMs } }],
      limits: { closeTimeoutMs: 20 },
      timers,
    });
    const client = WireClient.of(other.server);
    const waiting = client.newTable().catch(() => 'broken');
    await settled(() => other.server.faults.list()[0]?.fired === 1);
    await other.server.close();
    assert.equal(await waiting, 'broken');
    await other.recorded(1);
    pass();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(other.errors, []);
    assert.deepEqual(
      other.records.map(({ aborted, fault }) => [aborted, fault]),
      [[true, 'fault-1']],
    );
    client.close();
    await other[Symbol.asyncDispose]();
  });
});
