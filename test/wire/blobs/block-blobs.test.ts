import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { assertStatus } from '../kit/errors.js';
import { officialBlobs, refused } from '../kit/official-blobs.js';

const started = await startServer({});
const { server } = started;
const wire = BlobWireClient.of(server);
const service = officialBlobs(server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

let containers = 0;
async function container() {
  containers += 1;
  const made = service.getContainerClient(`blocks-${containers}`);
  await made.create();
  return made;
}

const md5Of = (bytes: Buffer | string) => createHash('md5').update(bytes).digest('base64');
const base64 = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString('base64');

describe('a block blob', () => {
  it('is written, shown, read and deleted', async () => {
    const blob = (await container()).getBlockBlobClient('dir/a b+%.txt');
    const made = await blob.upload('Hello World', 11, {
      blobHTTPHeaders: { blobContentType: 'text/plain', blobCacheControl: 'no-store' },
      metadata: { Colour: 'blue' },
      tags: { kind: 'greeting' },
    });
    assert.match(made.etag ?? '', /^"0x[0-9A-F]{15}"$/);
    assert.equal(base64(made.contentMD5), md5Of('Hello World'));
    const shown = await blob.getProperties();
    assert.deepEqual(
      [shown.etag, shown.contentLength, shown.contentType, shown.cacheControl, shown.metadata],
      [made.etag, 11, 'text/plain', 'no-store', { colour: 'blue' }],
    );
    assert.deepEqual(
      [
        shown.blobType,
        shown.leaseState,
        shown.accessTier,
        shown.accessTierInferred,
        shown.tagCount,
      ],
      ['BlockBlob', 'available', 'Hot', true, 1],
    );
    assert.equal(base64(shown.contentMD5), md5Of('Hello World'));
    assert.equal((await blob.downloadToBuffer()).toString(), 'Hello World');
    await blob.delete();
    assert.deepEqual(await refused(blob.download()), [404, 'BlobNotFound']);
    assert.deepEqual(await refused(blob.delete()), [404, 'BlobNotFound']);
    assert.equal(await blob.exists(), false);
  });

  it('may be empty, and large', async () => {
    const one = await container();
    const empty = one.getBlockBlobClient('empty');
    await empty.upload('', 0);
    assert.equal((await empty.downloadToBuffer()).length, 0);
    const large = one.getBlockBlobClient('large');
    const bytes = Buffer.alloc(9 * 1024 * 1024 + 5, 'Tabularium');
    await large.upload(bytes, bytes.length);
    assert.ok((await large.downloadToBuffer()).equals(bytes));
  });

  it('is replaced as a whole, and keeps what it was where a write is refused', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    const first = await blob.upload('first', 5, { metadata: { a: '1' } });
    const conditions = { ifNoneMatch: '*' };
    assert.deepEqual(await refused(blob.upload('second', 6, { conditions })), [
      409,
      'BlobAlreadyExists',
    ]);
    assert.deepEqual(await refused(blob.upload('x', 1, { conditions: { ifMatch: '"0x1"' } })), [
      412,
      'ConditionNotMet',
    ]);
    const blobContentMD5 = new Uint8Array(16);
    assert.deepEqual(await refused(blob.upload('x', 1, { blobHTTPHeaders: { blobContentMD5 } })), [
      400,
      'Md5Mismatch',
    ]);
    assert.equal((await blob.getProperties()).etag, first.etag);
    await blob.upload('second', 6, { conditions: { ifMatch: first.etag ?? '' } });
    assert.deepEqual((await blob.getProperties()).metadata, {});
    assert.equal((await blob.downloadToBuffer()).toString(), 'second');
  });
});

