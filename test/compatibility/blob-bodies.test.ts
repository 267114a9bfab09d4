import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { plain, rowsUnder } from '../support/compatibility-page.js';
import { differs, holdRows, supported } from '../support/compatibility-rows.js';
import { startServer } from '../support/start-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { blobSas } from '../wire/kit/blob-sas.js';
import { assertStatus } from '../wire/kit/errors.js';
import { elementTexts } from '../wire/kit/queue-xml.js';
import type { WireResponse } from '../wire/kit/response.js';
import { withSas } from '../wire/kit/sas.js';

// The documents of blobs in docs/reference/compatibility.md, and where answers about blobs differ
// from those of the cloud service, held against a server.

const started = await startServer();
const blobs = BlobWireClient.of(started.server);
after(async () => {
  blobs.close();
  await started[Symbol.asyncDispose]();
});

type Headers = Readonly<Record<string, string>>;

const properties = '/?restype=service&comp=properties';
const block = { 'x-ms-blob-type': 'BlockBlob' };

function put(path: string, headers: Headers = {}, body?: string): Promise<WireResponse> {
  return blobs.send({ method: 'PUT', path, headers, ...(body === undefined ? {} : { body }) });
}

/** Makes a block blob and returns its path. */
async function madeBlob(headers: Headers = block, body = 'hello'): Promise<string> {
  const path = `/${await blobs.newContainer()}/b`;
  assertStatus(await put(path, headers, body), 201);
  return path;
}

const textOf = async (path: string) => (await blobs.expect(200, { path })).text;

async function setService(part: string): Promise<WireResponse> {
  return put(properties, {}, `<StorageServiceProperties>${part}</StorageServiceProperties>`);
}

holdRows('Bodies of blobs', [
  supported('BlockList', async () => {
    const path = await madeBlob();
    for (const id of ['AAAA', 'BBBB']) {
      assertStatus(await put(`${path}?comp=block&blockid=${id}`, {}, id), 201);
    }
    const list = '<BlockList><Uncommitted>BBBB</Uncommitted><Latest>AAAA</Latest></BlockList>';
    assertStatus(await put(`${path}?comp=blocklist`, {}, list), 201);
    assert.equal(await textOf(path), 'BBBBAAAA');
    const shown = await textOf(`${path}?comp=blocklist`);
    assert.match(shown, /<CommittedBlocks><Block><Name>BBBB<\/Name><Size>4<\/Size><\/Block>/);
    const wrong = await put(
      `${path}?comp=blocklist`,
      {},
      '<BlockList><Other>AAAA</Other></BlockList>',
    );
    assertStatus(wrong, 400, 'UnsupportedXmlNode');
  }),
  supported('PageList', async () => {
    const made = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' };
    const path = await madeBlob(made, '');
    const page = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=512-1023' };
    assertStatus(await put(`${path}?comp=page`, page, 'x'.repeat(512)), 201);
    const range = /<PageList><PageRange><Start>512<\/Start><End>1023<\/End><\/PageRange>/;
    assert.match(await textOf(`${path}?comp=pagelist`), range);
  }),
  supported('Tags', async () => {
    const path = `${await madeBlob()}?comp=tags`;
    const tags = '<Tags><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tags>';
    assertStatus(await put(path, {}, tags), 204);
    assert.ok((await textOf(path)).includes(tags));
    const twice = tags.replace('</TagSet>', '<Tag><Key>a</Key><Value>c</Value></Tag></TagSet>');
    assertStatus(await put(path, {}, twice), 400);
  }),
  supported('EnumerationResults', async () => {
    const path = await madeBlob({ ...block, 'x-ms-tags': 'enumerated=yes' });
    const container = path.split('/')[1] ?? '';
    const list = await textOf(`/${container}?restype=container&comp=list`);
    assert.deepEqual(elementTexts(list, 'Name'), ['b']);
    assert.match(await textOf(`/?comp=list&prefix=${container}`), /<Containers><Container>/);
    const where = encodeURIComponent("enumerated='yes'");
    assert.match(await textOf(`/?comp=blobs&where=${where}`), /<TagSet><Tag><Key>enumerated</);
  }),
  supported('SignedIdentifiers', async () => {
    const path = `/${await blobs.newContainer()}?restype=container&comp=acl`;
    const one = (id: number) =>
      `<SignedIdentifier><Id>${id}</Id><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier>`;
    const of = (count: number) =>
      `<SignedIdentifiers>${Array.from({ length: count }, (_, at) => one(at)).join('')}</SignedIdentifiers>`;
    assertStatus(await put(path, {}, of(5)), 200);
    assert.equal(elementTexts(await textOf(path), 'Id').length, 5);
    assertStatus(await put(path, {}, of(6)), 400);
  }),
  supported('DefaultServiceVersion', async () => {
    const set = (version: string) =>
      setService(`<DefaultServiceVersion>${version}</DefaultServiceVersion>`);
    assertStatus(await set('2021-12-02'), 202);
    assert.match(await textOf(properties), /<DefaultServiceVersion>2021-12-02</);
    assertStatus(await set('2021-12-03'), 400);
  }),
  supported('DeleteRetentionPolicy', async () => {
    const set = (days: number) =>
      setService(
        `<DeleteRetentionPolicy><Enabled>true</Enabled><Days>${days}</Days></DeleteRetentionPolicy>`,
      );
    assertStatus(await set(366), 400);
    assertStatus(await set(1), 202);
    const path = await madeBlob();
    assertStatus(await blobs.send({ method: 'DELETE', path }), 202);
    assertStatus(await put(`${path}?comp=undelete`), 200);
    assert.equal(await textOf(path), 'hello');
    const off = '<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>';
    assertStatus(await setService(off), 202);
  }),
  supported('StaticWebsite', async () => {
    const site =
      '<StaticWebsite><Enabled>true</Enabled><IndexDocument>index.html</IndexDocument></StaticWebsite>';
    assertStatus(await setService(site), 202);
    assert.match(await textOf(properties), /<IndexDocument>index.html</);
    assertStatus(await blobs.send({ path: '/$web?restype=container' }), 200);
  }),
  differs('Logging, HourMetrics, MinuteMetrics, Metrics, Cors, StorageServiceStats', async () => {
    assert.match(await textOf(properties), /<Logging>.*<HourMetrics>.*<MinuteMetrics>.*<Cors/s);
    const target = '/devstoreaccount1-secondary/?restype=service&comp=stats';
    assert.match((await blobs.expect(200, { target })).text, /<Status>live</);
  }),
  supported('multipart/mixed', async () => {
    const path = await madeBlob();
    const part = [
      '--b',
      'Content-Type: application/http',
      'Content-Transfer-Encoding: binary',
      'Content-ID: 0',
      '',
      `DELETE ${withSas(`/${blobs.account}${path}`, blobSas(path.slice(1), { sr: 'b', sp: 'd' }))} HTTP/1.1`,
      '',
      '',
    ];
    const body = `${part.join('\r\n')}\r\n--b--\r\n`;
    const headers = { 'Content-Type': 'multipart/mixed; boundary=b' };
    const request = { method: 'POST', path: '/?comp=batch', headers, body };
    assert.match((await blobs.expect(202, request)).text, /HTTP\/1\.1 202 /);
    assertStatus(await blobs.send({ path }), 404);
  }),
]);

