import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import {
  BlobServiceClient,
  StorageSharedKeyCredential,
  type BlobItem,
  type ServiceListContainersSegmentResponse,
} from '@azure/storage-blob';
import { parseAuthorization } from '../auth/credential.js';
import { verifySharedKey } from '../auth/shared-key/shared-key.js';
import { parseBlobBatch } from '../batch/blob-batch.js';
import { renderBlobBatch } from '../batch/blob-batch-response.js';
import { renderBlockList, parseBlockList } from '../xml/blob-block-list.js';
import { renderContainerList } from '../xml/blob-container-list.js';
import { renderFindResult } from '../xml/blob-find-result.js';
import { renderBlobList, type ListedBlob } from '../xml/blob-list.js';
import { renderPageList } from '../xml/blob-page-list.js';
import { parseBlobTags, renderBlobTags } from '../xml/blob-tags.js';
import {
  blobProperties,
  parseServiceProperties,
  renderServiceProperties,
} from '../xml/service-properties.js';
import { etagHeader, etagText } from './etag.js';
import { parseTagsHeader } from './tags-header.js';
import { formatSnapshotTime } from './snapshot-time.js';

// The official client without a connection: it reads what this server writes, and this server
// reads and verifies what it sends.

const account = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const keys = [createSecretKey(Buffer.from(secret, 'base64'))];
const endpoint = `http://127.0.0.1:10000/${account}/`;
const version = '2021-12-02';
const micros = 1_584_599_008_030_077;

interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

interface Answer {
  readonly status?: number;
  readonly contentType?: string;
  readonly body?: Buffer;
}

/** A client that gets this answer to every request, and what it has sent. */
function clientOf(answer: Answer = {}): {
  readonly client: BlobServiceClient;
  readonly sent: Sent[];
} {
  const { status = 200, contentType = 'application/xml', body } = answer;
  const sent: Sent[] = [];
  const client = new BlobServiceClient(endpoint, new StorageSharedKeyCredential(account, secret), {
    retryOptions: { maxTries: 1 },
    httpClient: {
      sendRequest(request) {
        const { method, body: payload } = request;
        const names = request.headers.headerNames();
        const headers = names.map(
          (name) => [name.toLowerCase(), request.headers.get(name) ?? ''] as const,
        );
        const url = new URL(request.url);
        const text = typeof payload === 'string' ? payload : '';
        sent.push({ method, url, headers: new Map(headers), body: Buffer.from(text) });
        const answered = request.headers.clone();
        for (const name of names) answered.remove(name);
        answered.set('Content-Type', contentType);
        return Promise.resolve({
          request,
          status,
          headers: answered,
          bodyAsText: body?.toString() ?? '',
          // Answers to batches are read as a stream.
          readableStreamBody: Readable.from(body === undefined ? [] : [body]),
        });
      },
    },
  });
  return { client, sent };
}

/** The first request that the client sends, whatever becomes of it. */
async function sentBy(act: (client: BlobServiceClient) => Promise<unknown>): Promise<Sent> {
  const { client, sent } = clientOf({ status: 400 });
  await act(client).catch(() => undefined);
  const [first] = sent;
  assert.ok(first !== undefined);
  return first;
}

describe('@azure/storage-blob signs', () => {
  async function check(act: (client: BlobServiceClient) => Promise<unknown>): Promise<void> {
    const { method, url, headers } = await sentBy(act);
    const credential = parseAuthorization(headers.get('authorization') ?? '');
    verifySharedKey(
      credential,
      { name: account, keys },
      {
        form: 'blob-queue',
        method,
        rawPath: url.pathname,
        rawQuery: url.search.slice(1),
        version: headers.get('x-ms-version') ?? '',
        headers: [...headers].flat(),
      },
      { skewCheckedAtMicros: undefined },
    );
  }

  it('writes with encoding and language, metadata, tags and conditions', async () => {
    await check((client) =>
      client
        .getContainerClient('c')
        .getBlockBlobClient('dir/a b+ü%.txt')
        .upload('text', 4, {
          blobHTTPHeaders: { blobContentEncoding: 'gzip', blobContentLanguage: 'de' },
          metadata: { Some_Name: 'a', some2: '' },
          tags: { 'a b': 'c/d' },
          tier: 'Cool',
          conditions: { ifNoneMatch: '*', tagConditions: "a = 'b'" },
        }),
    );
  });

  it('lists with several includes, and ranges', async () => {
    await check((client) =>
      client
        .getContainerClient('c')
        .listBlobsByHierarchy('/', { prefix: 'a b/', includeMetadata: true, includeTags: true })
        .next(),
    );
    await check((client) => client.getContainerClient('c').getBlobClient('b').download(5, 10));
    await check((client) => client.listContainers({ prefix: 'ü&=' }).next());
  });
});