describe('a read of a blob that has not changed', () => {
  for (const method of ['GET', 'HEAD']) {
    it(`says of ${method} nothing about a body, and the connection goes on`, async () => {
      const path = `/${await wire.newContainer()}/b`;
      const headers = { 'x-ms-blob-type': 'BlockBlob' };
      const put = await wire.expect(201, { method: 'PUT', path, headers, body: 'first' });
      const unchanged = { 'If-None-Match': put.header('etag') };
      const answer = await wire.expect(304, { method, path, headers: unchanged });
      assert.equal(answer.header('x-ms-error-code'), 'ConditionNotMet');
      for (const name of ['etag', 'last-modified']) {
        assert.equal(answer.header(name), put.header(name), name);
      }
      assert.doesNotMatch(answer.head, /^(Content-|Transfer-Encoding)/im);
      assert.equal(answer.text, '');
      assert.equal((await wire.expect(200, { path })).text, 'first');
    });
  }
});

describe('a range of a blob', () => {
  it('is what was asked for, as far as there is any', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    await blob.upload('0123456789', 10);
    const part = await blob.download(2, 3);
    assert.deepEqual([part.contentRange, part.contentLength], ['bytes 2-4/10', 3]);
    assert.equal((await blob.downloadToBuffer(8)).toString(), '89');
    assert.equal((await blob.download(8, 100)).contentRange, 'bytes 8-9/10');
    assert.deepEqual(await refused(blob.download(10)), [416, 'InvalidRange']);
    assert.equal(base64((await blob.download(0, 4)).blobContentMD5), md5Of('0123456789'));
  });

  it('has the checksum that was asked for', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    await blob.upload('Hello World!', 12);
    const md5 = await blob.download(0, 5, { rangeGetContentMD5: true });
    assert.equal(base64(md5.contentMD5), md5Of('Hello'));
    const crc64 = await blob.download(0, 11, { rangeGetContentCrc64: true });
    assert.equal(base64(crc64.contentCrc64), 'YeJLfssylmU=');
    const bytes = 4 * 1024 * 1024 + 1;
    await blob.upload(Buffer.alloc(bytes), bytes);
    const tooLong = blob.download(0, bytes, { rangeGetContentMD5: true });
    assert.equal((await refused(tooLong))[0], 400);
  });
});

describe('a request to write a blob', () => {
  it('names a type and has a length', async () => {
    const name = await wire.newContainer();
    const path = `/${name}/b`;
    const without = await wire.send({ method: 'PUT', path, body: 'x' });
    assertStatus(without, 400, 'MissingRequiredHeader');
    const headers = { 'x-ms-blob-type': 'StoneBlob' };
    const unknown = await wire.send({ method: 'PUT', path, body: 'x', headers });
    assertStatus(unknown, 400, 'InvalidHeaderValue');
    const both = {
      'x-ms-blob-type': 'BlockBlob',
      'Content-MD5': md5Of('x'),
      'x-ms-content-crc64': 'AAAAAAAAAAA=',
    };
    const twice = await wire.send({ method: 'PUT', path, body: 'x', headers: both });
    assertStatus(twice, 400, 'BothCrc64AndMd5HeaderPresent');
    assertStatus(await wire.send({ path }), 404, 'BlobNotFound');
  });

  it('is refused when a checksum does not fit', async () => {
    const name = await wire.newContainer();
    const path = `/${name}/b`;
    const type = { 'x-ms-blob-type': 'BlockBlob' };
    const wrongMd5 = { ...type, 'Content-MD5': md5Of('y') };
    const one = await wire.send({ method: 'PUT', path, body: 'x', headers: wrongMd5 });
    assertStatus(one, 400, 'Md5Mismatch');
    const wrongCrc = { ...type, 'x-ms-content-crc64': 'AAAAAAAAAAA=' };
    const other = await wire.send({ method: 'PUT', path, body: 'x', headers: wrongCrc });
    assertStatus(other, 400, 'Crc64Mismatch');
    assertStatus(await wire.send({ path }), 404, 'BlobNotFound');
  });
});

