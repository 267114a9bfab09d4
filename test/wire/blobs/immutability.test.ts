import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BlobServiceClient, type BlobItem } from '@azure/storage-blob';
import { testIssuer } from '../../support/oauth-issuer.js';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { blobSas } from '../kit/blob-sas.js';
import { assertStatus } from '../kit/errors.js';
import { refused } from '../kit/official-blobs.js';
import { elementText } from '../kit/queue-xml.js';
import { withSas } from '../kit/sas.js';

// Policies and legal holds of blobs (blob-service §15.5).

const issuer = await testIssuer();
const key = Buffer.from('a key of its own').toString('base64');
const accounts = ['kept', 'plain'].map((name) => ({ name, key }));
const started = await startServer({
  accounts,
  blobImmutability: ['kept'],
  oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
});
const { server } = started;
const clientOf = (account: string) => new BlobWireClient(server.blobPort, { account, key });
const wire = clientOf('kept');
const other = clientOf('plain');
after(async () => {
  wire.close();
  other.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});

const hourMs = 3_600_000;
const untilText = (hours: number) => new Date(Date.now() + hours * hourMs).toUTCString();
const policyOf = (hours: number, mode?: string) => ({
  'x-ms-immutability-policy-until-date': untilText(hours),
  ...(mode !== undefined && { 'x-ms-immutability-policy-mode': mode }),
});
const block = { 'x-ms-blob-type': 'BlockBlob' };
const held = { 'x-ms-legal-hold': 'true' };
const policyCode = 'BlobImmutableDueToPolicy';
const holdCode = 'BlobImmutableDueToLegalHold';

type Headers = Readonly<Record<string, string>>;

const put = (path: string, headers: Headers = {}, body?: string, client = wire) =>
  client.send({ method: 'PUT', path, headers, ...(body === undefined ? {} : { body }) });

async function newBlob(headers: Headers = {}): Promise<string> {
  const path = `/${await wire.newContainer()}/b`;
  assertStatus(await put(path, { ...block, ...headers }, 'kept'), 201);
  return path;
}

/** What a HEAD request tells of what keeps a blob. */
async function shown(path: string): Promise<readonly (string | undefined)[]> {
  const names = ['policy-until-date', 'policy-mode'].map((name) => `x-ms-immutability-${name}`);
  const answer = await wire.expect(200, { method: 'HEAD', path });
  return [...names, 'x-ms-legal-hold'].map((name) => answer.header(name));
}

