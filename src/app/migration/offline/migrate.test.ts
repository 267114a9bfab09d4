import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rename, rm, rmdir, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { TableClient } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { systemClock } from '../../../base/clock.js';
import { StoredExtents } from '../../../content/files/stored-extents.js';
import { openLmdbStore } from '../../../engines/lmdb/store.js';
import { partitionPrefix } from '../../../kv/partition-prefix.js';
import { prefixRange } from '../../../kv/tuple.js';
import { createServer } from '../../server.js';
import { migrate, type MigrationListener } from './migrate.js';
import { costly } from '../../../../test/support/run-length.js';

const silent: MigrationListener = { begin: () => undefined, progress: () => undefined };

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-migration-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const partition = partitionPrefix('tables', 'account', 1, 'partition');

function keyOf(number: number): Buffer {
  return Buffer.concat([partition, Buffer.from(String(number).padStart(6, '0'))]);
}

/** A data directory with `count` entries, each with a version of its own. */
async function fill(directory: string, count: number, first = 0): Promise<void> {
  const store = await openLmdbStore({ directory, clock: systemClock });
  const entries = Array.from({ length: count }, (_, at) => ({
    key: keyOf(first + at),
    value: Buffer.from(`value ${at}`),
    version: 5_000_000 + (((first + at) * 7_919) % 100_003),
  }));
  await store.ingest({ entries, deletes: [], floor: 6_000_000 });
  await store.close();
}

/** Throws when this number of bytes of entries were copied. */
function cutAfter(bytes: number): MigrationListener {
  let phase = '';
  let copied = 0;
  return {
    begin: (begun) => {
      phase = begun;
    },
    progress: (more) => {
      if (phase !== 'copying entries') return;
      copied += more;
      if (copied > bytes) throw new Error('cut off');
    },
  };
}

function assertCopyFails(copy: () => Promise<unknown>): Promise<void> {
  return assert.rejects(copy, (error: Error) => {
    assert.equal(error.name, 'MigrationError');
    assert.match(
      error.message,
      /^The content of the blob box\/large of \S+ cannot be copied: .*EISDIR/,
    );
    return true;
  });
}

