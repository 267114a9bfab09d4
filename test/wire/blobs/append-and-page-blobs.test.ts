import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { assertStatus } from '../kit/errors.js';
import { refused } from '../kit/official-blobs.js';

const started = await startServer({});
const { server } = started;
const wire = BlobWireClient.of(server);
const service = BlobServiceClient.fromConnectionString(server.connectionString(), {
  retryOptions: { maxTries: 1 },
});
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

let containers = 0;
async function container() {
  containers += 1;
  const made = service.getContainerClient(`others-${containers}`);
  await made.create();
  return made;
}

const page = (text: string, count = 1) => Buffer.alloc(512 * count, text);

describe('an incremental copy of a page blob', () => {
  it('has a snapshot for each that was copied', async () => {
    const blobs = await container();
    const disk = blobs.getPageBlobClient('disk');
    const backup = blobs.getPageBlobClient('backup');
    await disk.create(1024);
    await disk.uploadPages(page('1'), 0, 512);
    const { snapshot: first = '' } = await disk.createSnapshot();
    const source = `${disk.url}?snapshot=${encodeURIComponent(first)}`;
    assert.equal((await backup.startCopyIncremental(source)).copyStatus, 'success');
    const shown = await backup.getProperties();
    assert.equal(shown.isIncrementalCopy, true);
    const made = backup.withSnapshot(shown.destinationSnapshot ?? '');
    assert.ok((await made.downloadToBuffer(0, 512)).equals(page('1')));
    const reading = await refused(backup.downloadToBuffer(0, 512));
    assert.equal(reading[0], 409);
    const items = [];
    for await (const item of blobs.listBlobsFlat({ includeSnapshots: true, prefix: 'b' })) {
      items.push(item);
    }
    const copies = items.filter(({ properties }) => properties.incrementalCopy === true);
    assert.deepEqual([items.length, copies.length], [2, 1]);
    assert.equal(copies[0]?.properties.destinationSnapshot, shown.destinationSnapshot);
    const noSnapshot = await refused(backup.startCopyIncremental(disk.url));
    assert.deepEqual(noSnapshot, [409, 'IncrementalCopySourceMustBeSnapshot']);
  });
});

