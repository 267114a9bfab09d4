import assert from 'node:assert/strict';
import { after } from 'node:test';
import { blobRoutes } from '../../src/http/blobs/routes.js';
import { rowsUnder } from '../support/compatibility-page.js';
import { absent, differs, holdRows, supported } from '../support/compatibility-rows.js';
import { testIssuer } from '../support/oauth-issuer.js';
import { startServer } from '../support/start-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { blobSas } from '../wire/kit/blob-sas.js';
import { delegatedSas } from '../wire/kit/delegation.js';
import { assertStatus } from '../wire/kit/errors.js';
import { elementText, elementTexts } from '../wire/kit/queue-xml.js';
import type { WireResponse } from '../wire/kit/response.js';
import { withSas, type SasParameters } from '../wire/kit/sas.js';

// The headers and parameters of blobs in docs/reference/compatibility.md, held against a server.

const issuer = await testIssuer();
const started = await startServer({
  oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
});
const blobs = BlobWireClient.of(started.server);
after(async () => {
  blobs.close();
  await started[Symbol.asyncDispose]();
});

const properties = '/?restype=service&comp=properties';
const cors = '<StorageServiceProperties><Cors/></StorageServiceProperties>';
const md5OfNothing = '1B2M2Y8AsgTpgAmY7PhCfg==';
const crc64OfNothing = 'AAAAAAAAAAA=';
const id = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';
const longAgo = 'Fri, 21 Nov 2014 10:00:00 GMT';

type Headers = Readonly<Record<string, string>>;

async function setProperties(headers: Headers, status: number, code?: string): Promise<void> {
  const request = { method: 'PUT', path: properties, body: cors, headers };
  assertStatus(await blobs.send(request), status, code);
}

function put(path: string, headers: Headers): Promise<WireResponse> {
  return blobs.send({ method: 'PUT', path, headers });
}

const ignored = (parameter: string) => async () => {
  assertStatus(await blobs.send({ path: `${properties}&${parameter}` }), 200);
};

function lease(container: string, action: string, headers: Headers = {}): Promise<WireResponse> {
  const path = `/${container}?restype=container&comp=lease`;
  return put(path, { 'x-ms-lease-action': action, ...headers });
}

async function leased(): Promise<string> {
  const container = await blobs.newContainer();
  const headers = { 'x-ms-lease-duration': '-1', 'x-ms-proposed-lease-id': id };
  assertStatus(await lease(container, 'acquire', headers), 201);
  return container;
}

const createPages = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' };

const blockBlob = { 'x-ms-blob-type': 'BlockBlob' };

/** Headers of what is not there, which writes refuse by name. */
const refusedOnWrites = (names: readonly string[]) => async () => {
  const path = `/${await blobs.newContainer()}/b`;
  for (const name of names) {
    const refused = await put(path, { ...blockBlob, [name]: '1' });
    assertStatus(refused, 501, 'NotImplemented');
    assert.match(refused.text, new RegExp(name));
  }
};

/** Makes a blob and returns its path. */
async function madeBlob(headers: Headers): Promise<string> {
  const path = `/${await blobs.newContainer()}/b`;
  assertStatus(await put(path, headers), 201);
  return path;
}

/** The URL of a blob, as the source of a copy. */
function urlOf(path: string): string {
  return `${started.server.blobEndpoint}${path}`;
}