describe('a policy', () => {
  it('is set, shown, extended, locked and taken away by its rules', async () => {
    const path = await newBlob();
    const policies = `${path}?comp=immutabilityPolicies`;
    const before = await wire.expect(200, { method: 'HEAD', path });
    const given = policyOf(1);
    const set = await put(policies, given);
    assertStatus(set, 200);
    const until = given['x-ms-immutability-policy-until-date'];
    assert.equal(set.header('x-ms-immutability-policy-until-date'), until);
    assert.equal(set.header('x-ms-immutability-policy-mode'), 'unlocked');
    assert.deepEqual(await shown(path), [until, 'unlocked', undefined]);
    const read = await wire.expect(200, { path });
    assert.equal(read.header('etag'), before.header('etag'));
    assert.equal(read.header('x-ms-immutability-policy-until-date'), until);
    assertStatus(await put(policies, policyOf(0.5)), 200);
    assertStatus(await wire.send({ method: 'DELETE', path: policies }), 200);
    assert.deepEqual(await shown(path), [undefined, undefined, undefined]);
    assertStatus(await wire.send({ method: 'DELETE', path: policies }), 200);
    const locked = policyOf(2, 'Locked');
    assertStatus(await put(policies, locked), 200);
    for (const weaker of [policyOf(1, 'Locked'), policyOf(3), policyOf(3, 'unlocked')]) {
      assertStatus(await put(policies, weaker), 409, policyCode);
    }
    const deletion = await wire.send({ method: 'DELETE', path: policies });
    assertStatus(deletion, 409, 'ImmutabilityPolicyDeleteOnLockedPolicy');
    const longer = policyOf(24 * 145_999, 'LOCKED');
    assertStatus(await put(policies, longer), 200);
    const longerUntil = longer['x-ms-immutability-policy-until-date'];
    assert.deepEqual(await shown(path), [longerUntil, 'locked', undefined]);
  });

  it('is refused where its headers say nothing clear, and changes nothing', async () => {
    const path = await newBlob();
    const policies = `${path}?comp=immutabilityPolicies`;
    const invalid = 'InvalidHeaderValue';
    const missing = 'MissingRequiredHeader';
    for (const [query, headers, code] of [
      ['immutabilityPolicies', {}, missing],
      ['immutabilityPolicies', { 'x-ms-immutability-policy-mode': 'locked' }, missing],
      ['immutabilityPolicies', policyOf(-1), invalid],
      ['immutabilityPolicies', policyOf(24 * 146_001), invalid],
      ['immutabilityPolicies', policyOf(1, 'Mutable'), invalid],
      ['immutabilityPolicies', { 'x-ms-immutability-policy-until-date': '2099-01-01' }, invalid],
      ['legalhold', {}, missing],
      ['legalhold', { 'x-ms-legal-hold': 'yes' }, invalid],
    ] as const) {
      assertStatus(await put(`${path}?comp=${query}`, headers), 400, code);
      if (query === 'legalhold' || code === missing) continue;
      assertStatus(await put(path, { ...block, ...headers }, 'x'), 400, code);
    }
    const unmet = { 'If-Unmodified-Since': 'Fri, 21 Nov 2014 10:00:00 GMT' };
    assertStatus(await put(policies, { ...policyOf(1), ...unmet }), 412, 'ConditionNotMet');
    const old = { 'x-ms-version': '2020-04-08' };
    assert.equal((await put(policies, { ...policyOf(1), ...old })).status, 400);
    assert.deepEqual(await shown(path), [undefined, undefined, undefined]);
    assert.equal((await wire.expect(200, { path })).text, 'kept');
  });

  it('keeps the blob from changes and deletion, and a write over it makes a version', async () => {
    const path = await newBlob(policyOf(1));
    assertStatus(await wire.send({ method: 'DELETE', path }), 409, policyCode);
    assertStatus(await put(`${path}?comp=metadata`, { 'x-ms-meta-a': 'b' }), 409, policyCode);
    const made = await wire.expect(200, { method: 'HEAD', path });
    const id = encodeURIComponent(made.header('x-ms-version-id') ?? '');
    const version = `${path}?versionid=${id}`;
    assertStatus(await put(path, block, 'new'), 201);
    assert.deepEqual(await shown(path), [undefined, undefined, undefined]);
    assertStatus(await wire.send({ method: 'DELETE', path }), 202);
    assertStatus(await wire.send({ method: 'DELETE', path: version }), 409, policyCode);
    assert.equal((await wire.expect(200, { path: version })).text, 'kept');
    const policies = `${version}&comp=immutabilityPolicies`;
    assertStatus(await wire.send({ method: 'DELETE', path: policies }), 200);
    assertStatus(await wire.send({ method: 'DELETE', path: version }), 202);
  });
});

describe('a locked policy', () => {
  it('lets a backup program put a version in its place that it may delete', async () => {
    const path = await newBlob(policyOf(1, 'Locked'));
    const remove = (query = '') => wire.send({ method: 'DELETE', path: `${path}${query}` });
    assertStatus(await remove(), 409, policyCode);
    const marker = await put(path, { ...block, ...policyOf(0.1) }, '');
    assertStatus(marker, 201);
    assertStatus(await remove('?comp=immutabilityPolicies'), 200);
    assertStatus(await remove(), 202);
    const id = encodeURIComponent(marker.header('x-ms-version-id') ?? '');
    assertStatus(await remove(`?versionid=${id}`), 202);
    assertStatus(await wire.send({ path }), 404, 'BlobNotFound');
    const container = path.split('/')[1] ?? '';
    const list = `/${container}?restype=container&comp=list&include=versions,immutabilitypolicy`;
    const { text } = await wire.expect(200, { path: list });
    assert.equal(text.split('<Blob>').length, 2, 'the locked version is left');
    assert.equal(elementText(text, 'ImmutabilityPolicyMode'), 'locked');
  });
});

