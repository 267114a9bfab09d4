import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { createServer } from '../../src/app/index.js';
import { RemotePartitions } from '../../src/cli/partition/remote.js';
import { operationEnd } from '../../src/cli/partition/waiting.js';
import { postgresOfSuite } from '../support/postgres-of-suite.js';
import { withoutPostgres } from '../support/postgres-server.js';
import { costly } from '../support/run-length.js';

void describe('two servers over databases', costly(withoutPostgres), () => {
  const server = postgresOfSuite();

  void it('serve the same ranges, whichever of them moves them, and the same blobs', async (t) => {
    const location = await mkdtemp(join(tmpdir(), 'tabularium-databases-'));
    const postgresUrl = server().url;
    const stores = { b: { postgresUrl, postgresSchema: 'spread_b' } };
    const data = { location, postgresUrl, postgresSchema: 'spread_home', stores };
    const first = await createServer({ ...data, controlPort: 0 });
    const second = await createServer({ ...data, controlPort: 0 });
    t.after(async () => {
      await second.close();
      await first.close();
      await rm(location, { recursive: true, force: true });
    });
    const tables = [first, second].map((each) =>
      TableClient.fromConnectionString(each.connectionString(), 'people', {
        allowInsecureConnection: true,
      }),
    );
    const [here, there] = tables;
    assert.ok(here !== undefined && there !== undefined);
    await here.createTable();
    await here.createEntity({ partitionKey: 'a', rowKey: '1' });
    const { etag } = await there.createEntity({ partitionKey: 'm', rowKey: '1' });
    const control = new RemotePartitions(first.controlPort ?? 0);
    const split = await control.split(2, 'table/devstoreaccount1/people/b');
    assert.equal((await operationEnd(control, split.operation)).state, 'done');
    const last = (await control.list()).ranges.at(-1);
    const moved = await control.move(last?.range ?? 0, 'b');
    assert.equal((await operationEnd(control, moved.operation)).state, 'done');
    // The second server finds out by itself.
    assert.equal((await there.getEntity('m', '1')).etag, etag);
    await there.createEntity({ partitionKey: 'm', rowKey: '2' });
    assert.equal((await here.getEntity('m', '2')).partitionKey, 'm');
    const seen = await new RemotePartitions(second.controlPort ?? 0).list();
    assert.equal(seen.ranges.at(-1)?.store, 'b');
    const boxes = [first, second].map((each) =>
      BlobServiceClient.fromConnectionString(each.connectionString()).getContainerClient('box'),
    );
    await boxes[0]?.create();
    const bytes = Buffer.alloc(100_000, 'content');
    await boxes[0]?.uploadBlockBlob('large', bytes, bytes.length);
    const read = await boxes[1]?.getBlobClient('large').downloadToBuffer();
    assert.ok(read?.equals(bytes));
    await boxes[1]?.uploadBlockBlob('large', 'small', 5);
    const again = await boxes[0]?.getBlobClient('large').downloadToBuffer();
    assert.equal(again?.toString(), 'small');
    const empty = { b: { postgresUrl, postgresSchema: 'spread_none' } };
    await assert.rejects(
      createServer({ ...data, stores: empty }),
      /schema spread_none has nothing of the store 'b'/,
    );
    const emptyHome = { ...data, postgresSchema: 'spread_nowhere' };
    await assert.rejects(createServer(emptyHome), /schema spread_nowhere is empty\. Is the disk/);
  });
});