/** Clears the first page of a blob. */
function clearPage(path: string, headers: Headers = {}): Promise<WireResponse> {
  const clear = { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' };
  return put(`${path}?comp=page`, { ...clear, ...headers });
}

holdRows('Request headers of blobs', [
  supported('Content-MD5', async () => {
    await setProperties({}, 202);
    await setProperties({ 'Content-MD5': md5OfNothing }, 400, 'Md5Mismatch');
    await setProperties({ 'Content-MD5': 'x' }, 400, 'InvalidMd5');
  }),
  supported('If-Match, If-None-Match', async () => {
    const path = await madeBlob(blockBlob);
    for (const [name, method, status] of [
      ['If-Match', 'GET', 412],
      ['If-Match', 'PUT', 412],
      ['If-None-Match', 'PUT', 200],
      ['If-None-Match', 'GET', 200],
    ] as const) {
      const query = method === 'PUT' ? '?comp=metadata' : '';
      const headers = { [name]: '"0x1"' };
      assertStatus(await blobs.send({ method, path: `${path}${query}`, headers }), status);
    }
  }),
  supported('If-Modified-Since, If-Unmodified-Since', async () => {
    const container = await blobs.newContainer();
    for (const [name, path] of [
      ['If-Unmodified-Since', `/${container}?restype=container&comp=acl`],
      ['If-Unmodified-Since', `/${container}?restype=container&comp=lease`],
    ] as const) {
      const headers = { 'x-ms-lease-action': 'break', [name]: longAgo };
      assertStatus(await put(path, headers), 412, 'ConditionNotMet');
    }
    const metadata = `/${container}?restype=container&comp=metadata`;
    assertStatus(await put(metadata, { 'If-Unmodified-Since': longAgo }), 200);
    const later = new Date(Date.now() + 60_000).toUTCString();
    assertStatus(await put(metadata, { 'If-Modified-Since': later }), 412, 'ConditionNotMet');
  }),
  supported('Range, x-ms-range', async () => {
    const path = await madeBlob(createPages);
    for (const name of ['Range', 'x-ms-range']) {
      const part = await blobs.send({ path, headers: { [name]: 'bytes=1-2' } });
      assertStatus(part, 206);
      assert.equal(part.header('content-range'), 'bytes 1-2/1024');
      const behind = await blobs.send({ path, headers: { [name]: 'bytes=1024-' } });
      assertStatus(behind, 416, 'InvalidRange');
      assertStatus(await blobs.send({ path, headers: { [name]: 'bytes=-2' } }), 200);
    }
  }),
  supported('x-ms-access-tier', async () => {
    const path = `/${await blobs.newContainer()}/b?comp=tier`;
    assertStatus(await put(path, { 'x-ms-access-tier': 'cool' }), 404, 'BlobNotFound');
    assertStatus(await put(path, { 'x-ms-access-tier': 'x' }), 400, 'InvalidHeaderValue');
    assertStatus(await put(path, {}), 400, 'MissingRequiredHeader');
    const inPremium = await madeBlob({ ...createPages, 'x-ms-access-tier': 'P10' });
    const { head } = await blobs.expect(200, { method: 'HEAD', path: inPremium });
    assert.match(head, /^x-ms-access-tier: P10\r?$/im);
  }),
  supported(
    'x-ms-blob-cache-control, x-ms-blob-content-disposition, x-ms-blob-content-encoding, ' +
      'x-ms-blob-content-language, x-ms-blob-content-md5, x-ms-blob-content-type',
    async () => {
      const given = {
        'cache-control': 'no-store',
        'content-disposition': 'inline',
        'content-encoding': 'x',
        'content-language': 'en',
        'content-md5': md5OfNothing,
        'content-type': 'text/plain',
      };
      const prefixed = Object.entries(given).map(([name, value]) => [`x-ms-blob-${name}`, value]);
      const path = await madeBlob({ ...blockBlob, ...Object.fromEntries(prefixed) });
      const { headers } = await blobs.send({ path });
      const shown = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
      for (const [name, value] of Object.entries(given)) assert.equal(shown.get(name), value);
      const wrong = { 'x-ms-blob-content-md5': 'x' };
      assertStatus(await put(`${path}?comp=properties`, wrong), 400, 'InvalidMd5');
    },
  ),
  supported('x-ms-blob-condition-appendpos, x-ms-blob-condition-maxsize', async () => {
    const path = await madeBlob({ 'x-ms-blob-type': 'appendblob' });
    for (const [name, code] of [
      ['x-ms-blob-condition-appendpos', 'AppendPositionConditionNotMet'],
      ['x-ms-blob-condition-maxsize', 'MaxBlobSizeConditionNotMet'],
    ] as const) {
      const append = { method: 'PUT', path: `${path}?comp=appendblock`, body: 'abc' };
      const value = code.startsWith('Max') ? '2' : '1';
      assertStatus(await blobs.send({ ...append, headers: { [name]: value } }), 412, code);
    }
  }),
  supported('x-ms-blob-content-length', async () => {
    const path = await madeBlob(createPages);
    const { head } = await blobs.expect(200, { method: 'HEAD', path });
    assert.match(head, /^Content-Length: 1024\r?$/im);
    const wrong = { ...createPages, 'x-ms-blob-content-length': '1' };
    assertStatus(await put(path, wrong), 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-blob-sequence-number', async () => {
    const path = await madeBlob({ ...createPages, 'x-ms-blob-sequence-number': '9' });
    assert.equal((await clearPage(path)).header('x-ms-blob-sequence-number'), '9');
  }),
  supported('x-ms-blob-type', async () => {
    await madeBlob({ 'x-ms-blob-type': 'blockblob' });
    const path = `/${await blobs.newContainer()}/b`;
    assertStatus(await put(path, { 'x-ms-blob-type': 'x' }), 400, 'InvalidHeaderValue');
    assertStatus(await put(path, {}), 400, 'MissingRequiredHeader');
  }),
  supported('x-ms-blob-public-access', async () => {
    const container = await blobs.newContainer({ 'x-ms-blob-public-access': 'container' });
    const path = `/${container}?restype=container`;
    assertStatus(await blobs.send({ path, auth: 'none' }), 200);
    assertStatus(await put(`${path}&comp=acl`, {}), 200);
    assertStatus(await blobs.send({ path, auth: 'none' }), 401, 'NoAuthenticationInformation');
    const wrong = { 'x-ms-blob-public-access': 'all' };
    assertStatus(await put(`${path}&comp=acl`, wrong), 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-content-crc64', async () => {
    const sum = { 'x-ms-content-crc64': crc64OfNothing };
    await setProperties(sum, 400, 'Crc64Mismatch');
    const both = { ...sum, 'Content-MD5': md5OfNothing };
    await setProperties(both, 400, 'BothCrc64AndMd5HeaderPresent');
  }),
  supported('x-ms-copy-action', async () => {
    const path = `${await madeBlob(blockBlob)}?comp=copy&copyid=x`;
    assertStatus(await put(path, {}), 400, 'MissingRequiredHeader');
    assertStatus(await put(path, { 'x-ms-copy-action': 'x' }), 400, 'InvalidHeaderValue');
  }),
  differs('x-ms-copy-source', async () => {
    const path = await madeBlob(createPages);
    const copied = await put(`${path}2`, { 'x-ms-copy-source': urlOf(path) });
    assertStatus(copied, 202);
    assert.equal(copied.header('x-ms-copy-status'), 'success');
    const elsewhere = { 'x-ms-copy-source': 'http://example.com/account/c/b' };
    assertStatus(await put(`${path}2`, elsewhere), 403, 'CannotVerifyCopySource');
    const wrong = await put(`${path}2`, { 'x-ms-copy-source': 'x' });
    assertStatus(wrong, 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-copy-source-authorization', async () => {
    const path = await madeBlob(createPages);
    const by = (authorization: string) =>
      put(`${path}2`, {
        'x-ms-copy-source': urlOf(path),
        'x-ms-copy-source-authorization': authorization,
      });
    assertStatus(await by('SharedKey a:b'), 400, 'InvalidHeaderValue');
    assertStatus(await by('Bearer x'), 401, 'CannotVerifyCopySource');
  }),
  supported('x-ms-copy-source-blob-properties', async () => {
    const made = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': 'text/plain' };
    const path = await madeBlob(made);
    for (const [copies, type] of [
      ['true', 'text/plain'],
      ['false', 'application/octet-stream'],
    ] as const) {
      const headers = {
        'x-ms-blob-type': 'BlockBlob',
        'x-ms-copy-source': urlOf(path),
        'x-ms-copy-source-blob-properties': copies,
      };
      assertStatus(await put(`${path}2`, headers), 201);
      const { head } = await blobs.expect(200, { method: 'HEAD', path: `${path}2` });
      assert.match(head, new RegExp(`^Content-Type: ${type}\\r?$`, 'im'));
    }
  }),
  supported('x-ms-copy-source-tag-option', async () => {
    const path = await madeBlob({ ...createPages, 'x-ms-tags': 'a=b' });
    const option = (text: string, more = {}) =>
      put(`${path}2`, {
        'x-ms-copy-source': urlOf(path),
        'x-ms-copy-source-tag-option': text,
        ...more,
      });
    const count = async () => {
      const { head } = await blobs.expect(200, { method: 'HEAD', path: `${path}2` });
      return /^x-ms-tag-count: (.*)\r?$/im.exec(head)?.[1];
    };
    assertStatus(await option('REPLACE'), 202);
    assert.equal(await count(), undefined);
    assertStatus(await option('COPY'), 202);
    assert.equal(await count(), '1');
    const both = 'BothUserTagsAndSourceTagsCopyPresentException';
    assertStatus(await option('COPY', { 'x-ms-tags': 'c=d' }), 400, both);
    assertStatus(await option('none'), 400, 'InvalidHeaderValue');
  }),
  absent('x-ms-default-encryption-scope', async () => {
    const name = 'x-ms-default-encryption-scope';
    await blobs.newContainer({ [name]: '$account-encryption-key' });
    const refused = await put('/scoped?restype=container', { [name]: 'mine' });
    assertStatus(refused, 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-delete-snapshots', async () => {
    const path = await madeBlob(blockBlob);
    assertStatus(await put(`${path}?comp=snapshot`, {}), 201);
    const remove = (headers: Headers) => blobs.send({ method: 'DELETE', path, headers });
    assertStatus(await remove({}), 409, 'SnapshotsPresent');
    assertStatus(await remove({ 'x-ms-delete-snapshots': 'x' }), 400, 'InvalidHeaderValue');
    assertStatus(await remove({ 'x-ms-delete-snapshots': 'only' }), 202);
    assertStatus(await remove({ 'x-ms-delete-snapshots': 'include' }), 202);
  }),
  supported('x-ms-deleted-container-name, x-ms-deleted-container-version', async () => {
    const path = '/abc?restype=container&comp=undelete';
    const named = { 'x-ms-deleted-container-name': 'abc' };
    assertStatus(await put(path, named), 400, 'MissingRequiredHeader');
    const whole = { ...named, 'x-ms-deleted-container-version': '01D69540C360196E' };
    assertStatus(await put(path, whole), 404, 'ContainerNotFound');
    const other = { ...whole, 'x-ms-deleted-container-name': 'abd' };
    assertStatus(await put(path, other), 400, 'InvalidHeaderValue');
  }),
  absent('x-ms-deny-encryption-scope-override', async () => {
    await blobs.newContainer({ 'x-ms-deny-encryption-scope-override': 'true' });
  }),
  absent(
    'x-ms-encryption-key, x-ms-encryption-scope',
    refusedOnWrites(['x-ms-encryption-key', 'x-ms-encryption-scope']),
  ),
  absent(
    'x-ms-expiry-option, x-ms-expiry-time',
    refusedOnWrites(['x-ms-expiry-option', 'x-ms-expiry-time']),
  ),
  differs(
    'x-ms-immutability-policy-until-date, x-ms-immutability-policy-mode, x-ms-legal-hold',
    async () => {
      const path = `/${await blobs.newContainer()}/b`;
      const until = new Date(Date.now() + 60_000).toUTCString();
      const policy = {
        'x-ms-immutability-policy-until-date': until,
        'x-ms-immutability-policy-mode': 'Locked',
      };
      const held = { 'x-ms-legal-hold': 'true' };
      for (const given of [policy, held]) {
        const refused = await put(path, { ...blockBlob, ...given });
        assertStatus(refused, 501, 'NotImplemented');
        assert.match(refused.text, /--blob-immutability/);
        const block = await put(`${path}?comp=block&blockid=YQ==`, given);
        assertStatus(block, 400, 'UnsupportedHeader');
      }
      assertStatus(await put(path, { ...blockBlob, 'x-ms-legal-hold': 'false' }), 201);
      await started.server.reload({ blobImmutability: true });
      assertStatus(await put(path, { ...blockBlob, ...policy, ...held }), 201);
      await started.server.reload({ blobImmutability: false });
      const shown = await blobs.expect(200, { method: 'HEAD', path });
      assert.equal(shown.header('x-ms-immutability-policy-until-date'), until);
      assert.equal(shown.header('x-ms-immutability-policy-mode'), 'locked');
      assert.equal(shown.header('x-ms-legal-hold'), 'true');
    },
  ),
  supported(
    'x-ms-if-sequence-number-le, x-ms-if-sequence-number-lt, x-ms-if-sequence-number-eq',
    async () => {
      const path = await madeBlob({ ...createPages, 'x-ms-blob-sequence-number': '9' });
      for (const [name, met, unmet] of [
        ['le', '9', '8'],
        ['lt', '10', '9'],
        ['eq', '9', '10'],
      ] as const) {
        const condition = (value: string) => ({ [`x-ms-if-sequence-number-${name}`]: value });
        assertStatus(await clearPage(path, condition(met)), 201);
        const refused = await clearPage(path, condition(unmet));
        assertStatus(refused, 412, 'SequenceNumberConditionNotMet');
      }
    },
  ),
  supported('x-ms-lease-action', async () => {
    const container = await leased();
    assertStatus(await lease(container, 'Renew', { 'x-ms-lease-id': id }), 200);
    assertStatus(await lease(container, 'steal'), 400, 'InvalidHeaderValue');
    const path = `/${container}?restype=container&comp=lease`;
    assertStatus(await put(path, {}), 400, 'MissingRequiredHeader');
  }),
  supported('x-ms-lease-break-period', async () => {
    const broken = await lease(await leased(), 'break', { 'x-ms-lease-break-period': '60' });
    assertStatus(broken, 202);
    assert.equal(broken.header('x-ms-lease-time'), '60');
    const wrong = { 'x-ms-lease-break-period': '61' };
    assertStatus(await lease(await leased(), 'break', wrong), 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-lease-duration', async () => {
    const container = await blobs.newContainer();
    for (const seconds of ['14', '61', '-2', 'x']) {
      const refused = await lease(container, 'acquire', { 'x-ms-lease-duration': seconds });
      assertStatus(refused, 400, 'InvalidHeaderValue');
    }
    assertStatus(await lease(container, 'acquire', { 'x-ms-lease-duration': '15' }), 201);
  }),
  supported('x-ms-lease-id', async () => {
    const container = await leased();
    const form = `{${id.toUpperCase()}}`;
    const renewed = await lease(container, 'renew', { 'x-ms-lease-id': form });
    assertStatus(renewed, 200);
    assert.equal(renewed.header('x-ms-lease-id'), id);
    assertStatus(await lease(container, 'renew', { 'x-ms-lease-id': 'x' }), 400);
  }),
  supported('x-ms-meta-', async () => {
    const container = await blobs.newContainer({ 'x-ms-meta-Owner': 'me' });
    const { head } = await blobs.expect(200, { path: `/${container}?restype=container` });
    assert.match(head, /^x-ms-meta-Owner: me\r?$/m);
  }),
  supported('x-ms-page-write', async () => {
    const path = await madeBlob(createPages);
    assertStatus(await clearPage(path, { 'x-ms-page-write': 'Clear' }), 201);
    const wrong = await clearPage(path, { 'x-ms-page-write': 'x' });
    assertStatus(wrong, 400, 'InvalidHeaderValue');
  }),
  absent('x-ms-previous-snapshot-url', async () => {
    const path = `${await madeBlob(createPages)}?comp=pagelist`;
    const headers = { 'x-ms-previous-snapshot-url': 'http://localhost/a' };
    const refused = await blobs.send({ path, headers });
    assertStatus(refused, 409, 'PreviousSnapshotOperationNotSupported');
  }),
  supported('x-ms-proposed-lease-id', async () => {
    const container = await leased();
    const other = '00000000-0000-0000-0000-00000000000a';
    const headers = { 'x-ms-lease-id': id, 'x-ms-proposed-lease-id': other };
    const changed = await lease(container, 'change', headers);
    assert.equal(changed.header('x-ms-lease-id'), other);
  }),
  supported('x-ms-range-get-content-crc64, x-ms-range-get-content-md5', async () => {
    const path = await madeBlob(createPages);
    for (const [name, header] of [
      ['crc64', 'x-ms-content-crc64'],
      ['md5', 'content-md5'],
    ] as const) {
      const asked = { [`x-ms-range-get-content-${name}`]: 'true' };
      const part = await blobs.send({ path, headers: { ...asked, Range: 'bytes=0-9' } });
      assert.ok(part.header(header) !== undefined, name);
      assertStatus(await blobs.send({ path, headers: asked }), 400);
    }
  }),
  differs('x-ms-rehydrate-priority', async () => {
    const path = `/${await blobs.newContainer()}/b?comp=tier`;
    const headers = { 'x-ms-access-tier': 'Hot', 'x-ms-rehydrate-priority': 'x' };
    assertStatus(await put(path, headers), 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-requires-sync', async () => {
    const path = await madeBlob(createPages);
    const headers = { 'x-ms-copy-source': urlOf(path), 'x-ms-requires-sync': 'true' };
    assertStatus(await put(`${path}2`, headers), 409, 'InvalidSourceBlobType');
  }),
  supported('x-ms-seal-blob', async () => {
    const path = await madeBlob({ 'x-ms-blob-type': 'AppendBlob' });
    const headers = { 'x-ms-copy-source': urlOf(path), 'x-ms-seal-blob': 'true' };
    assertStatus(await put(`${path}2`, headers), 202);
    const append = { method: 'PUT', path: `${path}2?comp=appendblock`, body: 'abc' };
    assertStatus(await blobs.send(append), 409, 'BlobIsSealed');
  }),
  supported('x-ms-sequence-number-action', async () => {
    const path = `${await madeBlob(createPages)}?comp=properties`;
    const changed = await put(path, { 'x-ms-sequence-number-action': 'Increment' });
    assertStatus(changed, 200);
    assert.equal(changed.header('x-ms-blob-sequence-number'), '1');
    const wrong = await put(path, { 'x-ms-sequence-number-action': 'x' });
    assertStatus(wrong, 400, 'InvalidHeaderValue');
    const untold = await put(path, { 'x-ms-sequence-number-action': 'max' });
    assertStatus(untold, 400, 'MissingRequiredHeader');
  }),
  supported('x-ms-source-content-crc64, x-ms-source-content-md5, x-ms-source-range', async () => {
    const path = await madeBlob(createPages);
    const block = (headers: Headers) =>
      put(`${path}2?comp=block&blockid=MDE=`, { 'x-ms-copy-source': urlOf(path), ...headers });
    assertStatus(await block({ 'x-ms-source-range': 'bytes=0-9' }), 201);
    assertStatus(await block({ 'x-ms-source-range': 'x' }), 400, 'InvalidHeaderValue');
    const md5 = { 'x-ms-source-content-md5': md5OfNothing };
    assertStatus(await block(md5), 400, 'Md5Mismatch');
    const crc64 = { 'x-ms-source-content-crc64': crc64OfNothing };
    assertStatus(await block(crc64), 400, 'Crc64Mismatch');
  }),
  supported(
    'x-ms-source-if-match, x-ms-source-if-none-match, x-ms-source-if-modified-since, ' +
      'x-ms-source-if-unmodified-since, x-ms-source-if-tags',
    async () => {
      const path = await madeBlob({ ...blockBlob, 'x-ms-tags': 'a=b' });
      const { headers } = await blobs.send({ method: 'HEAD', path });
      const etag = headers.find(([name]) => name === 'ETag')?.[1] ?? '';
      const later = new Date(Date.now() + 3_600_000).toUTCString();
      for (const [name, value] of [
        ['match', '"0x1"'],
        ['none-match', etag],
        ['modified-since', later],
        ['unmodified-since', longAgo],
        ['tags', "a = 'c'"],
      ] as const) {
        const condition = { 'x-ms-copy-source': urlOf(path), [`x-ms-source-if-${name}`]: value };
        const refused = await put(`${path}2`, condition);
        assertStatus(refused, 412, 'SourceConditionNotMet');
      }
    },
  ),
  supported('x-ms-structured-body, x-ms-structured-content-length', async () => {
    const path = await madeBlob({ 'x-ms-blob-type': 'BlockBlob' });
    const structured = { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' };
    const { head } = await blobs.expect(200, { path, headers: structured });
    assert.match(head, /^x-ms-structured-content-length: 0\r?$/im);
    assertStatus(await put(`${path}?comp=metadata`, structured), 400, 'UnsupportedHeader');
    const other = { 'x-ms-structured-body': 'XSM/2.0' };
    assertStatus(await blobs.send({ path, headers: other }), 400, 'InvalidHeaderValue');
  }),
  supported('x-ms-tags, x-ms-if-tags', async () => {
    const path = await madeBlob({ 'x-ms-blob-type': 'BlockBlob', 'x-ms-tags': 'a=b' });
    const read = (where: string) => blobs.send({ path, headers: { 'x-ms-if-tags': where } });
    assertStatus(await read("a = 'b'"), 200);
    assertStatus(await read("a = 'c'"), 412, 'ConditionNotMet');
    assertStatus(await read('a'), 400, 'InvalidHeaderValue');
  }),
]);

async function listed(query: string): Promise<readonly (string | undefined)[]> {
  const { text } = await blobs.expect(200, { path: `/?comp=list&${query}` });
  return elementTexts(text, 'Name');
}

holdRows('Query parameters of blobs', [
  differs('comp', async () => {
    assertStatus(await blobs.send({ path: properties }), 200);
    const [row] = rowsUnder('Query parameters of blobs');
    const named = [...(row?.[2] ?? '').matchAll(/`(\w+)`/g)].flatMap(([, name]) => name ?? []);
    const routed = new Set(blobRoutes.flatMap(({ comp }) => comp ?? []));
    assert.deepEqual(named.toSorted(), [...routed].toSorted());
    const unknown = await blobs.send({ path: '/?comp=other' });
    assertStatus(unknown, 400, 'InvalidQueryParameterValue');
  }),
  supported('restype', async () => {
    const unknown = await blobs.send({ path: '/?restype=other&comp=properties' });
    assertStatus(unknown, 400, 'InvalidQueryParameterValue');
    assertStatus(await blobs.send({ path: '/?restype=account&comp=properties' }), 200);
  }),
  supported('prefix', async () => {
    await blobs.expect(201, { method: 'PUT', path: '/prefixed?restype=container' });
    assert.deepEqual(await listed('prefix=prefix'), ['prefixed']);
  }),
  supported('marker', async () => {
    const { text } = await blobs.expect(200, { path: '/?comp=list&maxresults=1' });
    const marker = encodeURIComponent(elementText(text, 'NextMarker') ?? '');
    const [first, second] = await listed('maxresults=2');
    assert.deepEqual(elementTexts(text, 'Name'), [first]);
    assert.deepEqual(await listed(`maxresults=1&marker=${marker}`), [second]);
    const wrong = await blobs.send({ path: '/?comp=list&marker=x' });
    assertStatus(wrong, 400, 'InvalidMarker');
  }),
  supported('maxresults', async () => {
    assert.equal((await listed('maxresults=1')).length, 1);
    const wrong = await blobs.send({ path: '/?comp=list&maxresults=0' });
    assertStatus(wrong, 400, 'OutOfRangeQueryParameterValue');
  }),
  supported('blockid', async () => {
    const path = `/${await blobs.newContainer()}/b?comp=block`;
    const stage = (id: string) =>
      blobs.send({ method: 'PUT', path: `${path}&blockid=${encodeURIComponent(id)}`, body: 'x' });
    assertStatus(await stage('MQ=='), 201);
    assertStatus(await stage('MTE='), 400, 'InvalidBlobOrBlock');
    assertStatus(await stage('?'), 400, 'InvalidQueryParameterValue');
  }),
  supported('startFrom', async () => {
    const path = `/${await blobs.newContainer()}`;
    const put = { method: 'PUT', headers: { 'x-ms-blob-type': 'BlockBlob' } };
    for (const name of ['a', 'b']) await blobs.expect(201, { ...put, path: `${path}/${name}` });
    const list = `${path}?restype=container&comp=list&startFrom=b`;
    const { text } = await blobs.expect(200, { path: list, version: '2026-02-06' });
    assert.deepEqual([text.includes('<Name>a<'), text.includes('<Name>b<')], [false, true]);
    assert.match((await blobs.expect(200, { path: list })).text, /<Name>a</);
  }),
  supported('blocklisttype', async () => {
    const path = `${await madeBlob({ 'x-ms-blob-type': 'BlockBlob' })}?comp=blocklist`;
    const { text } = await blobs.expect(200, { path: `${path}&blocklisttype=uncommitted` });
    assert.match(text, /<BlockList><UncommittedBlocks \/><\/BlockList>/);
    const wrong = await blobs.send({ path: `${path}&blocklisttype=x` });
    assertStatus(wrong, 400, 'InvalidQueryParameterValue');
  }),
  supported('deletetype', async () => {
    const path = await madeBlob(createPages);
    const remove = (type: string) =>
      blobs.send({ method: 'DELETE', path: `${path}?deletetype=${type}` });
    assertStatus(await remove('x'), 400, 'InvalidQueryParameterValue');
    assertStatus(await remove('permanent'), 409, 'BlobSnapshotNotSoftDeleted');
    assertStatus(await remove(''), 202);
  }),
  supported('copyid', async () => {
    const path = `${await madeBlob(createPages)}?comp=copy`;
    const abort = { 'x-ms-copy-action': 'abort' };
    assertStatus(await put(path, abort), 400, 'MissingRequiredQueryParameter');
    assertStatus(await put(`${path}&copyid=x`, abort), 409, 'NoPendingCopyOperation');
  }),
  supported('delimiter', async () => {
    const path = `/${await blobs.newContainer()}?restype=container&comp=list`;
    const { text } = await blobs.expect(200, { path: `${path}&delimiter=%2F%2F` });
    assert.match(text, /<Delimiter>\/\/<\/Delimiter><Blobs \/><NextMarker \/>/);
    const wrong = await blobs.send({ path: `${path}&delimiter=%2F&include=snapshots` });
    assertStatus(wrong, 400, 'InvalidQueryParameterValue');
  }),
  supported('where', async () => {
    const path = (where: string) => `/?comp=blobs&where=${encodeURIComponent(where)}`;
    const { text } = await blobs.expect(200, { path: path("k='v'") });
    assert.match(text, /<Where>k='v'<\/Where><Blobs \/><NextMarker \/>/);
    for (const wrong of ["@container='c'", 'k', '']) {
      const refused = await blobs.send({ path: path(wrong) });
      assertStatus(refused, 400, 'InvalidQueryParameterValue');
    }
  }),
  differs('include', async () => {
    const path = `/${await blobs.newContainer()}?restype=container&comp=list`;
    const all =
      'snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions,permissions,' +
      'immutabilitypolicy,legalhold';
    await blobs.expect(200, { path: `${path}&include=${all}` });
    assertStatus(await blobs.send({ path: `${path}&include=x` }), 400);

    await blobs.newContainer({ 'x-ms-meta-a': 'b' });
    const { text } = await blobs.expect(200, { path: '/?comp=list&include=metadata,deleted' });
    assert.match(text, /<Metadata><a>b<\/a><\/Metadata>/);
    assert.doesNotMatch(text, /<Deleted>/);
    const wrong = await blobs.send({ path: '/?comp=list&include=other' });
    assertStatus(wrong, 400, 'InvalidQueryParameterValue');

    const search = "/?comp=blobs&where=k%3D'v'&include=";
    await blobs.expect(200, { path: `${search}none` });
    await blobs.expect(200, { path: `${search}versions` });
    assertStatus(await blobs.send({ path: `${search}deleted` }), 400, 'InvalidQueryParameterValue');
  }),
  supported('prevsnapshot', async () => {
    const path = await madeBlob(createPages);
    const snapshot = (await put(`${path}?comp=snapshot`, {})).header('x-ms-snapshot') ?? '';
    assertStatus(await blobs.send({ path: `${path}?comp=pagelist&prevsnapshot=${snapshot}` }), 200);
    const wrong = await blobs.send({ path: `${path}?comp=pagelist&prevsnapshot=x` });
    assertStatus(wrong, 400, 'InvalidQueryParameterValue');
  }),
  supported('snapshot', async () => {
    await ignored('snapshot=2020-01-01T00:00:00.0000000Z')();
    const path = await madeBlob(createPages);
    const snapshot = (await put(`${path}?comp=snapshot`, {})).header('x-ms-snapshot') ?? '';
    assertStatus(await blobs.send({ path: `${path}?snapshot=${snapshot}` }), 200);
    const unknown = await blobs.send({ path: `${path}?snapshot=2020-01-01T00:00:00.0000000Z` });
    assertStatus(unknown, 404, 'BlobNotFound');
  }),
  supported('versionid', async () => {
    const version = 'versionid=2020-01-01T00:00:00.0000000Z';
    const path = await madeBlob(createPages);
    const body = '<Tags><TagSet></TagSet></Tags>';
    for (const request of [
      { path: `${path}?${version}` },
      { method: 'DELETE', path: `${path}?${version}` },
      { method: 'PUT', path: `${path}?comp=tags&${version}`, body },
    ]) {
      assertStatus(await blobs.send(request), 404, 'BlobNotFound');
    }
    assertStatus(await blobs.send({ path }), 200);
    await ignored(version)();
  }),
  supported('timeout', async () => {
    assertStatus(await blobs.send({ path: `${properties}&timeout=5` }), 200);
    const wrong = await blobs.send({ path: `${properties}&timeout=x` });
    assertStatus(wrong, 400, 'InvalidQueryParameterValue');
  }),
]);

const information = 'restype=account&comp=properties';

/** A request that every valid signature allows. */
function present(path: string, token: SasParameters): Promise<WireResponse> {
  return blobs.send({ path: withSas(`${path}?${information}`, token), auth: 'none' });
}

async function assertSigned(path: string, token: SasParameters, field: string): Promise<void> {
  assertStatus(await present(path, token), 200);
  const changed = await present(path, { ...token, [field]: `${token[field] ?? ''}1` });
  assertStatus(changed, 403, 'AuthenticationFailed');
}

const snapshot = '2020-01-01T00:00:00.0000000Z';
const issuerObject = '11111111-2222-3333-4444-555555555555';

/** A signature by a user delegation key. */
function delegated(fields: SasParameters): Promise<SasParameters> {
  return delegatedSas({ wire: blobs, issuer, role: 'Reader' }, 'c', { sp: 'r', ...fields });
}

holdRows('Fields of signatures of blobs', [
  supported('sr', async () => {
    await assertSigned('/c/b', blobSas('c', { sp: 'r' }), 'sr');
    await assertSigned('/c/b', blobSas('c/b', { sp: 'r', sr: 'b' }), 'sr');
    const other = await present('/c/a', blobSas('c/b', { sp: 'r', sr: 'b' }));
    assertStatus(other, 403, 'AuthenticationFailed');
  }),
  supported('sdd', async () => {
    const token = blobSas('c/dir', { sp: 'r', sr: 'd', sdd: '1' });
    await assertSigned('/c/dir/b', token, 'sdd');
    assertStatus(await present('/c/directory/b', token), 403, 'AuthenticationFailed');
  }),
  supported('snapshot, versionid', async () => {
    await assertSigned('/c/b', blobSas('c/b', { sp: 'r', sr: 'bs', snapshot }), 'snapshot');
    const version = { sp: 'r', sr: 'bv', versionid: snapshot };
    await assertSigned('/c/b', blobSas('c/b', version), 'versionid');
  }),
  differs('ses', () => assertSigned('/c/b', blobSas('c', { sp: 'r', ses: 'scope' }), 'ses')),
  supported('rscc, rscd, rsce, rscl, rsct', async () => {
    for (const field of ['rscc', 'rscd', 'rsce', 'rscl', 'rsct']) {
      await assertSigned('/c/b', blobSas('c', { sp: 'r', [field]: 'x' }), field);
    }
  }),
  differs('saoid, suoid, scid', async () => {
    for (const field of ['saoid', 'scid']) {
      await assertSigned('/c/b', await delegated({ [field]: issuerObject }), field);
    }
    await assertSigned('/c/b', await delegated({ suoid: issuerObject }), 'suoid');
  }),
]);
