import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import {
  BlobSASPermissions,
  BlobServiceClient,
  type BlobClient,
  type ContainerClient,
} from '@azure/storage-blob';
import { startServer } from '../../support/start-server.js';
import { refused } from '../kit/official-blobs.js';
import { costly } from '../../support/run-length.js';

// Copies of blobs that the server does not keep: those of another server, and of whatever answers
// to http.

const key = Buffer.from('another key').toString('base64');
const accounts = [
  { name: 'first', key },
  { name: 'second', key },
];
const copySources = { hosts: ['127.0.0.1:*', 'localhost:*'], privateNetworks: true };
const started = await startServer({ accounts, copySources });
const other = await startServer({ accounts });

function clientOf(server: typeof started.server, account: string): BlobServiceClient {
  const options = { retryOptions: { maxTries: 1 } };
  return BlobServiceClient.fromConnectionString(server.connectionString(account), options);
}

const here = clientOf(started.server, 'first');
const beside = clientOf(started.server, 'second');
const there = clientOf(other.server, 'first');

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A web server that answers as the test says. */
const answers = new Map<string, Answer>();
const web: Server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '');
  if (answer === undefined) response.writeHead(404).end();
  else answer(request, response);
});
web.listen(0, '127.0.0.1');
await once(web, 'listening');
const webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;

after(async () => {
  web.closeAllConnections();
  web.close();
  await other[Symbol.asyncDispose]();
  await started[Symbol.asyncDispose]();
  assert.deepEqual([...started.errors, ...other.errors], [], 'a server logged errors');
});

let containers = 0;
async function container(service: BlobServiceClient): Promise<ContainerClient> {
  containers += 1;
  const made = service.getContainerClient(`foreign-${containers}`);
  await made.create();
  return made;
}

const source = await container(there);
const target = await container(here);

function signed(blob: {
  generateSasUrl(options: { permissions: BlobSASPermissions; expiresOn: Date }): Promise<string>;
}): Promise<string> {
  const expiresOn = new Date(Date.now() + 3_600_000);
  return blob.generateSasUrl({ permissions: BlobSASPermissions.parse('rt'), expiresOn });
}

const quickly = { intervalInMs: 20 };

const bytesOf = (blob: BlobClient): Promise<Buffer> => blob.downloadToBuffer();

/** Bytes that repeat late, so that a shift shows. */
function sample(bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 7 + (at >> 8)) & 255));
}