describe('a legal hold', () => {
  it('keeps a blob, a snapshot and a version until it is taken away', async () => {
    const path = await newBlob();
    const taken = await put(`${path}?comp=snapshot`);
    const time = encodeURIComponent(taken.header('x-ms-snapshot') ?? '');
    const snapshot = `${path}?snapshot=${time}`;
    for (const [target, joined] of [
      [snapshot, `${snapshot}&comp=legalhold`],
      [path, `${path}?comp=legalhold`],
    ] as const) {
      const set = await put(joined, held);
      assertStatus(set, 200);
      assert.equal(set.header('x-ms-legal-hold'), 'true');
      assert.deepEqual(await shown(target), [undefined, undefined, 'true']);
      assertStatus(await wire.send({ method: 'DELETE', path: target }), 409);
      const withSnapshots = { 'x-ms-delete-snapshots': 'include' };
      const all = await wire.send({ method: 'DELETE', path, headers: withSnapshots });
      assertStatus(all, 409, holdCode);
      const free = await put(joined, { 'x-ms-legal-hold': 'false' });
      assertStatus(free, 200);
      assert.equal(free.header('x-ms-legal-hold'), 'false');
      assertStatus(await wire.send({ method: 'DELETE', path: target }), 202);
    }
    assertStatus(await put(`${path}?comp=legalhold`, held), 404, 'BlobNotFound');
  });

  it('is told by records of requests: what was refused, and why', async () => {
    const path = await newBlob(held);
    const before = started.records.length;
    assertStatus(await wire.send({ method: 'DELETE', path }), 409, holdCode);
    await started.recorded(before + 1);
    const record = started.records.find(({ errorCode }) => errorCode === holdCode);
    assert.deepEqual([record?.operation, record?.status], ['DeleteBlob', 409]);
  });

  it('refuses each request of a batch by itself', async () => {
    const container = await wire.newContainer();
    for (const name of ['free', 'held']) {
      const headers = name === 'held' ? { ...block, ...held } : block;
      assertStatus(await put(`/${container}/${name}`, headers, name), 201);
    }
    const parts = ['held', 'free'].map(
      (name, index) =>
        `--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n` +
        `Content-ID: ${index}\r\n\r\nDELETE /${wire.account}/${container}/${name} HTTP/1.1\r\n` +
        `Content-Length: 0\r\n\r\n\r\n`,
    );
    const path = `/${container}?restype=container&comp=batch`;
    const headers = { 'Content-Type': 'multipart/mixed; boundary=b' };
    const body = `${parts.join('')}--b--\r\n`;
    const token = blobSas(container, { sp: 'd' }, { account: wire.account, key });
    const signed = body.replaceAll(
      /DELETE ([^ ]+)/g,
      (_, url: string) => `DELETE ${withSas(url, token)}`,
    );
    const answer = await wire.send({ method: 'POST', path, headers, body: signed });
    assertStatus(answer, 202);
    assert.match(answer.text, /409 [^]*BlobImmutableDueToLegalHold[^]*202 Accepted/);
    assertStatus(await wire.send({ path: `/${container}/held` }), 200);
    assertStatus(await wire.send({ path: `/${container}/free` }), 404);
  });
});