describe('an append blob', () => {
  it('is not made with a size of its own, which page blobs alone have', async () => {
    const { containerName } = await container();
    const headers = { 'x-ms-blob-type': 'AppendBlob', 'x-ms-blob-content-length': '512' };
    const made = await wire.send({ method: 'PUT', path: `/${containerName}/log`, headers });
    assertStatus(made, 400);
    assert.equal(made.header('x-ms-error-code'), 'InvalidHeaderValue');
  });

  it('is created, grows, is sealed, and keeps its snapshots', async () => {
    const blob = (await container()).getAppendBlobClient('log');
    const created = await blob.create({
      blobHTTPHeaders: { blobContentType: 'text/plain' },
      metadata: { a: 'b' },
      tags: { kind: 'log' },
    });
    const first = await blob.appendBlock('Hello ', 6);
    assert.deepEqual([first.blobAppendOffset, first.blobCommittedBlockCount], ['0', 1]);
    assert.notEqual(first.etag, created.etag);
    const { snapshot } = await blob.createSnapshot();
    const second = await blob.appendBlock('World', 5, { conditions: { appendPosition: 6 } });
    assert.deepEqual([second.blobAppendOffset, second.blobCommittedBlockCount], ['6', 2]);
    assert.equal((await blob.downloadToBuffer()).toString(), 'Hello World');
    const before = blob.withSnapshot(snapshot ?? '');
    assert.equal((await before.downloadToBuffer()).toString(), 'Hello ');
    assert.deepEqual(
      await refused(blob.appendBlock('x', 1, { conditions: { appendPosition: 6 } })),
      [412, 'AppendPositionConditionNotMet'],
    );
    assert.deepEqual(await refused(blob.appendBlock('x', 1, { conditions: { maxSize: 11 } })), [
      412,
      'MaxBlobSizeConditionNotMet',
    ]);
    await blob.seal();
    assert.deepEqual(await refused(blob.appendBlock('x', 1)), [409, 'BlobIsSealed']);
    const shown = await blob.getProperties();
    assert.deepEqual(
      [shown.blobType, shown.contentType, shown.metadata, shown.blobCommittedBlockCount],
      ['AppendBlob', 'text/plain', { a: 'b' }, 2],
    );
    assert.equal(shown.isSealed, true);
    assert.deepEqual(await refused(blob.delete()), [409, 'SnapshotsPresent']);
    await blob.delete({ deleteSnapshots: 'only' });
    assert.deepEqual(await refused(before.getProperties()), [404, '']);
    await blob.delete();
  });

  it('takes what many clients append at the same time', async () => {
    const blob = (await container()).getAppendBlobClient('log');
    await blob.create();
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`);
    await Promise.all(lines.map((line) => blob.appendBlock(line, line.length)));
    const text = (await blob.downloadToBuffer()).toString();
    assert.deepEqual(
      text.split('\n').toSorted(),
      [...lines.map((line) => line.trim()), ''].toSorted(),
    );
  });

  it('refuses bodies that are empty, too long or damaged', async () => {
    const name = await wire.newContainer();
    const path = `/${name}/log`;
    const create = { 'x-ms-blob-type': 'AppendBlob' };
    assertStatus(
      await wire.send({ method: 'PUT', path, headers: create, body: 'x' }),
      400,
      'InvalidHeaderValue',
    );
    await wire.expect(201, { method: 'PUT', path, headers: create });
    const append = (body: Buffer, headers = {}) =>
      wire.send({ method: 'PUT', path: `${path}?comp=appendblock`, body, headers });
    assertStatus(await append(Buffer.alloc(0)), 400, 'InvalidHeaderValue');
    const older = { 'x-ms-version': '2021-12-02' };
    assertStatus(
      await append(Buffer.alloc(4 * 1024 * 1024 + 1), older),
      413,
      'RequestBodyTooLarge',
    );
    const wrong = { 'Content-MD5': 'XrY7u+Ae7tCTyyK7j1rNww==' };
    assertStatus(await append(Buffer.from('x'), wrong), 400, 'Md5Mismatch');
    const { head } = await wire.expect(200, { method: 'HEAD', path });
    assert.match(head, /^Content-Length: 0\r?$/im);
  });
});

describe('a page blob', () => {
  it('is created, written, cleared, compared with its snapshot, resized and deleted', async () => {
    const blob = (await container()).getPageBlobClient('disk');
    await blob.create(4096, { blobSequenceNumber: 7, metadata: { a: 'b' } });
    const written = await blob.uploadPages(page('a', 2), 0, 1024);
    assert.equal(written.blobSequenceNumber, 7);
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.uploadPages(page('b'), 2048, 512);
    await blob.clearPages(0, 512);
    const bytes = await blob.downloadToBuffer();
    const wanted = Buffer.alloc(4096);
    page('a').copy(wanted, 512);
    page('b').copy(wanted, 2048);
    assert.ok(bytes.equals(wanted));
    const ranges = await blob.getPageRanges();
    // The client counts the last byte out.
    assert.deepEqual(ranges.pageRange, [
      { offset: 512, count: 511 },
      { offset: 2048, count: 511 },
    ]);
    assert.equal(ranges.blobContentLength, 4096);
    const changes = await blob.getPageRangesDiff(0, 4096, snapshot);
    assert.deepEqual(changes.pageRange, [{ offset: 2048, count: 511 }]);
    assert.deepEqual(changes.clearRange, [{ offset: 0, count: 511 }]);
    const before = await blob.withSnapshot(snapshot).downloadToBuffer(0, 1024);
    assert.ok(before.equals(page('a', 2)));
    assert.deepEqual(
      await refused(
        blob.uploadPages(page('c'), 0, 512, { conditions: { ifSequenceNumberLessThan: 7 } }),
      ),
      [412, 'SequenceNumberConditionNotMet'],
    );
    assert.deepEqual(await refused(blob.uploadPages(page('c'), 4096, 512)), [
      416,
      'InvalidPageRange',
    ]);
    const one = await blob.listPageRanges(0, 4096).byPage({ maxPageSize: 1 }).next();
    assert.equal(one.done, false);
    const resized = await blob.resize(1024);
    assert.equal(resized.blobSequenceNumber, 7);
    const numbered = await blob.updateSequenceNumber('max', 9);
    assert.equal(numbered.blobSequenceNumber, 9);
    assert.equal((await blob.updateSequenceNumber('increment')).blobSequenceNumber, 10);
    assert.equal((await blob.getProperties()).contentLength, 1024);
    await blob.delete({ deleteSnapshots: 'include' });
    assert.equal(await blob.exists(), false);
  });

  it('refuses sizes and ranges that are none of pages', async () => {
    const name = await wire.newContainer();
    const path = `/${name}/disk`;
    const create = (size: string) => ({
      'x-ms-blob-type': 'PageBlob',
      'x-ms-blob-content-length': size,
    });
    for (const size of ['511', 'x', '8796093022720']) {
      const sent = await wire.send({ method: 'PUT', path, headers: create(size) });
      assertStatus(sent, 400, 'InvalidHeaderValue');
    }
    const untold = { 'x-ms-blob-type': 'PageBlob' };
    assertStatus(
      await wire.send({ method: 'PUT', path, headers: untold }),
      400,
      'MissingRequiredHeader',
    );
    await wire.expect(201, { method: 'PUT', path, headers: create('1024') });
    const put = (range: string, body: Buffer, write = 'update') =>
      wire.send({
        method: 'PUT',
        path: `${path}?comp=page`,
        headers: { 'x-ms-page-write': write, 'x-ms-range': range },
        body,
      });
    assertStatus(await put('bytes=0-511', page('a')), 201);
    assertStatus(await put('bytes=1-512', page('a')), 416, 'InvalidPageRange');
    assertStatus(await put('bytes=0-1023', page('a')), 400, 'InvalidHeaderValue');
    assertStatus(await put('bytes=0-511', page('a'), 'other'), 400, 'InvalidHeaderValue');
    assertStatus(await put('bytes=0-511', page('a'), 'clear'), 400, 'InvalidHeaderValue');
    assertStatus(await put('bytes=0-511', Buffer.alloc(0), 'clear'), 201);
    const list = `${path}?comp=pagelist`;
    assert.match((await wire.expect(200, { path: list })).text, /<PageList \/>/);
    const previous = `${list}&prevsnapshot=2020-01-01T00:00:00.0000000Z`;
    assertStatus(await wire.send({ path: previous }), 409, 'PreviousSnapshotNotFound');
  });
});

describe('a write to a snapshot or to a version', () => {
  const block = { 'x-ms-blob-type': 'BlockBlob' };
  const writes: readonly (readonly [
    name: string,
    query: string,
    headers: Record<string, string>,
    body?: string,
  ])[] = [
    ['Put Blob', '', block, 'y'],
    ['Put Blob of an append blob', '', { 'x-ms-blob-type': 'AppendBlob' }],
    ['Put Block', '&comp=block&blockid=AAAA', {}, 'y'],
    ['Put Block List', '&comp=blocklist', {}, '<BlockList/>'],
    ['Append Block', '&comp=appendblock', {}, 'y'],
    ['Set Blob Metadata', '&comp=metadata', { 'x-ms-meta-a': 'b' }],
    ['Set Blob Properties', '&comp=properties', { 'x-ms-blob-content-type': 'a/b' }],
    ['Set Blob Tags', '&comp=tags', {}, '<Tags><TagSet/></Tags>'],
    ['Snapshot Blob', '&comp=snapshot', {}],
    ['Lease Blob', '&comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }],
  ];
  for (const [name, query, headers, body = ''] of writes) {
    it(`is refused by ${name}, and the blob stays as it is`, async () => {
      const path = `/${await wire.newContainer()}/a`;
      await wire.expect(201, { method: 'PUT', path, headers: block, body: 'x' });
      const taken = await wire.expect(201, { method: 'PUT', path: `${path}?comp=snapshot` });
      const time = taken.header('x-ms-snapshot') ?? '';
      const etag = async () => (await wire.expect(200, { path })).header('etag');
      const before = await etag();
      for (const moment of [`snapshot=${time}`, `versionid=${time}`]) {
        const write = { method: 'PUT', path: `${path}?${moment}${query}`, headers, body };
        const answer = await wire.send(write);
        // The tags of a version may be set, and there is none of this time.
        const findsNone = moment.startsWith('versionid') && query === '&comp=tags';
        if (findsNone) assertStatus(answer, 404, 'BlobNotFound');
        else assertStatus(answer, 400, 'InvalidQueryParameterValue');
      }
      assert.equal(await etag(), before);
      const shown = await wire.expect(200, { path });
      assert.equal(shown.header('x-ms-lease-state'), 'available');
    });
  }
});
