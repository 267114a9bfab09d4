import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { plain, rowsUnder } from '../support/compatibility-page.js';
import { allowedOrigin, corsRules } from '../support/compatibility-world.js';
import { startServer } from '../support/start-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { WireRequest } from '../wire/kit/signing-client.js';

// Requests for every operation and refusal of blobs: the response headers must be those of
// docs/reference/compatibility.md.

const started = await startServer({
  copySources: { hosts: ['127.0.0.1:*'], privateNetworks: true },
});
const { server } = started;
const client = BlobWireClient.of(server);
const throttled = await startServer({ throttle: { requestsPerSecondPerAccount: 0.01 } });
const slow = BlobWireClient.of(throttled.server);
after(async () => {
  client.close();
  slow.close();
  await started[Symbol.asyncDispose]();
  await throttled[Symbol.asyncDispose]();
});

const properties = { path: '/?restype=service&comp=properties' };
const lease = '11111111-2222-4333-8444-555555555555';
const block = { 'x-ms-blob-type': 'BlockBlob' };
const url = (path: string) => `${server.blobEndpoint}${path}`;
const answers: WireResponse[] = [];

async function ask(request: WireRequest): Promise<WireResponse> {
  const answer = await client.send(request);
  answers.push(answer);
  return answer;
}

const put = (path: string, headers: Readonly<Record<string, string>> = {}, body?: string) =>
  ask({ method: 'PUT', path, headers, ...(body === undefined ? {} : { body }) });

/** What is not about one container. */
async function askTheService(): Promise<void> {
  const origin = { Origin: allowedOrigin };
  await put(properties.path, {}, corsRules);
  for (const request of [
    {},
    { headers: { 'x-ms-client-request-id': 'mine' } },
    { headers: { ...origin, Authorization: 'nonsense' } },
    {
      method: 'OPTIONS',
      auth: 'none',
      headers: {
        ...origin,
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'x-ms-date',
      },
    },
    { method: 'OPTIONS', auth: 'none' },
    { auth: 'none' },
    { headers: { 'x-ms-version': 'nonsense' } },
    properties,
    { path: '/?restype=account&comp=properties' },
    { target: '/devstoreaccount1-secondary/?restype=service&comp=stats' },
    { path: '/?comp=other' },
    { target: '/nobody/here' },
    { method: 'PATCH', ...properties },
    { path: "/?comp=blobs&where=a%3D'b'" },
  ] as const) {
    await ask(request);
  }
  for (let time = 0; time < 5; time += 1) answers.push(await slow.send({ path: '/?comp=list' }));
}

async function askAContainer(): Promise<void> {
  const path = '/walked?restype=container';
  const meta = { 'x-ms-meta-Colour': 'blue' };
  await put(path, { ...meta, 'x-ms-blob-public-access': 'blob' });
  await put(path);
  await put(`${path}&comp=lease`, {
    'x-ms-lease-action': 'acquire',
    'x-ms-lease-duration': '60',
    'x-ms-proposed-lease-id': lease,
  });
  await ask({ path });
  await put(`${path}&comp=lease`, { 'x-ms-lease-action': 'break' });
  await put(`${path}&comp=lease`, { 'x-ms-lease-action': 'release', 'x-ms-lease-id': lease });
  await ask({ path: `${path}&comp=acl` });
  await ask({ method: 'HEAD', path: `${path}&comp=metadata` });
  await ask({ path: `${path}&comp=list` });
  await ask({ path: '/missing?restype=container&comp=list' });
}

