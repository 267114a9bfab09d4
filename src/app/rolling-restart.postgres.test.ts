import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer, get, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';
import { startPostgres, withoutPostgres } from '../../test/support/postgres-server.js';
import { it } from '../base/conformance/limited-test.js';
import { createServer, type TabulariumServer } from './server.js';

const checkMs = 100;

interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** The targets that were healthy when they were asked last. */
  readonly healthy: ReadonlySet<number>;
}

/** Passes requests on to targets in turn, of those that are healthy. */
async function startBalancer(targets: readonly number[]): Promise<Balancer> {
  const healthy = new Set<number>();
  let turn = 0;
  const server = createHttpServer((incoming, outgoing: ServerResponse) => {
    const list = [...healthy];
    turn += 1;
    const port = list[turn % Math.max(1, list.length)] ?? 0;
    const { method, url: path, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  const check = (port: number): void => {
    const asked = get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, (answer) => {
      answer.resume();
      if (answer.statusCode === 200) healthy.add(port);
      else healthy.delete(port);
    });
    asked.on('error', () => healthy.delete(port));
  };
  const timer = setInterval(() => targets.forEach(check), checkMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    healthy,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

void describe('servers on one database', { skip: withoutPostgres }, () => {
  it('can be restarted one by one while no request of a client that retries fails', async () => {
    const database = await startPostgres();
    const location = await mkdtemp(join(tmpdir(), 'tabularium-rolling-'));
    const started = (tablePort: number): Promise<TabulariumServer> =>
      createServer({ location, postgresUrl: database.url, tablePort });
    const servers = [await started(0), await started(0)];
    const ports = servers.map(({ tablePort }) => tablePort);
    await using balancer = await startBalancer(ports);
    const isUp = async (count: number): Promise<void> => {
      while (balancer.healthy.size !== count) await pause(20);
    };
    await isUp(2);

    const connection = (servers[0]?.connectionString() ?? '').replaceAll(
      String(ports[0]),
      String(balancer.port),
    );
    const rows = TableClient.fromConnectionString(connection, 'rows', {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 5, retryDelayInMs: 50 },
    });
    await rows.createTable();
    const written: string[] = [];
    const over = new AbortController();
    const write = async (writer: number): Promise<void> => {
      for (let serial = 0; !over.signal.aborted; serial += 1) {
        const rowKey = `${writer}-${serial}`;
        // Can be sent again when its answer was lost.
        await rows.upsertEntity({ partitionKey: 'p', rowKey, serial });
        written.push(rowKey);
      }
    };
    const writing = Promise.all([0, 1, 2, 3].map(write));
    for (const [at, port] of ports.entries()) {
      const before = written.length;
      await servers[at]?.close();
      while (written.length < before + 50) await pause(10);
      servers[at] = await started(port);
      await isUp(2);
    }
    over.abort();
    await writing;
    const found = new Set<string>();
    for await (const { rowKey } of rows.listEntities()) if (rowKey !== undefined) found.add(rowKey);
    assert.deepEqual([...found].toSorted(), written.toSorted());
    for (const server of servers) await server.close();
    await database.dispose();
    await rm(location, { recursive: true, force: true });
  });
});