describe('blocks', () => {
  it('become a blob in the order of their list', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    const ids = ['aa', 'bb', 'cc'].map((text) => Buffer.from(text).toString('base64'));
    const [a = '', b = '', c = ''] = ids;
    await Promise.all(ids.map((id, nth) => blob.stageBlock(id, `<${nth}>`, 3)));
    assert.deepEqual(await refused(blob.download()), [404, 'BlobNotFound']);
    const before = await blob.getBlockList('all');
    assert.deepEqual(
      before.uncommittedBlocks?.map(({ name, size }) => [name, size]),
      ids.toSorted().map((id) => [id, 3]),
    );
    await blob.commitBlockList([c, a], { metadata: { m: '1' } });
    assert.equal((await blob.downloadToBuffer()).toString(), '<2><0>');
    await blob.stageBlock(b, 'new', 3);
    await blob.commitBlockList([a, b, a, c]);
    assert.equal((await blob.downloadToBuffer()).toString(), '<0>new<0><2>');
    const after = await blob.getBlockList('all');
    assert.deepEqual(
      after.committedBlocks?.map(({ name }) => name),
      [a, b, a, c],
    );
    assert.deepEqual(after.uncommittedBlocks, []);
    assert.deepEqual((await blob.getProperties()).metadata, {});
    assert.deepEqual(await refused(blob.commitBlockList([Buffer.from('zz').toString('base64')])), [
      400,
      'InvalidBlockList',
    ]);
    assert.deepEqual(
      await refused(blob.stageBlock(Buffer.from('long').toString('base64'), 'x', 1)),
      [400, 'InvalidBlobOrBlock'],
    );
  });

  it('are uploaded side by side', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    const bytes = Buffer.alloc(5_000_000, 'parallel');
    await blob.uploadData(bytes, { blockSize: 300_000, maxSingleShotSize: 1, concurrency: 6 });
    assert.ok((await blob.downloadToBuffer()).equals(bytes));
    assert.equal((await blob.getBlockList('committed')).committedBlocks?.length, 17);
  });
});

describe('properties, metadata and leases of a blob', () => {
  it('are set, and those that are not sent are cleared', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    const first = await blob.upload('x', 1, { blobHTTPHeaders: { blobContentType: 'text/plain' } });
    const second = await blob.setHTTPHeaders({ blobContentLanguage: 'de' });
    assert.notEqual(second.etag, first.etag);
    const shown = await blob.getProperties();
    assert.deepEqual(
      [shown.contentType, shown.contentLanguage],
      ['application/octet-stream', 'de'],
    );
    await blob.setMetadata({ one: '1' });
    assert.deepEqual((await blob.getProperties()).metadata, { one: '1' });
    await blob.setMetadata({});
    assert.deepEqual((await blob.getProperties()).metadata, {});
  });

  it('let nobody else write while a lease is held', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    await blob.upload('x', 1);
    const lease = blob.getBlobLeaseClient();
    const { leaseId = '' } = await lease.acquireLease(15);
    assert.deepEqual(await refused(blob.upload('y', 1)), [412, 'LeaseIdMissing']);
    assert.deepEqual(await refused(blob.delete()), [412, 'LeaseIdMissing']);
    await blob.upload('y', 1, { conditions: { leaseId } });
    assert.equal((await blob.getProperties()).leaseState, 'leased');
    await lease.renewLease();
    assert.deepEqual(await refused(blob.getBlobLeaseClient().acquireLease(15)), [
      409,
      'LeaseAlreadyPresent',
    ]);
    await lease.breakLease(0);
    await blob.delete();
  });
});

describe('a parameter that names what a request is about', () => {
  it('is sent once, or the request is refused', async () => {
    const path = `/${await wire.newContainer()}/b`;
    const write = (query: string) =>
      wire.send({ method: 'PUT', path: `${path}?${query}`, body: 'x' });
    const twice = await write('comp=block&blockid=AAAA&BlockId=BBBB');
    assertStatus(twice, 400, 'InvalidQueryParameterValue');
    assert.match(twice.text, /<QueryParameterName>blockid<.*has blockid twice; send it once/);
    for (const name of ['snapshot', 'versionid']) {
      const time = '2024-01-01T00:00:00.0000000Z';
      const read = await wire.send({ path: `${path}?${name}=${time}&${name}=${time}` });
      assertStatus(read, 400, 'InvalidQueryParameterValue');
    }
    assertStatus(await write('comp=block&blockid=AAAA'), 201);
  });
});

