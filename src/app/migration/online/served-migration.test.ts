import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { systemClock } from '../../../base/clock.js';
import { openLmdbStore } from '../../../engines/lmdb/store.js';
import { createServer, type TabulariumServer } from '../../server.js';
import { takeBack } from '../offline/interrupted-move.js';
import { migrate } from '../offline/migrate.js';
import { moveNotePut } from '../../moves/move-note.js';
import { shownLocation } from '../data-location.js';
import { costly } from '../../../../test/support/run-length.js';

const silent = { begin: () => undefined, progress: () => undefined };
const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-served-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Info {
  readonly state: string;
  readonly problem?: string;
}

async function ask(server: TabulariumServer, method: string, body?: object) {
  const address = `http://127.0.0.1:${server.controlPort ?? 0}/migration`;
  const text = body && JSON.stringify(body);
  const response = await fetch(address, { method, ...(text !== undefined && { body: text }) });
  return { status: response.status, body: (await response.json()) as Info & { error?: string } };
}

async function end(server: TabulariumServer): Promise<Info> {
  for (;;) {
    const { body } = await ask(server, 'GET');
    if (body.state !== 'running') return body;
    await pause(5);
  }
}

void describe('a server whose data move while it serves', () => {
  void it('hands over rows and blobs, and sends clients away', costly(), async (t) => {
    const folder = await folderOf(t);
    const [source, target] = [join(folder, 'source'), join(folder, 'target')];
    const first = await createServer({ location: source, controlPort: 0 });
    const people = TableClient.fromConnectionString(first.connectionString(), 'people', options);
    await people.createTable();
    await people.createEntity({ partitionKey: 'a', rowKey: 'before', text: 'row' });
    const box = BlobServiceClient.fromConnectionString(first.connectionString(), {
      retryOptions: { maxTries: 1 },
    }).getContainerClient('box');
    await box.create();
    const bytes = Buffer.alloc(100_000, 'content');
    for (const name of ['kept', 'deleted', 'copied']) {
      await box.uploadBlockBlob(name, bytes, bytes.length);
    }

    assert.equal((await ask(first, 'GET')).status, 404);
    const wrong = await ask(first, 'POST', { location: 'relative' });
    assert.deepEqual(
      [wrong.status, wrong.body.error],
      [400, 'location must be the absolute path of a directory.'],
    );
    assert.equal((await ask(first, 'POST', { location: source })).status, 409);

    const acknowledged = new Map<string, string>();
    const write = async (): Promise<number> => {
      for (let count = 0; ; count += 1) {
        const rowKey = `row ${count}`;
        try {
          const { etag = '' } = await people.createEntity({ partitionKey: 'a', rowKey });
          acknowledged.set(rowKey, etag);
          if (count % 5 === 0) await box.uploadBlockBlob(`blob ${count}`, bytes, bytes.length);
          if (count === 0) await box.deleteBlob('deleted');
        } catch (error) {
          const { statusCode } = error as { statusCode?: number };
          return statusCode ?? 0;
        }
      }
    };
    const writing = write();
    assert.equal((await ask(first, 'POST', { location: target })).status, 202);
    const ended = await end(first);
    assert.deepEqual([ended.state, ended.problem], ['done', undefined]);
    assert.equal(await writing, 503);
    await assert.rejects(people.getEntity('a', 'before'), {
      statusCode: 503,
      message: /in another location by now\. Connect to the servers that have them/,
    });
    const health = await fetch(new URL('/healthz', first.tableEndpoint));
    assert.deepEqual(await health.json(), { status: 'unavailable', reason: 'moved' });
    assert.match((await ask(first, 'POST', { location: target })).body.error ?? '', /already\.$/);
    await first.close();
    await assert.rejects(
      createServer({ location: source }),
      /All data have moved to .*target: start servers there/,
    );
    // The next start looks for copied extents of deleted blobs by this mark.
    await stat(join(target, 'content', 'suspect-all'));

    const second = await createServer({ location: target });
    const moved = TableClient.fromConnectionString(second.connectionString(), 'people', options);
    for (const [rowKey, etag] of acknowledged) {
      assert.equal((await moved.getEntity('a', rowKey)).etag, etag, rowKey);
    }
    const blobs = BlobServiceClient.fromConnectionString(second.connectionString());
    const container = blobs.getContainerClient('box');
    let count = 0;
    for await (const { name } of container.listBlobsFlat()) {
      count += 1;
      const found = await container.getBlobClient(name).downloadToBuffer();
      assert.ok(found.equals(bytes), name);
    }
    assert.ok(count >= 2);
    await second.close();
  });

  void it('refuses where others may write, and nothing else', async (t) => {
    const folder = await folderOf(t);
    const goal = { location: join(folder, 'target') };
    for (const given of [
      { inMemory: true },
      { location: join(folder, 'a'), journal: 'off' },
    ] as const) {
      const server = await createServer({ ...given, controlPort: 0 });
      const { status, body } = await ask(server, 'POST', goal);
      assert.equal(status, 409);
      assert.match(body.error ?? '', /cannot move while it serves: that needs a data directory/);
      await server.close();
    }
    await assert.rejects(stat(goal.location), { code: 'ENOENT' });
  });

  void it(
    'is finished or taken back where its server ended while it switched',
    costly(),
    async (t) => {
      const folder = await folderOf(t);
      const [from, to, other] = ['from', 'to', 'other'].map((name) => ({
        location: join(folder, name),
      })) as [{ location: string }, { location: string }, { location: string }];
      const server = await createServer({ ...from, init: { tables: { people: {} } } });
      await server.close();
      const note = async (): Promise<void> => {
        const store = await openLmdbStore({ directory: from.location, clock: systemClock });
        const put = moveNotePut({ to: shownLocation(to), isOver: false });
        await store.commit({ checks: [], puts: [put], deletes: [] });
        await store.close();
      };
      await note();
      await assert.rejects(createServer(from), /were moving to .*to when the server ended/);
      await assert.rejects(
        migrate(from, other, silent),
        /were moving to .*to when the server ended/,
      );
      await assert.rejects(takeBack(from, other), /were to move to .*to, not to .*other/);

      await takeBack(from, to);
      await (await createServer(from)).close();
      await assert.rejects(takeBack(from, to), /there is nothing to take back/);

      await note();
      await migrate(from, to, silent);
      await assert.rejects(createServer(from), /All data have moved to .*to: start servers there/);
      await assert.rejects(takeBack(from, to), /has taken over: what .* has is old/);
      await assert.rejects(migrate(from, to, silent), /has taken over already: servers may use it/);
      await (await createServer(to)).close();
    },
  );
});
