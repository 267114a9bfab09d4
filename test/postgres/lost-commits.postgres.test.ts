import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { createServer, type ServerOptions } from '../../src/app/index.js';
import { silentLogger, type LogFields } from '../../src/http/exchange/logger.js';
import { eventually } from '../chaos/finding.js';
import { eitherOf, failOverWithout } from '../support/postgres-failover.js';
import { startPostgres, startStandby, withoutPostgres } from '../support/postgres-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { WireClient } from '../wire/kit/client.js';

/** Longer than a server takes to find that its session cannot be renewed. */
const heldWithinMs = 60_000;

/** A database with a standby, servers of both, and what these have told of lost commits. */
async function setUp(t: TestContext) {
  const endings: (() => unknown)[] = [];
  t.after(async () => {
    // A server that closes writes what it has counted, so its database ends behind it.
    for (const end of endings.toReversed()) await end();
  });
  const primary = await startPostgres();
  endings.push(() => primary.dispose());
  const standby = await startStandby(primary);
  endings.push(() => standby.dispose());
  const location = await mkdtemp(join(tmpdir(), 'tabularium-lost-'));
  endings.push(() => rm(location, { recursive: true, force: true }));
  const told: (LogFields | undefined)[] = [];
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: LogFields) => {
      if (message === 'acknowledged commits are lost') told.push(fields);
    },
  };
  const start = async (options: Pick<ServerOptions, 'onLostCommits'> = {}) => {
    const ports = { tablePort: 0, queuePort: 0, blobPort: 0 };
    const postgresUrl = eitherOf(primary, standby);
    const server = await createServer({ location, postgresUrl, ...ports, logger, ...options });
    endings.push(() => server.close());
    const client = WireClient.of(server);
    const blobs = BlobWireClient.of(server);
    endings.push(() => {
      client.close();
      blobs.close();
    });
    const health = async () => {
      const answer = await fetch(`http://127.0.0.1:${server.tablePort}/healthz`);
      return [answer.status, await answer.text()];
    };
    const insert = async (key: string) =>
      (await client.insert('data', { PartitionKey: 'p', RowKey: key })).status;
    const read = async (key: string) => (await client.get('data', 'p', key)).status;
    return { server, client, blobs, health, insert, read };
  };
  return { primary, standby, location, told, start };
}

void it(
  'a server whose acknowledged commits a new primary lacks says so, refuses writes and reads on',
  { skip: withoutPostgres },
  async (t) => {
    const { primary, standby, told, start } = await setUp(t);
    const [first, second] = [await start(), await start()];
    await first.client.createTable('data');
    assert.equal(await second.insert('kept'), 201);
    await failOverWithout(primary, standby, async () => {
      assert.deepEqual([await first.insert('one'), await first.insert('two')], [201, 201]);
    });
    assert.equal(await second.insert('since'), 201);
    // A load balancer asks, and nobody writes.
    await first.health();
    assert.deepEqual(await first.health(), [503, '{"status":"unavailable","reason":"failed"}']);
    assert.equal(await first.insert('more'), 500);
    assert.deepEqual([await first.read('since'), await first.read('one')], [200, 404]);
    assert.equal((await second.health())[0], 200);
    assert.equal(await second.insert('further'), 201);
    assert.equal(told.length, 1);
    const { commits, acknowledged, last } = told[0] ?? {};
    assert.deepEqual([commits, typeof acknowledged, typeof last], [2, 'number', 'number']);
  },
);

void it(
  'the bytes that its lost commits had named are kept until a start accepts the loss',
  { skip: withoutPostgres },
  async (t) => {
    const { primary, standby, location, start } = await setUp(t);
    const refuses = await start();
    const container = await refuses.blobs.newContainer();
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    const body = Buffer.alloc(100_000, 'lost');
    const put = { method: 'PUT', path: `/${container}/blob`, headers, body };
    await failOverWithout(
      primary,
      standby,
      async () => void (await refuses.blobs.expect(201, put)),
    );
    const sessions = join(location, 'content', 'sessions');
    const held = async () =>
      (await readdir(sessions)).filter((name) => name.endsWith('.held')).length;
    await eventually('the session is held', async () => (await held()) === 1, heldWithinMs);
    await refuses.server.close();
    await (await start()).server.close();
    assert.equal(await held(), 1, 'a start does not decide');
    const accepts = await start({ onLostCommits: 'accept' });
    assert.equal(await held(), 0);
    assert.equal((await accepts.blobs.send({ path: put.path })).status, 404);
  },
);
