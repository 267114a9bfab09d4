import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BlobSASPermissions, BlobServiceClient, BlockBlobClient } from '@azure/storage-blob';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { refused } from '../kit/official-blobs.js';

const started = await startServer({});
const { server } = started;
const service = BlobServiceClient.fromConnectionString(server.connectionString(), {
  retryOptions: { maxTries: 1 },
});
const wire = BlobWireClient.of(server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

let containers = 0;
async function container() {
  containers += 1;
  const made = service.getContainerClient(`copies-${containers}`);
  await made.create();
  return made;
}

const textOf = async (blob: { downloadToBuffer(): Promise<Buffer> }) =>
  (await blob.downloadToBuffer()).toString();

describe('a copy', () => {
  it('is done at once, and carries properties and metadata', async () => {
    const one = await container();
    const source = one.getBlockBlobClient('a b/ü');
    const uploaded = { blobHTTPHeaders: { blobContentType: 'text/plain' }, metadata: { a: 'b' } };
    await source.upload('Hello World', 11, uploaded);
    const target = (await container()).getBlockBlobClient('copy');
    const poller = await target.beginCopyFromURL(source.url);
    const done = await poller.pollUntilDone();
    assert.equal(done.copyStatus, 'success');
    const shown = await target.getProperties();
    assert.deepEqual(
      [shown.contentType, shown.metadata, shown.copyId, shown.copyProgress, shown.copySource],
      ['text/plain', { a: 'b' }, done.copyId, '11/11', source.url],
    );
    assert.equal(await textOf(target), 'Hello World');
    assert.deepEqual(await refused(target.abortCopyFromURL(done.copyId ?? '')), [
      409,
      'NoPendingCopyOperation',
    ]);
    const given = await target.syncCopyFromURL(source.url, {
      metadata: { c: 'd' },
      tags: { e: 'f' },
    });
    assert.equal(given.copyStatus, 'success');
    assert.deepEqual((await target.getProperties()).metadata, { c: 'd' });
    assert.deepEqual((await target.getTags()).tags, { e: 'f' });
  });

  it('promotes a snapshot', async () => {
    const blob = (await container()).getBlockBlobClient('b');
    await blob.upload('old', 3);
    const { snapshot = '' } = await blob.createSnapshot();
    await blob.upload('new', 3);
    await (await blob.beginCopyFromURL(blob.withSnapshot(snapshot).url)).pollUntilDone();
    assert.equal(await textOf(blob), 'old');
    assert.equal(await textOf(blob.withSnapshot(snapshot)), 'old');
  });

  it('is refused when the source is missing, is elsewhere or does not fit', async () => {
    const one = await container();
    const target = one.getBlockBlobClient('copy');
    const source = one.getBlockBlobClient('source');
    assert.deepEqual(await refused(target.syncCopyFromURL(source.url)), [404, 'BlobNotFound']);
    await source.upload('x', 1);
    assert.deepEqual(await refused(target.syncCopyFromURL('http://127.0.0.1:9/account/c/b')), [
      403,
      'CannotVerifyCopySource',
    ]);
    const sourceConditions = { ifMatch: '"0x1"' };
    assert.deepEqual(await refused(target.syncCopyFromURL(source.url, { sourceConditions })), [
      412,
      'SourceConditionNotMet',
    ]);
    const sourceContentMD5 = new Uint8Array(16);
    assert.deepEqual(await refused(target.syncCopyFromURL(source.url, { sourceContentMD5 })), [
      400,
      'Md5Mismatch',
    ]);
    assert.equal(await target.exists(), false);
  });

  it('is refused where the host of its request is in no URL', async () => {
    const { containerName } = await container();
    const source = `http://${wire.authority}/${wire.account}/${containerName}/a`;
    const target = `/${containerName}/b`;
    const hosts = ['127.0.0.1:99999', '%', '[::1', 'a:b'];
    for (const Host of hosts) {
      const headers = { Host, 'x-ms-copy-source': source };
      const block = { ...headers, 'x-ms-blob-type': 'BlockBlob' };
      for (const [path, sent] of [
        [target, headers],
        [target, { ...headers, 'x-ms-requires-sync': 'true' }],
        [target, block],
        [`${target}?comp=block&blockid=AAAA`, headers],
        [
          `${target}?comp=incrementalcopy`,
          { ...headers, 'x-ms-copy-source': `${source}?snapshot=x` },
        ],
      ] as const) {
        const answer = await wire.send({ method: 'PUT', path, headers: sent });
        const code = answer.header('x-ms-error-code');
        assert.deepEqual([answer.status, code], [400, 'InvalidHeaderValue'], `${Host} ${path}`);
        assert.match(answer.text, /<HeaderName>Host<\/HeaderName>/);
      }
    }
  });

  it('reads nothing that the signature of the request may not read', async () => {
    const one = await container();
    const source = one.getBlockBlobClient('source');
    await source.upload('secret', 6);
    const expiresOn = new Date(Date.now() + 3_600_000);
    const permissions = BlobSASPermissions.parse('cw');
    const url = await one.getBlockBlobClient('target').generateSasUrl({ permissions, expiresOn });
    const target = new BlockBlobClient(url, undefined, { retryOptions: { maxTries: 1 } });
    for (const request of [
      () => target.syncCopyFromURL(source.url),
      () => target.syncUploadFromURL(source.url),
      () => target.stageBlockFromURL('MDE=', source.url),
    ]) {
      assert.deepEqual(await refused(request()), [403, 'CannotVerifyCopySource']);
    }
  });
});

describe('the credential of a source', () => {
  it('decides what may be read, when its URL has a signature', async () => {
    const one = await container();
    const source = one.getBlockBlobClient('source');
    await source.upload('secret', 6, { tags: { a: 'b' } });
    const expiresOn = new Date(Date.now() + 3_600_000);
    const urlOf = (blob: BlockBlobClient, letters: string) =>
      blob.generateSasUrl({ permissions: BlobSASPermissions.parse(letters), expiresOn });
    const other = (await container()).getBlockBlobClient('target');
    const target = new BlockBlobClient(await urlOf(other, 'cw'), undefined, {
      retryOptions: { maxTries: 1 },
    });
    const readable = await urlOf(source, 'r');
    await (await target.beginCopyFromURL(readable)).pollUntilDone();
    assert.equal(await textOf(other), 'secret');
    assert.equal((await other.getProperties()).copySource, source.url);
    await target.syncCopyFromURL(readable);
    await target.syncUploadFromURL(readable);
    await target.stageBlockFromURL('MDE=', readable);
    const withTags = { copySourceTags: 'COPY' } as const;
    await target.syncCopyFromURL(await urlOf(source, 'rt'), withTags);
    assert.deepEqual((await other.getTags()).tags, { a: 'b' });
    await other.setTags({});
    await target.syncUploadFromURL(await urlOf(source, 'rt'), withTags);
    assert.deepEqual((await other.getTags()).tags, { a: 'b' });

    const changed = readable.replace('/source?', '/another?');
    const writeOnly = await urlOf(source, 'w');
    for (const request of [
      () => target.syncCopyFromURL(readable, withTags),
      () => target.syncCopyFromURL(writeOnly),
      () => target.syncCopyFromURL(changed),
      () => other.syncCopyFromURL(changed),
      () => target.syncCopyFromURL(source.url),
    ]) {
      assert.deepEqual(await refused(request()), [403, 'CannotVerifyCopySource']);
    }
  });
});

describe('the tags of a source', () => {
  it('are not revealed by a condition to a caller who may not read them', async () => {
    const open = await container();
    await open.setAccessPolicy('blob');
    const source = open.getBlockBlobClient('a');
    await source.upload('x', 1, { tags: { secret: 'one' } });
    const closed = await container();
    const expiresOn = new Date(Date.now() + 3_600_000);
    const urlOf = (blob: BlockBlobClient, letters: string) =>
      blob.generateSasUrl({ permissions: BlobSASPermissions.parse(letters), expiresOn });
    const target = new BlockBlobClient(await urlOf(closed.getBlockBlobClient('b'), 'cw'));
    const copyIf = (url: string, value: string) =>
      target.beginCopyFromURL(url, {
        sourceConditions: { tagConditions: `"secret" = '${value}'` },
      });
    const mismatch = [412, 'SourceConditionNotMet'];
    for (const url of [source.url, await urlOf(source, 'r')]) {
      for (const value of ['one', 'other']) {
        const [status, code] = await refused(copyIf(url, value));
        assert.deepEqual([status, code], [403, 'CannotVerifyCopySource']);
      }
    }
    const readable = await urlOf(source, 'rt');
    assert.deepEqual(await refused(copyIf(readable, 'other')), mismatch);
    await copyIf(readable, 'one');
  });
});

describe('a write from a URL', () => {
  it('takes the bytes of another blob, or a part of them', async () => {
    const one = await container();
    const source = one.getBlockBlobClient('source');
    await source.upload('Hello World', 11, { blobHTTPHeaders: { blobContentType: 'text/plain' } });
    const block = one.getBlockBlobClient('block');
    await block.syncUploadFromURL(source.url);
    assert.equal(await textOf(block), 'Hello World');
    assert.equal((await block.getProperties()).contentType, 'text/plain');
    await block.stageBlockFromURL('MDE=', source.url, 6, 5);
    await block.stageBlockFromURL('MDI=', source.url);
    await block.commitBlockList(['MDE=', 'MDI=']);
    assert.equal(await textOf(block), 'WorldHello World');

    const log = one.getAppendBlobClient('log');
    await log.create();
    const appended = await log.appendBlockFromURL(source.url, 0, 6);
    assert.equal(appended.blobAppendOffset, '0');
    await log.appendBlockFromURL(source.url, 6, 5);
    assert.equal(await textOf(log), 'Hello World');

    const bytes = Buffer.alloc(1024, 'a');
    const pages = one.getBlockBlobClient('pages');
    await pages.upload(bytes, 1024);
    const disk = one.getPageBlobClient('disk');
    await disk.create(2048);
    await disk.uploadPagesFromURL(pages.url, 512, 1024, 512);
    const wanted = Buffer.alloc(2048);
    bytes.copy(wanted, 1024, 0, 512);
    assert.ok((await disk.downloadToBuffer()).equals(wanted));
  });
});
