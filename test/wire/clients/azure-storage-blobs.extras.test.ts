import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import {
  legacyCall as call,
  legacyNames,
  legacyRefusal as answerOf,
  loadLegacyClient,
} from '../../support/legacy-client.js';
import { startFixture } from '../kit/server.js';

// The legacy Node client: version 2018-03-28, which is before tags, versions and large requests.

interface Blob {
  readonly name: string;
  readonly contentLength?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly contentSettings?: { readonly contentType?: string };
  readonly snapshot?: string;
  readonly exists?: boolean;
  readonly copy?: { readonly id: string; readonly status: string };
}

interface Page {
  readonly entries: readonly Blob[];
  readonly continuationToken: unknown;
}

const azure = loadLegacyClient();
const { server } = await startFixture({});
const service = azure.createBlobService(server.connectionString());
const newContainer = legacyNames((name, done) => service.createContainer(name, done));

const put = (container: string, name: string, text: string, options: object = {}) =>
  call<Blob>((done) => service.createBlockBlobFromText(container, name, text, options, done));
const textOf = (container: string, name: string, options: object = {}) =>
  call<string>((done) => service.getBlobToText(container, name, options, done));
const propertiesOf = (container: string, name: string) =>
  call<Blob>((done) => service.getBlobProperties(container, name, done));

describe('azure-storage: blobs', () => {
  it('makes containers once, and lists them', async () => {
    type Created = Blob & { readonly created?: boolean };
    const create = () =>
      call<Created>((done) => service.createContainerIfNotExists('legacy-once', done));
    assert.deepEqual([(await create()).created, (await create()).created], [true, false]);
    const { entries } = await call<Page>((done) => service.listContainersSegmented(null, done));
    assert.ok(entries.some(({ name }) => name === 'legacy-once'));
  });

  it('writes, reads, lists and deletes', async () => {
    const container = await newContainer();
    const contentSettings = { contentType: 'text/plain' };
    await put(container, 'a/kůň.txt', 'neigh', { contentSettings, metadata: { sound: 'loud' } });
    await put(container, 'b', 'x');
    assert.equal(await textOf(container, 'a/kůň.txt'), 'neigh');
    assert.equal(await textOf(container, 'a/kůň.txt', { rangeStart: 1, rangeEnd: 2 }), 'ei');
    const shown = await propertiesOf(container, 'a/kůň.txt');
    assert.deepEqual(
      [shown.contentLength, shown.contentSettings?.contentType, shown.metadata],
      ['5', 'text/plain', { sound: 'loud' }],
    );
    const list = (prefix: string) =>
      call<Page>((done) =>
        service.listBlobsSegmentedWithPrefix(container, prefix, null, { maxResults: 1 }, done),
      );
    const first = await list('');
    assert.deepEqual(
      first.entries.map(({ name }) => name),
      ['a/kůň.txt'],
    );
    assert.ok(first.continuationToken !== null);
    const { entries } = await call<Page>((done) =>
      service.listBlobDirectoriesSegmentedWithPrefix(container, '', null, done),
    );
    assert.deepEqual(
      entries.map(({ name }) => name),
      ['a/'],
    );
    await call((done) => service.deleteBlob(container, 'b', done));
    assert.equal(await answerOf(textOf(container, 'b')), '404 BlobNotFound');
    const { exists } = await call<Blob>((done) => service.doesBlobExist(container, 'b', done));
    assert.equal(exists, false);
  });

  it('sends streams in blocks', async () => {
    const container = await newContainer();
    const content = Buffer.alloc(5 * 1024 * 1024 + 3, 'blocks');
    const stream = Readable.from([content.subarray(0, 1000), content.subarray(1000)]);
    const { length } = content;
    await call((done) =>
      service.createBlockBlobFromStream(
        container,
        'large',
        stream,
        length,
        { blockSize: 1024 * 1024, storeBlobContentMD5: true },
        done,
      ),
    );
    assert.equal(await textOf(container, 'large'), content.toString());
    const ids = ['0001', '0002'];
    for (const id of ids) {
      await call((done) => service.createBlockFromText(id, container, 'blocks', id, done));
    }
    await call((done) => service.commitBlocks(container, 'blocks', { LatestBlocks: ids }, done));
    assert.equal(await textOf(container, 'blocks'), '00010002');
  });

  it('appends, and writes pages', async () => {
    const container = await newContainer();
    await call((done) => service.createAppendBlobFromText(container, 'log', 'one', done));
    await call((done) => service.appendFromText(container, 'log', 'two', done));
    assert.equal(await textOf(container, 'log'), 'onetwo');
    await call((done) => service.createPageBlob(container, 'disk', 2048, done));
    const page = Readable.from([Buffer.alloc(512, 'p')]);
    await call((done) => service.createPagesFromStream(container, 'disk', page, 512, 1023, done));
    const ranges = await call<{ start: number; end: number }[]>((done) =>
      service.listPageRanges(container, 'disk', done),
    );
    assert.deepEqual(
      ranges.map(({ start, end }) => [start, end]),
      [[512, 1023]],
    );
  });

  it('copies, takes snapshots and leases', async () => {
    const container = await newContainer();
    await put(container, 'source', 'content');
    const url = service.getUrl(container, 'source');
    const copied = await call<Blob>((done) =>
      service.startCopyBlob(url, container, 'target', done),
    );
    assert.equal(copied.copy?.status, 'success');
    assert.equal(await textOf(container, 'target'), 'content');
    const snapshotId = await call<string>((done) =>
      service.createBlobSnapshot(container, 'source', done),
    );
    await put(container, 'source', 'changed');
    assert.equal(await textOf(container, 'source', { snapshotId }), 'content');
    const { id: leaseId } = await call<{ id: string }>((done) =>
      service.acquireLease(container, 'target', done),
    );
    assert.equal(await answerOf(put(container, 'target', 'x')), '412 LeaseIdMissing');
    await put(container, 'target', 'held', { leaseId });
    await call((done) => service.releaseLease(container, 'target', leaseId, done));
    const options = { accessConditions: { EtagMatch: '"0x1"' } };
    assert.equal(await answerOf(put(container, 'target', 'x', options)), '412 ConditionNotMet');
  });

  it('reads with a signature alone', async () => {
    const container = await newContainer();
    await put(container, 'one', 'signed');
    const token = service.generateSharedAccessSignature(container, 'one', {
      AccessPolicy: { Permissions: 'r', Expiry: new Date(Date.now() + 3_600_000) },
    });
    const answer = await fetch(service.getUrl(container, 'one', token));
    assert.deepEqual([answer.status, await answer.text()], [200, 'signed']);
    const other = await fetch(service.getUrl(container, 'two', token));
    assert.equal(other.status, 403);
  });
});