describe('a copy from another server', () => {
  it('brings a block blob with its blocks, headers and metadata', async () => {
    const from = source.getBlockBlobClient('blocks');
    const parts = [sample(40_000), sample(10), sample(50_000)];
    for (const [at, part] of parts.entries()) {
      await from.stageBlock(Buffer.from(`0${at}`).toString('base64'), part, part.length);
    }
    const blobHTTPHeaders = { blobContentType: 'text/x', blobCacheControl: 'no-cache' };
    const ids = ['MDA=', 'MDE=', 'MDI='];
    await from.commitBlockList(ids, { blobHTTPHeaders, metadata: { a: 'b' } });
    const to = target.getBlockBlobClient('blocks');
    const poller = await to.beginCopyFromURL(await signed(from), quickly);
    const done = await poller.pollUntilDone();
    assert.equal(done.copyStatus, 'success');
    assert.deepEqual(await bytesOf(to), Buffer.concat(parts));
    const shown = await to.getProperties();
    assert.deepEqual(
      [shown.contentType, shown.cacheControl, shown.metadata, shown.copyProgress],
      ['text/x', 'no-cache', { a: 'b' }, '90010/90010'],
    );
    assert.equal(shown.copySource, from.url, 'without the signature');
    const { committedBlocks = [] } = await to.getBlockList('committed');
    assert.deepEqual(
      committedBlocks.map(({ name, size }) => [name, size]),
      [
        ['MDA=', 40_000],
        ['MDE=', 10],
        ['MDI=', 50_000],
      ],
    );
  });

  it('brings a page blob with its pages alone, and an append blob', async () => {
    const from = source.getPageBlobClient('pages');
    await from.create(64 * 1024 * 1024, { blobSequenceNumber: 7 });
    await from.uploadPages(sample(1024), 512, 1024);
    const to = target.getPageBlobClient('pages');
    await (await to.beginCopyFromURL(await signed(from), quickly)).pollUntilDone();
    const shown = await to.getProperties();
    assert.deepEqual([shown.contentLength, shown.blobSequenceNumber], [64 * 1024 * 1024, 7]);
    const { pageRange } = await to.getPageRanges();
    assert.deepEqual(pageRange, [{ offset: 512, count: 1023 }]);
    assert.deepEqual(await to.downloadToBuffer(512, 1024), sample(1024));

    const log = source.getAppendBlobClient('log');
    await log.create();
    for (const text of ['one', 'two']) await log.appendBlock(text, 3);
    const logged = target.getAppendBlobClient('log');
    await (await logged.beginCopyFromURL(await signed(log), quickly)).pollUntilDone();
    assert.equal((await bytesOf(logged)).toString(), 'onetwo');
    assert.equal((await logged.appendBlock('!', 1)).blobCommittedBlockCount, 3);
  });

  it('is written at once by the operations that wait for it', async () => {
    const from = source.getBlockBlobClient('at once');
    const content = sample(70_000);
    await from.upload(content, content.length, { tags: { t: 'u' }, metadata: { m: 'n' } });
    const url = await signed(from);
    const to = target.getBlockBlobClient('at once');
    const synced = await to.syncCopyFromURL(url);
    assert.deepEqual([synced.copyStatus, await bytesOf(to)], ['success', content]);
    assert.deepEqual((await to.getProperties()).metadata, { m: 'n' });
    await to.syncCopyFromURL(url, { copySourceTags: 'COPY' });
    assert.deepEqual((await to.getTags()).tags, { t: 'u' });

    const put = target.getBlockBlobClient('put');
    await put.syncUploadFromURL(url);
    assert.deepEqual(await bytesOf(put), content);
    await put.stageBlockFromURL('MDE=', url, 100, 500);
    await put.commitBlockList(['MDE=']);
    assert.deepEqual(await bytesOf(put), content.subarray(100, 600));

    const appended = target.getAppendBlobClient('appended');
    await appended.create();
    await appended.appendBlockFromURL(url, 0, 1000);
    assert.deepEqual(await bytesOf(appended), content.subarray(0, 1000));
    const paged = target.getPageBlobClient('paged');
    await paged.create(1024);
    await paged.uploadPagesFromURL(url, 10, 512, 512);
    assert.deepEqual((await bytesOf(paged)).subarray(512), content.subarray(10, 522));
  });

  it('demands what is demanded of the source', async () => {
    const from = source.getBlockBlobClient('demanded');
    await from.upload('abc', 3);
    const url = await signed(from);
    const to = target.getBlockBlobClient('demanded');
    const sourceConditions = { ifMatch: '"0x1"' };
    const unmet = [412, 'SourceConditionNotMet'];
    assert.deepEqual(await refused(to.syncCopyFromURL(url, { sourceConditions })), unmet);
    assert.deepEqual(await refused(to.beginCopyFromURL(url, { sourceConditions })), unmet);
    const mismatch = [400, 'Md5Mismatch'];
    const sourceContentMD5 = sample(16);
    const staged = to.stageBlockFromURL('MDE=', url, 0, 3, { sourceContentMD5 });
    assert.deepEqual(await refused(staged), mismatch);
    assert.deepEqual(await refused(to.syncCopyFromURL(url, { sourceContentMD5 })), mismatch);
    assert.equal(await to.exists(), false);
    assert.deepEqual(await refused(to.syncCopyFromURL(from.url)), [401, 'CannotVerifyCopySource']);
    assert.deepEqual(await refused(to.beginCopyFromURL(`${url}x`)), [
      403,
      'CannotVerifyCopySource',
    ]);
  });
});

describe('a copy from another account of the server', () => {
  it('needs a signature or a public container, and is done at once', async () => {
    const from = (await container(beside)).getBlockBlobClient('b');
    await from.upload('secret', 6);
    const to = target.getBlockBlobClient('from another account');
    assert.deepEqual(await refused(to.syncCopyFromURL(from.url)), [403, 'CannotVerifyCopySource']);
    const url = await signed(from);
    assert.equal((await to.syncCopyFromURL(url)).copyStatus, 'success');
    const poller = await to.beginCopyFromURL(url.replace('127.0.0.1', 'localhost'), quickly);
    assert.equal(
      poller.getResult()?.copyStatus ?? (await poller.pollUntilDone()).copyStatus,
      'success',
    );
    assert.equal((await bytesOf(to)).toString(), 'secret');
    await to.stageBlockFromURL('MDE=', url);
    await to.commitBlockList(['MDE=']);
    assert.equal((await bytesOf(to)).toString(), 'secret');
    assert.deepEqual(await refused(to.syncCopyFromURL(from.url.replace('second', 'third'))), [
      404,
      'CannotVerifyCopySource',
    ]);
  });
});