describe('a feature that the server lacks', () => {
  it('is refused, and nothing is stored', async () => {
    const name = await wire.newContainer();
    const path = `/${name}/b`;
    const type = { 'x-ms-blob-type': 'BlockBlob' };
    for (const [header, value] of [
      ['x-ms-encryption-key', 'AAAA'],
      ['x-ms-encryption-scope', 'mine'],
      ['x-ms-expiry-option', 'RelativeToNow'],
      ['x-ms-expiry-time', '1000'],
    ] as const) {
      const headers = { ...type, [header]: value };
      const put = await wire.send({ method: 'PUT', path, body: 'x', headers });
      assertStatus(put, 501, 'NotImplemented');
      assert.match(put.text, new RegExp(header));
      const block = { method: 'PUT', path: `${path}?comp=block&blockid=AAAA`, body: 'x' };
      assertStatus(await wire.send({ ...block, headers: { [header]: value } }), 501);
    }
    assertStatus(await wire.send({ path }), 404, 'BlobNotFound');
  });

  it('is refused by name when a whole operation is absent, and the blob stays as it is', async () => {
    const path = `/${await wire.newContainer()}/b`;
    const type = { 'x-ms-blob-type': 'BlockBlob' };
    assertStatus(await wire.send({ method: 'PUT', path, body: 'x', headers: type }), 201);
    const { head: before } = await wire.expect(200, { method: 'HEAD', path });
    for (const [method, comp, headers] of [
      ['POST', 'query', {}],
      ['PUT', 'expiry', { 'x-ms-expiry-option': 'NeverExpire' }],
    ] as const) {
      const request = { method, path: `${path}?comp=${comp}`, headers };
      const body = method === 'POST' ? { body: '<QueryRequest/>' } : {};
      const refused = await wire.send({ ...request, ...body });
      assertStatus(refused, 501, 'NotImplemented');
      assert.match(refused.text, /<Message>[A-Z][^.]+(here|namespace)\. [A-Z]/);
      const anonymous = await wire.send({ ...request, ...body, auth: 'none' });
      assertStatus(anonymous, 401, 'NoAuthenticationInformation');
    }
    const etag = (head: string) => /^ETag: .*$/im.exec(head)?.[0];
    const { head } = await wire.expect(200, { method: 'HEAD', path });
    assert.equal(etag(head), etag(before));
  });

  it('may be a tier: a blob is made with a tier of its kind, or refused', async () => {
    const path = `/${await wire.newContainer()}/p`;
    const put = (type: string, tier: string) =>
      wire.send({
        method: 'PUT',
        path,
        headers: {
          'x-ms-blob-type': type,
          'x-ms-access-tier': tier,
          ...(type === 'PageBlob' ? { 'x-ms-blob-content-length': '512' } : {}),
        },
      });
    for (const [type, tier] of [
      ['AppendBlob', 'Hot'],
      ['AppendBlob', 'P4'],
      ['PageBlob', 'Hot'],
      ['BlockBlob', 'P4'],
    ] as const) {
      assertStatus(await put(type, tier), 400, 'AccessTierNotSupportedForBlobType');
    }
    assertStatus(await put('AppendBlob', 'x'), 400, 'InvalidHeaderValue');
    assertStatus(await wire.send({ method: 'HEAD', path }), 404);
    assertStatus(await put('PageBlob', 'p6'), 201);
    const { head } = await wire.expect(200, { method: 'HEAD', path });
    assert.match(head, /^x-ms-access-tier: P6\r?$/im);
  });
});