async function askBlockBlobs(): Promise<void> {
  const path = '/walked/block';
  const described = {
    'x-ms-blob-content-type': 'text/plain',
    'x-ms-blob-content-encoding': 'x',
    'x-ms-blob-content-language': 'en',
    'x-ms-blob-cache-control': 'no-store',
    'x-ms-blob-content-disposition': 'inline',
    'x-ms-meta-Colour': 'blue',
    'x-ms-tags': 'a=b',
  };
  const { headers } = await put(path, { ...block, ...described }, 'hello');
  assert.ok(headers.length > 0);
  await ask({ path });
  await ask({ path, auth: 'none' });
  await ask({ method: 'HEAD', path });
  const range = { Range: 'bytes=0-1' };
  await ask({ path, headers: { ...range, 'x-ms-range-get-content-md5': 'true' } });
  await ask({ path, headers: { ...range, 'x-ms-range-get-content-crc64': 'true' } });
  await ask({ path, headers: { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' } });
  await ask({ path, headers: { Range: 'bytes=9-' } });
  await ask({ path, headers: { 'If-None-Match': '*' } });
  await put(`${path}?comp=tier`, { 'x-ms-access-tier': 'Cool' });
  await ask({ method: 'HEAD', path });
  await put(`${path}?comp=snapshot`);
  await ask({ path: `${path}?comp=tags` });
  await put(`${path}?comp=block&blockid=AAAA`, {}, 'x');
  await ask({ path: `${path}?comp=blocklist&blocklisttype=all` });
  await put(`${path}?comp=properties`);
  await put(`${path}?comp=metadata`);
  await put('/walked/copied', { 'x-ms-copy-source': url(path) });
  await put('/walked/sync', { 'x-ms-copy-source': url(path), 'x-ms-requires-sync': 'true' });
  await ask({ method: 'HEAD', path: '/walked/copied' });
  await put('/walked/none', { 'x-ms-copy-source': url('/walked/missing') });
  await put(`${path}?comp=lease`, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' });
  await ask({ method: 'HEAD', path });
  await put(`${path}?comp=lease`, { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' });
  await ask({ method: 'DELETE', path });
  await ask({ method: 'DELETE', path, headers: { 'x-ms-delete-snapshots': 'include' } });
  await ask({ path });
  await put('/walked/empty', block, '');
}

async function askOtherBlobs(): Promise<void> {
  await put('/walked/append', { 'x-ms-blob-type': 'AppendBlob' });
  await put('/walked/append?comp=appendblock', {}, 'x');
  await put('/walked/append?comp=seal');
  await ask({ method: 'HEAD', path: '/walked/append' });
  const path = '/walked/page';
  await put(path, { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' });
  const page = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' };
  await put(`${path}?comp=page`, page, 'x'.repeat(512));
  await ask({ path: `${path}?comp=pagelist` });
  const snapshot = (await put(`${path}?comp=snapshot`)).header('x-ms-snapshot') ?? '';
  const source = url(`${path}?snapshot=${encodeURIComponent(snapshot)}`);
  await put('/walked/incremental?comp=incrementalcopy', { 'x-ms-copy-source': source });
  await ask({ method: 'HEAD', path: '/walked/incremental' });
}

/** What is sent where versions are kept, and blobs by policies, and snapshots that were deleted. */
async function askWithVersions(): Promise<void> {
  const keeping = await startServer({ blobImmutability: true });
  const versions = BlobWireClient.of(keeping.server);
  const kept =
    '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>1</Days>' +
    '<AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy></StorageServiceProperties>';
  const container = await versions.newContainer();
  const path = `/${container}/b`;
  const until = new Date(Date.now() + 60_000).toUTCString();
  const policy = { 'x-ms-immutability-policy-until-date': until };
  for (const request of [
    { method: 'PUT', ...properties, body: kept },
    { method: 'PUT', path, headers: block, body: 'x' },
    { method: 'PUT', path: `${path}?comp=immutabilityPolicies`, headers: policy },
    { method: 'PUT', path: `${path}?comp=legalhold`, headers: { 'x-ms-legal-hold': 'true' } },
    { path },
    { method: 'PUT', path: `${path}?comp=legalhold`, headers: { 'x-ms-legal-hold': 'false' } },
    { method: 'DELETE', path: `${path}?comp=immutabilityPolicies` },
    { method: 'DELETE', path },
  ]) {
    answers.push(await versions.send(request));
  }
  versions.close();
  await keeping[Symbol.asyncDispose]();
}

/** A source that is there when it is first asked, and not any more when it is read. */
async function askAboutAFailedCopy(): Promise<void> {
  let asked = 0;
  const web = createServer((_request, response) => {
    asked += 1;
    response.writeHead(asked === 1 ? 200 : 404, { ETag: '"1"', 'Content-Length': '9' });
    response.end();
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  const source = `http://127.0.0.1:${(web.address() as AddressInfo).port}/b`;
  const path = '/walked/failed';
  await put(path, { 'x-ms-copy-source': source });
  const head = { method: 'HEAD', path };
  while ((await client.send(head)).header('x-ms-copy-status') === 'pending') {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.equal((await ask(head)).header('x-ms-copy-status'), 'failed');
  web.closeAllConnections();
  web.close();
}

await askTheService();
await askAContainer();
await askBlockBlobs();
await askOtherBlobs();
await askWithVersions();
await askAboutAFailedCopy();

const names = answers.flatMap(({ headers }) => headers.map(([name]) => name));
const seen = new Set(names.map((name) => (/^x-ms-meta-./.test(name) ? 'x-ms-meta-' : name)));
const rows = rowsUnder('Response headers of blobs');

describe('response headers of blobs', () => {
  it('are those of the page', () => {
    const documented = rows
      .filter(([, second]) => second !== 'absent')
      .flatMap(([name = '']) => plain(name).split(', '));
    assert.deepEqual([...seen].toSorted(), documented.toSorted());
  });

  it('are on every answer when the page says so', () => {
    const always = rows.filter(([, when = '']) => when.startsWith('always'));
    assert.equal(always.length, 4);
    for (const answer of answers) {
      for (const [name = ''] of always) {
        assert.ok(answer.header(plain(name)) !== undefined, `${name}: ${answer.head}`);
      }
    }
  });

  it('of the cloud are absent where the page says so', () => {
    const absent = rows.filter(([, second]) => second === 'absent');
    assert.ok(absent.length > 0);
    for (const [name = ''] of absent) {
      for (const each of plain(name).split(', ')) assert.ok(!seen.has(each), each);
    }
  });
});
