import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { manualTimers } from '../../test/support/manual-timers.js';
import { memoryLogs, type MemoryLogs } from '../../test/support/memory-logs.js';
import { openTestStore } from '../../test/support/stores.js';
import { deferred } from '../base/async/deferred.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { manualClock } from '../base/clock.js';
import { forwardClock } from '../base/forward-clock.js';
import type { RequestRecord } from '../http/exchange/record.js';
import { ServicePropertiesService } from '../services/accounts/service-properties.js';
import { logWaitingBytesMax } from '../services/analytics/log-writer.js';
import { TableService } from '../services/tables/table-service.js';
import { Analytics } from './analytics.js';

const mebibyte = 1024 * 1024;
const lineBytes = mebibyte / 2;

/** A request whose line is long. */
const long: RequestRecord = {
  requestId: 'id',
  clientRequestId: undefined,
  timeMicros: 1_700_000_000_000_000,
  service: 'queue',
  operation: 'PutMessage',
  method: 'POST',
  path: '/q/messages',
  account: 'acct',
  resource: 'q',
  partitionKey: undefined,
  authKind: 'none',
  query: undefined,
  operationCount: 1,
  bytesReceived: 0,
  bytesSent: 0,
  status: 201,
  errorCode: undefined,
  fault: undefined,
  load: [],
  serverTimeMs: 1,
  aborted: false,
  detail: {
    url: 'http://host/q/messages',
    urlParts: ['http://host/q/messages'],
    version: '2021-12-02',
    isSecondary: false,
    credential: 'key',
    bearer: undefined,
    hasOwnTimeout: false,
    requestHeadBytes: lineBytes,
    responseHeadBytes: 1,
    serverMs: 1,
    clientAddress: undefined,
    requestHeader: (name) => (name === 'user-agent' ? 'x'.repeat(lineBytes) : undefined),
    responseHeader: () => undefined,
  },
};

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
}

/** Analytics of an account whose requests to queues are logged. */
async function analyticsOver(t: TestContext, logs: MemoryLogs) {
  const clock = manualClock(long.timeMicros);
  const store = await openTestStore('memory', t, clock);
  const properties = new ServicePropertiesService(store);
  const all = { read: true, write: true, delete: true };
  const logging = { version: '1.0', ...all, retention: { enabled: false } } as const;
  await properties.set('queue', 'acct', { logging });
  const tables = new TableService({ store, clock: forwardClock(clock) });
  const told: string[] = [];
  const note = (message: string) => void told.push(message);
  const logger = { info: note, warn: note, error: note };
  const timers = manualTimers();
  const lock = new ReadWriteLock();
  const services = { tables, properties, logs };
  const analytics = new Analytics({ store, services, lock, clock, timers, logger });
  return { analytics, timers, told };
}

describe('lines of logs', () => {
  it('are written as fast as they come, without a pause that would drop some', async (t) => {
    const logs = memoryLogs();
    const { analytics, timers, told } = await analyticsOver(t, logs);
    // The pause does not end, and more lines arrive than may wait.
    const count = (logWaitingBytesMax + 4 * mebibyte) / lineBytes;
    for (let sent = 0; sent < count; sent += 1) {
      analytics.observe(long);
      await turns(5);
    }
    await analytics.stop(5_000);
    assert.deepEqual(told, []);
    const written = [...logs.logs.values()].map(({ text }) => text.split('\n').length - 1);
    assert.equal(
      written.reduce((sum, lines) => sum + lines, 0),
      count,
    );
    assert.equal(timers.waiting, 0, 'a server that stops leaves no timer');
  });

  it('hold a stop up no longer than it may wait when they cannot be written', async (t) => {
    const logs = memoryLogs();
    const [reached, released] = [deferred(), deferred()];
    logs.append = async () => {
      reached.resolve();
      await released.promise;
      throw new Error('the content is closed');
    };
    const { analytics, timers, told } = await analyticsOver(t, logs);
    analytics.start();
    for (let sent = 0; sent < 5; sent += 1) {
      analytics.observe(long);
      await turns(5);
    }
    await reached.promise;
    timers.fire();
    const stopping = analytics.stop(5_000);
    for (let step = 0; step < 4; step += 1) timers.fire(1_250);
    await stopping;
    assert.match(
      told.join(),
      /^writing metrics and logs of requests has not ended: the stop goes on/,
    );
    released.resolve();
    await turns(20);
    assert.match(told.join(), /logs of requests could not be written/);
    assert.equal(timers.waiting, 0, 'a server that stops leaves no timer');
  });
});