/** In the order of the page. */
const differing: readonly (() => Promise<string>)[] = [
  async () => {
    const path = `/${await blobs.newContainer()}?restype=container`;
    assertStatus(await blobs.send({ method: 'DELETE', path }), 202);
    return String((await put(path)).status);
  },
  async () => {
    const path = await madeBlob();
    for (const tier of ['Archive', 'Hot']) {
      await put(`${path}?comp=tier`, { 'x-ms-access-tier': tier });
    }
    return `${(await blobs.send({ path })).status} at once`;
  },
  async () => {
    const path = await madeBlob();
    const source = `${started.server.blobEndpoint}${path}`;
    const copied = await put(`${path}2`, { 'x-ms-copy-source': source });
    return `${copied.status} with ${copied.header('x-ms-copy-status') ?? ''}`;
  },
  async () => {
    const path = `/${await blobs.newContainer()}/b`;
    const policies =
      '<SignedIdentifiers><SignedIdentifier><Id>readers</Id><AccessPolicy>' +
      '<Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy>' +
      '</SignedIdentifier></SignedIdentifiers>';
    const container = path.split('/')[1] ?? '';
    assertStatus(await put(path, block, 'x'), 201);
    assertStatus(await put(`/${container}?restype=container&comp=acl`, {}, policies), 200);
    const token = blobSas(container, { se: undefined, si: 'readers' });
    const { status } = await blobs.send({ path: withSas(path, token), auth: 'none' });
    return status === 200 ? 'good at once' : String(status);
  },
  async () => {
    const path = `/${await blobs.newContainer()}/b`;
    assertStatus(await put(path, { ...block, 'x-ms-tags': 'fresh=yes' }, 'x'), 201);
    const where = encodeURIComponent("fresh='yes'");
    const found = elementTexts(await textOf(`/?comp=blobs&where=${where}`), 'Name');
    return found.includes('b') ? 'found at once' : 'not found';
  },
];

describe('Answers about blobs that differ', () => {
  const rows = rowsUnder('Answers about blobs that differ');

  it('are all asked for here', () => assert.equal(rows.length, differing.length));

  for (const [index, [request = '', , here = '']] of rows.entries()) {
    it(plain(request), async () => assert.equal(await differing[index]?.(), plain(here)));
  }
});