describe('@azure/storage-blob reads', () => {
  it('lists of blobs, with every name', async () => {
    const properties = {
      kind: 'append',
      bytes: 11,
      createdMicros: micros,
      modifiedMicros: micros,
      headers: { contentType: 'text/plain', contentMd5: Buffer.alloc(16, 1) },
      metadata: [['Colour', 'a & b']],
      tags: [['a b', 'c']],
      tier: { tier: 'Archive' },
      lease: { status: 'locked', state: 'leased', duration: 'fixed' },
      append: { isSealed: true },
      copy: { id: 'i', status: 'success', source: 'http://h/', bytesDone: 1, bytesTotal: 1 },
    } as const;
    // Carriage returns are left out: this client does not decode references by number.
    const names = [' leading and trailing ', 'b\nc', 'x\ufffey%41', '<&>\'"', '😀', 'plain'];
    const items = names.map((name): ListedBlob => ({ kind: 'blob', name, properties }));
    const body = renderBlobList({
      endpoint,
      container: 'c',
      version,
      prefix: '',
      delimiter: '/',
      include: { metadata: true, tags: true, copy: true, policies: true, legalHolds: true },
      items: [
        ...items,
        { kind: 'prefix', name: 'dir /' },
        { kind: 'blob', name: 'z', snapshotMicros: micros, properties },
      ],
      nextMarker: 'more',
    });
    const pages = clientOf({ body })
      .client.getContainerClient('c')
      .listBlobsByHierarchy('/', { includeMetadata: true })
      .byPage();
    const page = (await pages.next()).value;
    assert.equal(page?.continuationToken, 'more');
    const found: readonly BlobItem[] = page.segment.blobItems;
    assert.deepEqual(
      found.map(({ name }) => name),
      [...names, 'z'],
    );
    assert.deepEqual(
      page.segment.blobPrefixes?.map(({ name }: { name: string }) => name),
      ['dir /'],
    );
    const [first] = found;
    assert.ok(first !== undefined);
    assert.deepEqual(first.metadata, { Colour: 'a & b' });
    assert.deepEqual(first.tags, { 'a b': 'c' });
    assert.equal(first.properties.etag, etagText(micros));
    assert.equal(first.properties.contentLength, 11);
    assert.equal(first.properties.blobType, 'AppendBlob');
    assert.equal(first.properties.leaseState, 'leased');
    assert.equal(first.properties.copyStatus, 'success');
    assert.equal(first.properties.isSealed, true);
    assert.deepEqual(
      [...(first.properties.contentMD5 ?? [])],
      Array.from({ length: 16 }, () => 1),
    );
    assert.equal(found.at(-1)?.snapshot, formatSnapshotTime(micros));
  });

  it('lists of containers', async () => {
    const body = renderContainerList({
      endpoint,
      version,
      showsMetadata: true,
      containers: [
        {
          name: 'c1',
          modifiedMicros: micros,
          lease: { status: 'unlocked', state: 'available' },
          publicAccess: 'blob',
          metadata: [['Key', 'v']],
          hasImmutableStorage: true,
        },
      ],
    });
    const pages = clientOf({ body }).client.listContainers({ includeMetadata: true }).byPage();
    const page = (await pages.next()).value as ServiceListContainersSegmentResponse;
    const [found] = page.containerItems;
    assert.equal(found?.name, 'c1');
    assert.deepEqual(found.metadata, { Key: 'v' });
    assert.equal(found.properties.publicAccess, 'blob');
    assert.equal(found.properties.etag, etagHeader(micros));
  });

  it('block lists, page ranges, tags and what a search finds', async () => {
    const blocks = renderBlockList({
      committed: [{ id: Buffer.from('a'), bytes: 3 }],
      uncommitted: [],
    });
    const blob = (body: Buffer) => clientOf({ body }).client.getContainerClient('c');
    const list = await blob(blocks).getBlockBlobClient('b').getBlockList('all');
    assert.deepEqual(list.committedBlocks, [{ name: 'YQ==', size: 3 }]);
    const ranges = renderPageList({
      ranges: [
        { kind: 'written', first: 0, last: 511 },
        { kind: 'cleared', first: 512, last: 1023 },
      ],
    });
    const pages = await blob(ranges).getPageBlobClient('b').getPageRanges();
    assert.deepEqual(pages.pageRange, [{ offset: 0, count: 511 }]);
    assert.deepEqual(pages.clearRange, [{ offset: 512, count: 511 }]);
    const tags = renderBlobTags([['a b', 'c+d']]);
    assert.deepEqual((await blob(tags).getBlobClient('b').getTags()).tags, { 'a b': 'c+d' });
    const blobs = [{ name: 'x\ufffe', container: 'c', tags: [['k', 'v']] as const }];
    const body = renderFindResult({ endpoint, where: "k='v'", blobs });
    const { value: found } = await clientOf({ body }).client.findBlobsByTags("k='v'").next();
    assert.equal(found?.containerName, 'c');
    assert.deepEqual(found.tags, { k: 'v' });
  });

  it('answers to batches', async () => {
    const randomness = { bytes: () => Buffer.alloc(0), uuid: () => 'id' };
    const error = Buffer.from('<?xml version="1.0"?><Error><Code>BlobNotFound</Code></Error>');
    const { contentType, body } = renderBlobBatch(
      [
        { contentId: '0', status: 202, reason: 'Accepted', headers: [['x-ms-version', version]] },
        {
          contentId: '1',
          status: 404,
          reason: 'The specified blob does not exist.',
          headers: [['x-ms-error-code', 'BlobNotFound']],
          body: error,
        },
      ],
      randomness,
    );
    const { client, sent } = clientOf({ status: 202, contentType, body });
    const blobs = ['a', 'b c'].map((name) => client.getContainerClient('c').getBlobClient(name));
    const { subResponses } = await client.getBlobBatchClient().deleteBlobs(blobs);
    assert.deepEqual(
      subResponses.map(({ status, errorCode }) => [status, errorCode]),
      [
        [202, undefined],
        [404, 'BlobNotFound'],
      ],
    );
    const [request] = sent;
    assert.ok(request !== undefined);
    const parts = parseBlobBatch(request.body, request.headers.get('content-type') ?? '');
    assert.deepEqual(
      parts.map(({ kind, contentId, target }) => [kind, contentId, target.path]),
      [
        ['delete-blob', '0', `/${account}/c/a`],
        ['delete-blob', '1', `/${account}/c/b%20c`],
      ],
    );
    for (const { headers, method, target } of parts) {
      verifySharedKey(
        parseAuthorization(headers.get('authorization') ?? ''),
        { name: account, keys },
        {
          form: 'blob-queue',
          method,
          rawPath: target.path,
          rawQuery: target.query,
          version,
          headers: [...headers].flat(),
        },
        { skewCheckedAtMicros: undefined },
      );
    }
  });

  it('the properties of the service', async () => {
    const retention = { enabled: false };
    const metrics = { version: '1.0', enabled: false, retention };
    const properties = {
      logging: { version: '1.0', read: true, write: false, delete: false, retention },
      hourMetrics: metrics,
      minuteMetrics: metrics,
      cors: [],
      defaultServiceVersion: '2019-12-12',
      deleteRetention: { enabled: true, days: 3, allowPermanentDelete: false },
      staticWebsite: { enabled: true, indexDocument: 'index.html' },
    };
    const body = renderServiceProperties(properties, version);
    const read = await clientOf({ body }).client.getProperties();
    assert.equal(read.defaultServiceVersion, '2019-12-12');
    assert.equal(read.deleteRetentionPolicy?.days, 3);
    assert.equal(read.staticWebsite?.indexDocument, 'index.html');
    const sent = await sentBy((client) => client.setProperties(read));
    assert.deepEqual(parseServiceProperties(sent.body, version, blobProperties), properties);
  });
});

describe('@azure/storage-blob sends', () => {
  const blob = (client: BlobServiceClient) =>
    client.getContainerClient('c').getBlockBlobClient('b');

  it('block lists in their order', async () => {
    const ids = Array.from({ length: 100 }, (_, index) =>
      Buffer.from(String((index * 37) % 100).padStart(4, '0')),
    );
    const { body } = await sentBy((client) =>
      blob(client).commitBlockList(ids.map((id) => id.toString('base64'))),
    );
    assert.deepEqual(
      parseBlockList(body),
      ids.map((id) => ({ source: 'latest', id })),
    );
  });

  it('tags as a body and as a header', async () => {
    const tags = { 'a b': 'c+d=/', e: '' };
    const { body } = await sentBy((client) => blob(client).setTags(tags));
    assert.deepEqual(Object.fromEntries(parseBlobTags(body)), tags);
    const { headers } = await sentBy((client) => blob(client).upload('x', 1, { tags }));
    assert.deepEqual(Object.fromEntries(parseTagsHeader(headers.get('x-ms-tags') ?? '')), tags);
  });
});