void describe('a migration', () => {
  void it('takes rows with their etags, and blobs with their bytes', costly(), async (t) => {
    const folder = await folderOf(t);
    const [source, target] = [join(folder, 'source'), join(folder, 'target')];
    const options = { allowInsecureConnection: true };
    const bytes = Buffer.alloc(100_000, 'content');
    const first = await createServer({ location: source });
    const people = TableClient.fromConnectionString(first.connectionString(), 'people', options);
    await people.createTable();
    const { etag } = await people.createEntity({ partitionKey: 'a', rowKey: 'b', text: 'row' });
    const box = BlobServiceClient.fromConnectionString(first.connectionString()).getContainerClient(
      'box',
    );
    await box.createIfNotExists({ access: 'blob' });
    await box.uploadBlockBlob('original', bytes, bytes.length);
    // Both blobs have one file.
    const copy = await box
      .getBlobClient('copy')
      .beginCopyFromURL(box.getBlobClient('original').url);
    await copy.pollUntilDone();
    await first.close();

    const done = await migrate({ location: source }, { location: target }, silent);
    assert.deepEqual(done.content, { files: 2, bytes: 200_000 });
    const extents = new StoredExtents(target);
    assert.equal(await extents.count(), 2);

    const second = await createServer({ location: target });
    const moved = TableClient.fromConnectionString(second.connectionString(), 'people', options);
    const entity = await moved.getEntity('a', 'b');
    assert.deepEqual([entity.etag, entity['text']], [etag, 'row']);
    const blobs = BlobServiceClient.fromConnectionString(second.connectionString());
    const container = blobs.getContainerClient('box');
    for (const name of ['original', 'copy']) {
      assert.ok((await container.getBlobClient(name).downloadToBuffer()).equals(bytes), name);
    }
    await second.close();
  });

  void it('says of which blob it could not copy the content, and goes on afterwards', async (t) => {
    const folder = await folderOf(t);
    const [location, target] = [join(folder, 'from'), join(folder, 'to')];
    const server = await createServer({ location });
    const container = BlobServiceClient.fromConnectionString(
      server.connectionString(),
    ).getContainerClient('box');
    await container.create();
    await container.getBlockBlobClient('large').uploadData(Buffer.alloc(100_000, 'x'));
    await server.close();
    const extents = join(location, 'content', 'extents');
    const [extent = ''] = (await readdir(extents, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    await rename(extent, `${location}-extent`);
    await mkdir(extent);
    await assertCopyFails(() => migrate({ location }, { location: target }, silent));
    await rmdir(extent);
    await rename(`${location}-extent`, extent);
    const { content } = await migrate({ location }, { location: target }, silent);
    assert.equal(content.files, 1);
  });

  void it(
    'goes on where one was cut off, and no server takes a copy before its end',
    costly(),
    async (t) => {
      const folder = await folderOf(t);
      const [source, target] = [join(folder, 'source'), join(folder, 'target')];
      await fill(source, 3_500);
      const cut = migrate({ location: source }, { location: target }, cutAfter(20_000));
      await assert.rejects(cut, /^Error: cut off$/);
      await assert.rejects(
        createServer({ location: target }),
        /The data are an unfinished copy of .*source\. Finish it: tabularium migrate/,
      );
      const done = await migrate({ location: source }, { location: target }, silent);
      assert.ok(done.entriesBefore > 0 && done.entriesBefore < 3_500, `${done.entriesBefore}`);
      assert.equal(done.summary.entries, 3_500);

      const [before, after] = await Promise.all(
        [source, target].map(async (directory) => {
          const store = await openLmdbStore({ directory, clock: systemClock });
          const { entries } = await store.range(prefixRange(partition), {
            limit: 9_999,
            bytesMax: 9_999_999,
          });
          await store.close();
          return entries;
        }),
      );
      assert.equal(after?.length, 3_500);
      assert.deepEqual(after, before);
      const server = await createServer({ location: target });
      await server.close();
    },
  );

  void it('refuses a target with data, and goes on with no copy of another state', async (t) => {
    const folder = await folderOf(t);
    const [source, other, target] = ['source', 'other', 'target'].map((name) => ({
      location: join(folder, name),
    })) as [{ location: string }, { location: string }, { location: string }];
    await fill(source.location, 2_500);
    await fill(other.location, 1);
    await assert.rejects(
      migrate(source, other, silent),
      /other is not empty\. Nothing was changed/,
    );
    await assert.rejects(migrate(source, source, silent), /Source and target are the same/);
    await symlink(source.location, join(folder, 'link'));
    for (const within of [source.location, join(folder, 'link')]) {
      const inside = { location: join(within, 'new', 'data') };
      await assert.rejects(
        migrate(source, inside, silent),
        /new.data is inside of .*source, which/,
      );
      await assert.rejects(stat(join(within, 'new')), { code: 'ENOENT' });
    }
    const nothing = { location: join(folder, 'nothing') };
    await assert.rejects(migrate(nothing, target, silent), /There are no data in .*nothing/);
    await assert.rejects(stat(target.location), { code: 'ENOENT' });

    await assert.rejects(migrate(source, target, cutAfter(20_000)), /cut off/);
    await assert.rejects(
      migrate(other, target, silent),
      /target has an unfinished copy of .*source\. Finish that/,
    );
    const store = await openLmdbStore({ directory: source.location, clock: systemClock });
    await store.commit({
      checks: [],
      puts: [{ key: keyOf(0), value: Buffer.from('changed') }],
      deletes: [],
    });
    await store.close();
    await assert.rejects(
      migrate(source, target, silent),
      /source was written to since the copy in .*target was begun\. Remove that copy/,
    );
  });
});
