import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { createServer, manualClock, type TabulariumServer } from '../../../src/app/index.js';
import { WireClient } from '../kit/client.js';
import { assertJsonError } from '../kit/errors.js';
import { startFixture, startFixtureOf } from '../kit/server.js';

const delayMs = 40_000;
const clock = manualClock(Date.UTC(2024, 2, 1) * 1000);
const options = { tableDeleteDelayMs: delayMs, clock, checkClockSkew: false };
const { server, client } = await startFixture(options);
const wait = (seconds: number) => clock.advanceMicros(seconds * 1_000_000);

const create = (name: string, by: WireClient = client) => by.createTable(name);
const drop = (name: string, by: WireClient = client) =>
  by.send({ method: 'DELETE', path: `/Tables('${name}')` });

const beingDeleted = {
  status: 409,
  code: 'TableBeingDeleted',
  message: 'The specified table is being deleted. Try operation later.',
};
const noTable = { status: 404, code: 'TableNotFound' };
const noResource = { status: 404, code: 'ResourceNotFound' };

describe('a table whose deletion takes its time', () => {
  it('keeps its name, in any case, until the time is over', async () => {
    await create('Slow');
    await client.put('Slow', { PartitionKey: 'p', RowKey: 'r' });
    assert.equal((await drop('slow')).status, 204);
    for (const name of ['Slow', 'slow', 'SLOW']) assertJsonError(await create(name), beingDeleted);
    wait(39);
    assertJsonError(await create('Slow'), beingDeleted);
    wait(1);
    assert.equal((await create('sLOW')).status, 201);
    assert.deepEqual(await client.rowKeys('sLOW'), []);
    assertJsonError(await create('Slow'), { status: 409, code: 'TableAlreadyExists' });
  });

  it('is gone for everything else at once', async () => {
    await create('gone');
    await client.put('gone', { PartitionKey: 'p', RowKey: 'r' });
    assert.equal((await drop('gone')).status, 204);
    assertJsonError(await client.send({ path: "/Tables('gone')" }), noResource);
    assertJsonError(await drop('gone'), noResource);
    const { items } = await client.send({ path: "/Tables?$filter=TableName%20eq%20'gone'" });
    assert.deepEqual(items, []);
    assertJsonError(await client.get('gone', 'p', 'r'), noTable);
    assertJsonError(await client.query('gone'), noTable);
    assertJsonError(await client.insert('gone', { PartitionKey: 'p', RowKey: 's' }), noTable);
    assertJsonError(await create('gone'), beingDeleted);
  });

  it('lets the official client see what the cloud shows it', async () => {
    const more = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
    const text = server.connectionString();
    const service = TableServiceClient.fromConnectionString(text, more);
    const table = TableClient.fromConnectionString(text, 'official', more);
    await service.createTable('official');
    await service.deleteTable('official');
    // The client ignores the error for an existing table, but not for one that is being deleted.
    await assert.rejects(table.createTable(), { statusCode: 409 });
    await service.deleteTable('official');
    wait(delayMs / 1000);
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
  });

  it('stays so through a restart, also of one that frees names at once', async (t) => {
    const location = await mkdtemp(join(tmpdir(), 'tabularium-delay-'));
    t.after(() => rm(location, { recursive: true, force: true }));
    const serve = async (
      delay: number,
      run: (by: WireClient, server: TabulariumServer) => Promise<void>,
    ) => {
      const more = { location, durability: 'relaxed', tableDeleteDelayMs: delay } as const;
      await using started = await createServer({ ...options, ...more });
      const by = WireClient.of(started);
      await run(by, started);
      by.close();
    };
    await serve(delayMs, async (by) => {
      await create('kept', by);
      assert.equal((await drop('kept', by)).status, 204);
    });
    await serve(0, async (by) => assert.equal((await create('unrelated', by)).status, 201));
    await serve(delayMs, async (by) => {
      assertJsonError(await create('kept', by), beingDeleted);
      wait(delayMs / 1000);
      assert.equal((await create('kept', by)).status, 201);
    });
  });

  it('is gone at once unless the server is told to delay', async (t) => {
    const usual = await startFixtureOf(t);
    await create('usual', usual.client);
    assert.equal((await drop('usual', usual.client)).status, 204);
    assert.equal((await create('usual', usual.client)).status, 201);
  });
});