describe('the protection of a blob', () => {
  it('is given by every operation that makes one, and refused by others', async () => {
    const container = await wire.newContainer();
    const given = { ...policyOf(1, 'locked'), ...held };
    const until = given['x-ms-immutability-policy-until-date'];
    const source = `/${container}/source`;
    assertStatus(await put(source, block, 'source'), 201);
    const url = `http://${wire.authority}/${wire.account}${source}`;
    const copy = { 'x-ms-copy-source': url };
    const page = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '512' };
    for (const [name, query, headers, body] of [
      ['block', '', block, 'x'],
      ['list', '?comp=blocklist', {}, '<BlockList/>'],
      ['append', '', { 'x-ms-blob-type': 'AppendBlob' }, undefined],
      ['page', '', page, undefined],
      ['copy', '', copy, undefined],
      ['copy-now', '', { ...copy, 'x-ms-requires-sync': 'true' }, undefined],
      ['from-url', '', { ...copy, ...block }, undefined],
    ] as const) {
      const path = `/${container}/${name}`;
      const made = await put(`${path}${query}`, { ...headers, ...given }, body);
      assert.ok(made.status < 300, `${name}: ${made.text}`);
      assert.deepEqual(await shown(path), [until, 'locked', 'true'], name);
    }
    for (const [query, body] of [
      ['?comp=block&blockid=YQ==', 'x'],
      ['?comp=metadata', undefined],
      ['?comp=snapshot', undefined],
    ] as const) {
      const answer = await put(`${source}${query}`, given, body);
      assertStatus(answer, 400, 'UnsupportedHeader');
      assert.equal(elementText(answer.text, 'HeaderName'), 'x-ms-immutability-policy-until-date');
    }
  });

  it('is listed where a request asks for it', async () => {
    const container = await wire.newContainer();
    const given = policyOf(1);
    assertStatus(await put(`/${container}/b`, { ...block, ...given, ...held }, 'x'), 201);
    const list = `/${container}?restype=container&comp=list`;
    const { text: bare } = await wire.expect(200, { path: list });
    assert.doesNotMatch(bare, /Immutability|LegalHold/);
    const { text } = await wire.expect(200, { path: `${list}&include=immutabilitypolicy` });
    const until = given['x-ms-immutability-policy-until-date'];
    assert.equal(elementText(text, 'ImmutabilityPolicyUntilDate'), until);
    assert.equal(elementText(text, 'ImmutabilityPolicyMode'), 'unlocked');
    assert.doesNotMatch(text, /LegalHold/);
    const { text: holds } = await wire.expect(200, { path: `${list}&include=legalhold` });
    assert.match(holds, /<LegalHold>true<\/LegalHold><\/Properties>/);
    assert.doesNotMatch(holds, /Immutability/);
  });

  it('needs the permission for it, beside that to write', async () => {
    const path = await newBlob();
    const container = path.split('/')[1] ?? '';
    const by = (sp: string) => blobSas(container, { sp }, { account: wire.account, key });
    const asked = [
      { path, headers: { ...block, ...held }, body: 'x' },
      { path: `${path}?comp=legalhold`, headers: held },
      { path: `${path}?comp=immutabilityPolicies`, headers: policyOf(1) },
    ];
    for (const { path: to, ...request } of asked) {
      const signed = { method: 'PUT', auth: 'none', path: withSas(to, by('racwdt')) } as const;
      const mismatch = 'AuthorizationPermissionMismatch';
      assertStatus(await wire.send({ ...signed, ...request }), 403, mismatch);
      const allowed = { ...signed, path: withSas(to, by('racwdi')) };
      assert.ok((await wire.send({ ...allowed, ...request })).status < 300, to);
      const as = async (role: string) => {
        const token = await issuer.token({ roles: [`Storage Blob Data ${role}`] });
        const headers = { ...request.headers, Authorization: `Bearer ${token}` };
        return wire.send({ method: 'PUT', auth: 'none', path: to, ...request, headers });
      };
      assertStatus(await as('Contributor'), 403, mismatch);
      assert.ok((await as('Owner')).status < 300, to);
    }
    const nothing = { ...block, 'x-ms-legal-hold': 'false' };
    const writer = withSas(path, by('w'));
    const answer = await wire.send({
      method: 'PUT',
      auth: 'none',
      path: writer,
      headers: nothing,
      body: 'x',
    });
    assertStatus(answer, 201);
  });
});

