// A test suite over a server in its own process. The server is reset before each test, and faults
// are injected.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { createServer, type TabulariumServer } from 'tabularium';
import { Orders } from './orders.js';

describe('orders', () => {
  let server: TabulariumServer;
  let orders: Orders;

  before(async () => {
    server = await createServer({ inMemory: true });
    const connection = server.connectionString();
    const table = TableClient.fromConnectionString(connection, 'orders', {
      allowInsecureConnection: true,
      retryOptions: { retryDelayInMs: 1, maxRetryDelayInMs: 10 },
    });
    const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('work');
    await table.createTable();
    await queue.create();
    orders = new Orders(table, queue);
    await orders.place({ customer: 'contoso', id: '1', total: 40 });
    await server.snapshot('one-order');
  });
  after(() => server.close());

  beforeEach(async () => {
    await server.restore('one-order');
    server.faults.clear();
  });

  it('add up', async () => {
    await orders.place({ customer: 'contoso', id: '2', total: 2 });
    assert.equal(await orders.totalOf('contoso'), 42);
  });

  it('begin each test with the data of the snapshot', async () => {
    assert.equal(await orders.totalOf('contoso'), 40);
  });

  it('are placed once when an answer is lost', async () => {
    server.faults.add({
      operation: 'InsertEntity',
      count: 1,
      effect: { kind: 'drop-response' },
    });
    await orders.place({ customer: 'contoso', id: '2', total: 2 });
    assert.equal(server.faults.list()[0]?.fired, 1);
    assert.equal(await orders.totalOf('contoso'), 42);
  });

  it('are placed although the server is busy', async () => {
    server.faults.add({
      table: 'orders',
      count: 2,
      effect: { kind: 'error', code: 'ServerBusy', retryAfterSeconds: 0 },
    });
    await orders.place({ customer: 'contoso', id: '2', total: 2 });
    assert.equal(await orders.totalOf('contoso'), 42);
  });
});
