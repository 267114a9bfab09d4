import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { SnapshotError } from '../../../src/app/index.js';
import { startDurableServer, startServer, type StartedServer } from '../../support/start-server.js';
import { WireClient } from '../kit/client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import { costly } from '../../support/run-length.js';

const starts: readonly [name: string, start: () => Promise<StartedServer>][] = [
  ['in memory', () => startServer()],
  ['on a directory', () => startDurableServer({ durability: 'relaxed' })],
];

for (const [name, start] of starts) {
  describe(`a server ${name} that is set back`, async () => {
    const started = await start();
    const { server } = started;
    const client = WireClient.of(server);
    const queues = QueueWireClient.of(server);
    after(async () => {
      client.close();
      queues.close();
      await started[Symbol.asyncDispose]();
      assert.deepEqual(started.errors, []);
    });

    it('has nothing after a reset, and the same names can be used again', async () => {
      const properties = { path: '/?restype=service&comp=properties' };
      const fresh = (await queues.send(properties)).text;
      const table = await client.newTable();
      await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
      const queue = await queues.newQueue();
      await queues.put(queue, 'hello');
      const body = `<?xml version="1.0"?><StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics></StorageServiceProperties>`;
      await queues.expect(202, { method: 'PUT', ...properties, body });
      await server.reset();
      assert.deepEqual((await client.send({ path: '/Tables' })).items, []);
      assert.equal((await client.get(table, 'p', 'r')).status, 404);
      assert.equal((await queues.send({ path: `/${queue}/messages` })).status, 404);
      assert.equal((await queues.send(properties)).text, fresh);
      const created = JSON.stringify({ TableName: table });
      assert.equal(
        (await client.send({ method: 'POST', path: '/Tables', body: created })).status,
        201,
      );
      assert.deepEqual(await client.rowKeys(table), []);
      assert.equal((await queues.send({ method: 'PUT', path: `/${queue}` })).status, 201);
      assert.equal(await queues.count(queue), 0);
    });

    it('has what it had at a snapshot, to the etag, as often as asked', async () => {
      const table = await client.newTable('snap');
      await client.put(table, { PartitionKey: 'p', RowKey: 'kept', n: 1 });
      await client.put(table, { PartitionKey: 'p', RowKey: 'changed', n: 1 });
      const queue = await queues.newQueue('snap');
      const put = await queues.put(queue, 'first');
      const all = async () => ({
        rows: (await client.query(table)).text,
        texts: await queues.texts(queue),
        count: await queues.count(queue),
        tables: (await client.send({ path: '/Tables' })).text,
      });
      const before = await all();
      await server.snapshot('base');
      const etags = new Set<unknown>();
      for (let round = 0; round < 5; round += 1) {
        const path = `/${table}(PartitionKey='p',RowKey='changed')`;
        const headers = { 'If-Match': '*' };
        const changed = await client.send({ method: 'PUT', path, headers, body: '{"n":2}' });
        etags.add(changed.header('etag'));
        await client.send({ method: 'DELETE', path, headers });
        await client.put(table, { PartitionKey: 'p', RowKey: `new ${round}` });
        await client.newTable(`more${round}x`);
        assert.equal(
          (await queues.getOne(queue, { visibilitytimeout: 300 })).MessageId,
          put.MessageId,
        );
        await queues.put(queue, 'second');
        await server.restore('base');
        assert.deepEqual(await all(), before);
      }
      // No version is issued twice, even after a restore.
      assert.equal(etags.size, 5);
      // The receipt from before the snapshot is valid again.
      assert.equal((await queues.delete(queue, put)).status, 204);
    });

    it('gives tables that are created after a restore an id of their own', costly(), async () => {
      await server.reset();
      await server.snapshot('empty');
      // More ids than one block has, so that the stored counter advances.
      for (let index = 0; index < 120; index += 1) await client.newTable(`early${index}x`);
      await server.restore('empty');
      const names: string[] = [];
      for (let index = 0; index < 120; index += 1) {
        const table = await client.newTable(`late${index}x`);
        names.push(table);
        await client.put(table, { PartitionKey: 'p', RowKey: table });
        if (index === 60) {
          await server.snapshot('half');
          await server.restore('half');
        }
      }
      for (const table of names) assert.deepEqual(await client.rowKeys(table), [table]);
    });

    it('finishes requests that have begun, and lets others wait', costly(), async () => {
      await server.reset();
      const table = await client.newTable('busy');
      await server.snapshot('busy');
      const sdk = TableClient.fromConnectionString(server.connectionString(), table, {
        allowInsecureConnection: true,
        retryOptions: { maxRetries: 0 },
      });
      const state = { stop: false, writes: 0 };
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let index = 0; !state.stop; index += 1) {
          // Two rows of one transaction: a restore must keep both or none.
          const rowKey = `${writer}-${index}`;
          await sdk.submitTransaction([
            ['create', { partitionKey: 'p', rowKey: `${rowKey}-a` }],
            ['create', { partitionKey: 'p', rowKey: `${rowKey}-b` }],
          ]);
          state.writes += 1;
        }
      });
      for (let round = 0; round < 10; round += 1) {
        const before = state.writes;
        while (state.writes === before) await new Promise((resolve) => setImmediate(resolve));
        await server.restore('busy');
        const rows = await client.rowKeys(table);
        assert.equal(rows.length % 2, 0);
      }
      state.stop = true;
      await Promise.all(writers);
      await server.restore('busy');
      assert.deepEqual(await client.rowKeys(table), []);
    });

    it('lists its snapshots and forgets them', async () => {
      for (const { name: old } of server.snapshots) server.deleteSnapshot(old);
      await server.reset();
      await server.snapshot('a');
      await client.newTable('listed');
      await server.snapshot('b');
      const shown = server.snapshots.map(({ name: each, entries }) => [each, entries > 0]);
      assert.deepEqual(shown, [
        ['a', false],
        ['b', true],
      ]);
      assert.ok((server.snapshots[0]?.takenMicros ?? 0) > 1.7e15);
      assert.equal(server.deleteSnapshot('a'), true);
      assert.equal(server.deleteSnapshot('a'), false);
      await assert.rejects(server.restore('a'), (error: unknown) => {
        assert.ok(error instanceof SnapshotError);
        assert.equal(error.message, "There is no snapshot 'a'; there is: b.");
        return true;
      });
      await assert.rejects(server.snapshot('no/name'), SnapshotError);
      await server.restore('b');
    });
  });
}
