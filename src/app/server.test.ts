import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { QueueServiceClient } from '@azure/storage-queue';
import { startDurableServer, startServer } from '../../test/support/start-server.js';
import { plainRequest, RawConnection, send, sendBytes } from '../../test/support/raw-http.js';
import { systemClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { StoreClosedError } from '../kv/errors.js';
import { createServer, createServerOver, ListenError, ServerOptionsError } from './index.js';

const insecure = { allowInsecureConnection: true };

async function tableNames(connection: string): Promise<(string | undefined)[]> {
  const names: (string | undefined)[] = [];
  const service = TableServiceClient.fromConnectionString(connection, insecure);
  for await (const { name } of service.listTables()) names.push(name);
  return names;
}

describe('createServer', () => {
  it('runs several servers in one process, which share nothing', async () => {
    await using one = await startServer();
    await using two = await startServer();
    await TableClient.fromConnectionString(
      one.server.connectionString(),
      'only1',
      insecure,
    ).createTable();
    assert.deepEqual(await tableNames(one.server.connectionString()), ['only1']);
    assert.deepEqual(await tableNames(two.server.connectionString()), []);
  });

  it('keeps what was written when it is closed and started again', async () => {
    await using first = await startDurableServer();
    const { server, location } = first;
    const connection = server.connectionString();
    await TableClient.fromConnectionString(connection, 'kept', insecure).createTable();
    await server.close();
    await using second = await createServer({ location: location ?? '' });
    assert.deepEqual(await tableNames(second.connectionString()), ['kept']);
  });

  it('serves a store that the program gives, and closes it', async () => {
    const store = await openMemoryStore({ clock: systemClock });
    const version = await store.lastVersion();
    await using server = await createServerOver(store, { inMemory: true });
    const connection = server.connectionString();
    await TableClient.fromConnectionString(connection, 'given', insecure).createTable();
    assert.deepEqual(await tableNames(connection), ['given']);
    assert.ok((await store.lastVersion()) > version);
    await server.close();
    await assert.rejects(store.lastVersion(), StoreClosedError);
  });

  it('refuses options that name another store than the given one, which it closes', async () => {
    for (const options of [{ stores: {} }, { stores: { more: { inMemory: true } } }]) {
      const store = await openMemoryStore({ clock: systemClock });
      await assert.rejects(
        createServerOver(store, { inMemory: true, ...options }),
        (error) =>
          error instanceof ServerOptionsError && /stores .*leave it out/.test(String(error)),
      );
      await assert.rejects(store.lastVersion(), StoreClosedError);
    }
  });

  it('keeps accounts apart and knows each by its own key', async () => {
    const key = (text: string) => Buffer.from(text).toString('base64');
    const accounts = [
      { name: 'alpha', keys: [key('first'), key('second')] },
      { name: 'beta', key: key('third') },
    ];
    await using started = await startServer({ accounts });
    const { server } = started;
    const alpha = server.connectionString('alpha');
    await TableClient.fromConnectionString(alpha, 'mine', insecure).createTable();
    assert.deepEqual(await tableNames(alpha), ['mine']);
    assert.deepEqual(await tableNames(alpha.replace(key('first'), key('second'))), ['mine']);
    assert.deepEqual(await tableNames(server.connectionString('beta')), []);
    await assert.rejects(tableNames(alpha.replace(key('first'), key('third'))), {
      statusCode: 403,
    });
    assert.throws(() => server.connectionString('gamma'), /alpha, beta/);
  });

  it('answers in host style when the host begins with a known account', async () => {
    await using started = await startServer();
    const host = `devstoreaccount1.localhost:${started.server.tablePort}`;
    const response = await send(started.server.tablePort, {
      method: 'POST',
      target: '/Tables',
      body: '{"TableName":"hosted"}',
      headers: { Host: host },
    });
    assert.equal(response.status, 201);
    assert.equal(response.header('location'), `http://${host}/Tables('hosted')`);
  });

  it('frees its ports and its directory when it closes, however often', async () => {
    await using started = await startDurableServer();
    const { server } = started;
    await Promise.all([server.close(), server.close()]);
    await server.close();
    const { tablePort, queuePort } = server;
    const again = await createServer({ location: started.location ?? '', tablePort, queuePort });
    await again.close();
  });

  for (const option of ['tablePort', 'queuePort'] as const) {
    it(`leaves nothing open when its ${option} is taken, and names it`, async () => {
      await using started = await startDurableServer();
      await using other = await startServer();
      const { tablePort, queuePort } = started.server;
      await started.server.close();
      const location = started.location ?? '';
      const taken = other.server[option];
      await assert.rejects(
        createServer({ location, tablePort, queuePort, [option]: taken }),
        (error: unknown) =>
          error instanceof ListenError &&
          error.code === 'EADDRINUSE' &&
          error.message.includes(`${option} ${taken}`),
      );
      const again = await createServer({ location, tablePort, queuePort });
      await again.close();
    });
  }

  it('serves queues beside tables, on a port and in a name space of their own', async () => {
    await using started = await startServer();
    const { server } = started;
    assert.notEqual(server.queuePort, server.tablePort);
    assert.equal(server.queueEndpoint, `http://127.0.0.1:${server.queuePort}/devstoreaccount1`);
    const connection = server.connectionString();
    await TableClient.fromConnectionString(connection, 'both', insecure).createTable();
    const queue = QueueServiceClient.fromConnectionString(connection).getQueueClient('both');
    await queue.create();
    await queue.sendMessage('hello');
    const { receivedMessageItems } = await queue.receiveMessages();
    assert.deepEqual(
      receivedMessageItems.map(({ messageText }) => messageText),
      ['hello'],
    );
    assert.deepEqual(await tableNames(connection), ['both']);
    assert.deepEqual(
      new Set(started.records.map(({ service }) => service)),
      new Set(['table', 'queue']),
    );
  });

  it('is unhealthy while it closes', async () => {
    await using started = await startServer();
    const { server } = started;
    const health = plainRequest({ target: '/healthz', headers: { Host: 'x' } });
    for (const port of [server.tablePort, server.queuePort]) {
      assert.equal((await sendBytes(port, health)).status, 200);
    }
    using connection = new RawConnection(server.queuePort);
    connection.write(health.subarray(0, -2));
    await new Promise((resolve) => setImmediate(resolve));
    const closed = server.close();
    connection.write(health.subarray(-2));
    const response = await connection.read();
    assert.ok(response === undefined || response.status === 503);
    await closed;
  });
});