/** Polls until a copy is pending no more. */
async function ended(blob: BlobClient): Promise<Awaited<ReturnType<BlobClient['getProperties']>>> {
  for (;;) {
    const shown = await blob.getProperties();
    if (shown.copyStatus !== 'pending') return shown;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('a pending copy', () => {
  it('keeps its target from other writes until it is aborted', async () => {
    answers.set('/slow', (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write('x');
    });
    const to = target.getBlockBlobClient('pending');
    await to.upload('before', 6);
    await to.beginCopyFromURL(`${webUrl}/slow`, quickly);
    const { copyId = '' } = await to.getProperties();
    const pending = await to.getProperties();
    assert.deepEqual(
      [pending.copyStatus, pending.contentLength, pending.copyCompletedOn],
      ['pending', 0, undefined],
    );
    for (const work of [
      () => to.upload('x', 1),
      () => to.setMetadata({}),
      () => to.stageBlock('MDE=', 'x', 1),
      () => to.createSnapshot(),
      () => to.delete(),
      () => to.beginCopyFromURL(`${webUrl}/slow`),
      () => to.getBlobLeaseClient().acquireLease(-1),
      () => to.getBlobLeaseClient().breakLease(0),
    ]) {
      assert.deepEqual(await refused(work()), [409, 'PendingCopyOperation']);
    }
    assert.deepEqual(await refused(to.abortCopyFromURL('another')), [409, 'CopyIdMismatch']);
    await to.abortCopyFromURL(copyId);
    const aborted = await to.getProperties();
    assert.deepEqual([aborted.copyStatus, aborted.contentLength], ['aborted', 0]);
    assert.deepEqual(await refused(to.abortCopyFromURL(copyId)), [409, 'NoPendingCopyOperation']);
    await to.upload('after', 5);
  });

  it('goes on where a connection broke, and fails when the source is another', async () => {
    const content = sample(100_000);
    let reads = 0;
    answers.set('/breaks', ({ headers, socket }, response) => {
      reads += 1;
      const first = Number(/bytes=(\d+)/.exec(headers.range ?? '')?.[1] ?? 0);
      const range = `bytes ${first}-${content.length - 1}/${content.length}`;
      response.writeHead(headers.range === undefined ? 200 : 206, {
        'content-length': content.length - first,
        'content-range': range,
        etag: '"1"',
      });
      assert.equal(headers['if-match'], reads === 1 ? undefined : '"1"');
      const end = Math.min(content.length, first + 60_000);
      response.write(content.subarray(first, end), () => {
        if (end < content.length) setTimeout(() => socket.destroy(), 5);
        else response.end();
      });
    });
    const to = target.getBlockBlobClient('breaks');
    await to.beginCopyFromURL(`${webUrl}/breaks`, quickly);
    assert.equal((await ended(to)).copyStatus, 'success');
    assert.deepEqual(await bytesOf(to), content);

    let asked = 0;
    answers.set('/changes', (_request, response) => {
      asked += 1;
      response.writeHead(asked === 1 ? 200 : 412, { 'content-length': 3 }).end('abc');
    });
    const changed = target.getBlockBlobClient('changes');
    await changed.beginCopyFromURL(`${webUrl}/changes`, quickly);
    const failed = await ended(changed);
    assert.deepEqual([failed.copyStatus, failed.contentLength], ['failed', 0]);
    assert.match(failed.copyStatusDescription ?? '', /^412 SourceConditionNotMet "/);
    await changed.upload('x', 1);
  });
});

describe('a client that leaves', () => {
  it('lets go of the source', async () => {
    const left = new AbortController();
    const ended = new Promise((resolve) => {
      answers.set('/left', (_request, response) => {
        response.on('close', resolve);
        response.writeHead(200, { 'content-length': 1000 }).write('x', () => left.abort());
      });
    });
    const to = target.getBlockBlobClient('left');
    const abortSignal = left.signal;
    await assert.rejects(to.syncUploadFromURL(`${webUrl}/left`, { abortSignal }));
    await ended;
    assert.equal(await to.exists(), false);
  });
});

describe('a source that deceives', () => {
  const typed = (type: string, more: object, bytes: number): Answer => {
    return (_request, response) => {
      const headers = { 'x-ms-blob-type': type, 'content-length': bytes, ...more };
      response.writeHead(200, headers).write(' ');
    };
  };

  it('gives no page blob ranges that are no pages, nor any number of them', costly(), async () => {
    let at = 0;
    let lists = 0;
    const range = (start: number, last: number): string =>
      `<PageRange><Start>${start}</Start><End>${last}</End></PageRange>`;
    const sparse = (): string => {
      lists += 1;
      const ranges = Array.from({ length: 60_000 }, () => range((at += 1024), at + 511));
      return `${ranges.join('')}<NextMarker>${lists}</NextMarker>`;
    };
    for (const [name, list, failure] of [
      ['part', () => range(1, 3), '400 CannotVerifyCopySource'],
      ['many', sparse, '400 InvalidOperation'],
    ] as const) {
      answers.set(`/${name}`, typed('PageBlob', { etag: '"1"' }, 512 * 1024 * 1024));
      const answer: Answer = (_request, response) =>
        void response.end(`<?xml version="1.0"?><PageList>${list()}</PageList>`);
      answers.set(`/${name}?comp=pagelist`, answer);
      for (const marker of [1, 2, 3]) {
        answers.set(`/${name}?comp=pagelist&marker=${marker}`, answer);
      }
      const to = target.getPageBlobClient(`pages ${name}`);
      await to.beginCopyFromURL(`${webUrl}/${name}`, quickly);
      const { copyStatusDescription = '' } = await ended(to);
      assert.ok(copyStatusDescription.startsWith(failure), copyStatusDescription);
    }
    assert.equal(lists, 2);
  });

  it('gives a block blob whose type is the name of what every object has', async () => {
    for (const type of ['constructor', '__proto__', 'toString']) {
      answers.set('/typed', typed(type, { etag: '"1"' }, 1));
      const to = target.getBlockBlobClient(`typed ${type}`);
      await to.beginCopyFromURL(`${webUrl}/typed`, quickly);
      assert.equal((await ended(to)).copyStatus, 'success');
      assert.equal((await to.syncCopyFromURL(`${webUrl}/typed`)).copyStatus, 'success');
      assert.equal((await to.getProperties()).blobType, 'BlockBlob');
    }
  });

  it('gives no append blob an impossible number of blocks', async () => {
    const header = { 'x-ms-blob-committed-block-count': '-5', etag: '"1"' };
    answers.set('/appended', typed('AppendBlob', header, 1));
    const to = target.getAppendBlobClient('impossible');
    await to.beginCopyFromURL(`${webUrl}/appended`, quickly);
    assert.equal((await ended(to)).copyStatus, 'success');
    assert.equal((await to.appendBlock('x', 1)).blobCommittedBlockCount, 2);
  });

  async function put(path: string, answer: Answer): Promise<[number | undefined, string]> {
    answers.set(path, answer);
    return refused(target.getBlockBlobClient('deceived').syncUploadFromURL(`${webUrl}${path}`));
  }

  it('is not followed, and must tell its length and keep to it', async () => {
    const location = `${webUrl}/secret`;
    answers.set('/secret', (_request, response) => void response.end('secret'));
    const none = [400, 'CannotVerifyCopySource'];
    for (const status of [301, 302, 303, 307, 308]) {
      const redirect: Answer = (_request, response) =>
        void response.writeHead(status, { location }).end();
      assert.deepEqual(await put('/redirect', redirect), none);
    }
    const endless: Answer = (_request, response) => void response.writeHead(200).write('x');
    assert.deepEqual(await put('/endless', endless), none);
    const short: Answer = ({ socket }, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('abc', () => socket.destroy());
    };
    assert.deepEqual(await put('/short', short), [500, 'CannotVerifyCopySource']);
    const elsewhere: Answer = (_request, response) => {
      const headers = { 'content-length': 3, 'content-range': 'bytes 5-7/10' };
      response.writeHead(206, headers).end('abc');
    };
    assert.deepEqual(await put('/elsewhere', elsewhere), none);
    const failing: Answer = (_request, response) => void response.writeHead(503).end();
    assert.deepEqual(await put('/failing', failing), [500, 'CannotVerifyCopySource']);
    const huge: Answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 2 ** 50 }).write('x');
    };
    assert.deepEqual(await put('/huge', huge), [409, 'CannotVerifyCopySource']);
    assert.equal(await target.getBlockBlobClient('deceived').exists(), false);
  });
});