describe('a container with immutable storage', () => {
  const isOn = 'x-ms-immutable-storage-with-versioning-enabled';
  const not = 'ContainerImmutableStorageWithVersioningEnabled';

  it('says so, and is deleted only when it is empty', async () => {
    const container = await wire.newContainer();
    const path = `/${container}?restype=container`;
    const shownOf = await wire.expect(200, { path });
    const names = [isOn, 'x-ms-has-immutability-policy', 'x-ms-has-legal-hold'];
    const values = names.map((name) => shownOf.header(name));
    assert.deepEqual(values, ['true', 'false', 'false']);
    const { text } = await wire.expect(200, { path: `/?comp=list&prefix=${container}` });
    assert.equal(elementText(text, 'ImmutableStorageWithVersioningEnabled'), 'true');
    assertStatus(await put(`/${container}/b`, block, 'x'), 201);
    assertStatus(await wire.send({ method: 'DELETE', path }), 409, not);
    const made = await wire.expect(200, { method: 'HEAD', path: `/${container}/b` });
    assertStatus(await wire.send({ method: 'DELETE', path: `/${container}/b` }), 202);
    assertStatus(await wire.send({ method: 'DELETE', path }), 409, not);
    const version = encodeURIComponent(made.header('x-ms-version-id') ?? '');
    const old = { method: 'DELETE', path: `/${container}/b?versionid=${version}` };
    assertStatus(await wire.send(old), 202);
    assertStatus(await wire.send({ method: 'DELETE', path }), 202);
  });

  it('is none in an account without the option, where nothing is kept and all is refused', async () => {
    const container = await other.newContainer();
    const path = `/${container}?restype=container`;
    assert.equal((await other.expect(200, { path })).header(isOn), 'false');
    const blob = `/${container}/b`;
    for (const headers of [held, policyOf(1)]) {
      const answer = await put(blob, { ...block, ...headers }, 'x', other);
      assertStatus(answer, 501, 'NotImplemented');
      assert.match(answer.text, /--blob-immutability/);
    }
    assertStatus(await put(blob, { ...block, 'x-ms-legal-hold': 'false' }, 'x', other), 201);
    assertStatus(
      await put(`${blob}?comp=legalhold`, held, undefined, other),
      501,
      'NotImplemented',
    );
    assertStatus(await other.send({ method: 'DELETE', path }), 202);
  });

  it('stays one when the option is taken away, once a blob was kept in it', async () => {
    const path = await newBlob(held);
    const container = path.split('/')[1] ?? '';
    const unused = await wire.newContainer();
    await server.reload({ blobImmutability: false });
    const of = (name: string) => ({ path: `/${name}?restype=container` });
    assert.equal((await wire.expect(200, of(container))).header(isOn), 'true');
    assert.equal((await wire.expect(200, of(unused))).header(isOn), 'false');
    assertStatus(await wire.send({ method: 'DELETE', ...of(container) }), 409, not);
    assertStatus(await wire.send({ method: 'DELETE', path }), 409, holdCode);
    assertStatus(await put(`${path}?comp=legalhold`, { 'x-ms-legal-hold': 'false' }), 200);
    await server.reload({ blobImmutability: ['kept'] });
    assertStatus(await wire.send({ method: 'DELETE', path }), 202);
  });
});

describe('the official client', () => {
  const service = BlobServiceClient.fromConnectionString(server.connectionString('kept'), {
    retryOptions: { maxTries: 1 },
  });

  it('sets, shows and takes away policies and legal holds', async () => {
    const container = service.getContainerClient('official');
    await container.create();
    const blob = container.getBlockBlobClient('b');
    await blob.upload('one', 3);
    const expiriesOn = new Date(Math.floor(Date.now() / 1000) * 1000 + hourMs);
    const set = await blob.setImmutabilityPolicy({ expiriesOn, policyMode: 'Unlocked' });
    assert.deepEqual(set.immutabilityPolicyExpiry, expiriesOn);
    assert.equal((await blob.setLegalHold(true)).legalHold, true);
    const { immutabilityPolicyExpiresOn, legalHold } = await blob.getProperties();
    assert.deepEqual([immutabilityPolicyExpiresOn, legalHold], [expiriesOn, true]);
    const found: BlobItem[] = [];
    const included = { includeImmutabilityPolicy: true, includeLegalHold: true };
    for await (const item of container.listBlobsFlat(included)) found.push(item);
    const [{ properties } = assert.fail('nothing is listed')] = found;
    assert.deepEqual(properties.immutabilityPolicyExpiresOn, expiriesOn);
    assert.deepEqual([properties.immutabilityPolicyMode, properties.legalHold], ['unlocked', true]);
    assert.deepEqual(await refused(blob.delete()), [409, holdCode]);
    assert.equal((await blob.setLegalHold(false)).legalHold, false);
    assert.deepEqual(await refused(blob.delete()), [409, policyCode]);
    await blob.deleteImmutabilityPolicy();
    await blob.delete();
    const kept = container.getAppendBlobClient('log');
    const immutabilityPolicy = { expiriesOn, policyMode: 'Locked' } as const;
    await kept.create({ immutabilityPolicy, legalHold: true });
    assert.deepEqual(await refused(kept.appendBlock('x', 1)), [409, holdCode]);
  });
});
