import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { startServer, type StartedServer } from '../../support/start-server.js';

let started: StartedServer;
let service: BlobServiceClient;
let web: ContainerClient;

interface Page {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function page(path: string, options: { method?: string; headers?: object } = {}): Promise<Page> {
  const { port } = new URL(started.server.blobEndpoint);
  const host = `devstoreaccount1.web.localhost:${port}`;
  const headers = { host, ...options.headers };
  const { method = 'GET' } = options;
  return new Promise((resolve, reject) => {
    const asked = request({ port, path, method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        resolve({ status: response.statusCode, headers: response.headers, text });
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function told(path: string): Promise<[number | undefined, string]> {
  const { status, text } = await page(path);
  return [status, text];
}

describe('a static website', () => {
  before(async () => {
    started = await startServer();
    service = BlobServiceClient.fromConnectionString(started.server.connectionString());
    web = service.getContainerClient('$web');
  });
  after(async () => {
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, [], 'the server logged errors');
  });

  it('is not there until it is switched on, which makes its container', async () => {
    assert.equal((await page('/')).status, 404);
    await service.setProperties({
      staticWebsite: {
        enabled: true,
        indexDocument: 'index.html',
        errorDocument404Path: '404.html',
      },
    });
    assert.equal(await web.exists(), true);
    const blobHTTPHeaders = { blobContentType: 'text/html' };
    for (const [name, text] of Object.entries({
      'index.html': 'home',
      'a/index.html': 'a',
      'a/b c.html': 'b c',
      '404.html': 'nothing here',
    })) {
      await web.getBlockBlobClient(name).upload(text, text.length, { blobHTTPHeaders });
    }
  });

  it('shows documents and indexes to everybody, and its error document', async () => {
    assert.deepEqual(await told('/'), [200, 'home']);
    assert.deepEqual(await told('/a/b%20c.html'), [200, 'b c']);
    assert.deepEqual(await told('/a/'), [200, 'a']);
    assert.deepEqual(await told('/a'), [200, 'a']);
    assert.deepEqual(await told('/none'), [404, 'nothing here']);
    assert.deepEqual(await told('/?comp=list&restype=container'), [200, 'home']);
    const { headers } = await page('/');
    assert.deepEqual([headers['content-type'], headers['content-length']], ['text/html', '4']);
  });

  it('answers to HEAD, ranges and conditions as caches need it', async () => {
    const head = await page('/', { method: 'HEAD' });
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', '4']);
    const unchanged = { 'if-none-match': head.headers.etag };
    assert.equal((await page('/', { headers: unchanged })).status, 304);
    const part = await page('/', { headers: { range: 'bytes=1-2' } });
    assert.deepEqual([part.status, part.text], [206, 'om']);
    assert.equal(part.headers['content-range'], 'bytes 1-2/4');
  });

  it('tells nobody the tags of a document', async () => {
    const index = web.getBlockBlobClient('index.html');
    await index.setTags({ secret: 'one' });
    for (const value of ['one', 'other']) {
      const headers = { 'x-ms-if-tags': `"secret" = '${value}'` };
      assert.equal((await page('/', { headers })).status, 200);
    }
  });

  it('takes no writes, and shows nothing of other containers', async () => {
    assert.equal((await page('/index.html', { method: 'PUT' })).status, 405);
    assert.equal((await page('/index.html', { method: 'DELETE' })).status, 405);
    assert.deepEqual(await told('/../$logs/x'), [404, 'nothing here']);
    assert.deepEqual(await told('/%2e%2e/other/x'), [404, 'nothing here']);
  });

  it('has a document of its own for the root, and none when it is switched off', async () => {
    await service.setProperties({
      staticWebsite: { enabled: true, defaultIndexDocumentPath: 'a/b c.html' },
    });
    assert.deepEqual(await told('/'), [200, 'b c']);
    const { status, headers, text } = await page('/<a>/');
    assert.equal(status, 404);
    assert.equal(headers['content-type'], 'text/html');
    assert.equal(headers['x-ms-error-code'], 'WebContentNotFound');
    assert.match(
      text,
      /^<!DOCTYPE html>.*The requested content does not exist\..*<li>ErrorCode: WebC/,
    );
    assert.equal((await page('/a/', { method: 'HEAD' })).text, '');
    await service.setProperties({ staticWebsite: { enabled: false } });
    assert.equal((await page('/index.html')).status, 404);
  });
});
