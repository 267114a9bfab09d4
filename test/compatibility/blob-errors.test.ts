import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { ErrorDefinition } from '../../src/model/errors/definition.js';
import { errorRegistry } from '../../src/model/errors/registry.js';
import { startServer } from '../support/start-server.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import type { DatedRequest } from '../wire/kit/dated-client.js';
import type { WireResponse } from '../wire/kit/response.js';
import { serverSources } from '../support/server-sources.js';

// docs/reference/errors.md: each code of blobs is answered by a request here, is reserved, which
// means that nothing answers it, or takes what no request of a test can bring about.

const page = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8');
const started = await startServer();
const wire = BlobWireClient.of(started.server);
const delayed = await startServer({ containerDeleteDelayMs: 60_000 });
const delayedWire = BlobWireClient.of(delayed.server);
after(async () => {
  wire.close();
  delayedWire.close();
  await started[Symbol.asyncDispose]();
  await delayed[Symbol.asyncDispose]();
});

const container = await wire.newContainer();
let blobs = 0;

type Headers = Readonly<Record<string, string>>;
type Probe = () => Promise<WireResponse>;

const block = { 'x-ms-blob-type': 'BlockBlob' };
const pages = { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': '1024' };
const ids = ['0a000000-0000-4000-8000-00000000000a', '0b000000-0000-4000-8000-00000000000b'];
const [mine = '', other = ''] = ids;
const own = { 'x-ms-lease-id': mine };
const acquire = {
  'x-ms-lease-action': 'acquire',
  'x-ms-lease-duration': '-1',
  'x-ms-proposed-lease-id': mine,
};

function put(path: string, headers: Headers = {}, body?: string): Promise<WireResponse> {
  return wire.send({ method: 'PUT', path, headers, ...(body === undefined ? {} : { body }) });
}

/** Does what must succeed before a probe. */
async function made(path: string, headers: Headers = {}, body?: string): Promise<WireResponse> {
  const response = await put(path, headers, body);
  assert.ok(response.status < 300, response.text);
  return response;
}

async function newBlob(headers: Headers = block, body?: string): Promise<string> {
  blobs += 1;
  const path = `/${container}/${blobs}`;
  await made(path, headers, body ?? (headers === block ? 'text' : undefined));
  return path;
}

async function containerMadeTooSoon(): Promise<WireResponse> {
  const path = `/${await delayedWire.newContainer()}?restype=container`;
  await delayedWire.expect(202, { method: 'DELETE', path });
  return delayedWire.send({ method: 'PUT', path });
}

const newPages = () => newBlob(pages);
const newLog = (): Promise<string> => newBlob({ 'x-ms-blob-type': 'AppendBlob' });
const urlOf = (path: string) => `http://${wire.authority}/${wire.account}${path}`;
const to = (request: DatedRequest) => () => wire.send(request);
const nowhere = `/${container}/nowhere`;

/** A write to a new block blob. */
const writing =
  (query: string, headers: Headers = {}, body?: string): Probe =>
  async () =>
    put(`${await newBlob()}${query}`, headers, body);

const tagging = (tags: string): Probe =>
  to({ method: 'PUT', path: nowhere, headers: { ...block, 'x-ms-tags': tags }, body: 'x' });

async function leased(isBroken?: 'breaking' | 'broken'): Promise<string> {
  const path = await newBlob();
  await made(`${path}?comp=lease`, acquire);
  if (isBroken === undefined) return path;
  const period = { 'x-ms-lease-break-period': isBroken === 'breaking' ? '60' : '0' };
  await made(`${path}?comp=lease`, { 'x-ms-lease-action': 'break', ...period });
  return path;
}

const leasing =
  (headers: Headers, prepare: () => Promise<string> = newBlob): Probe =>
  async () =>
    put(`${await prepare()}?comp=lease`, headers);
const renew = { 'x-ms-lease-action': 'renew', ...own };
const change = { 'x-ms-lease-action': 'change', ...own, 'x-ms-proposed-lease-id': other };

async function snapshotOf(path: string): Promise<string> {
  const response = await made(`${path}?comp=snapshot`);
  return encodeURIComponent(response.header('x-ms-snapshot') ?? '');
}

/** Copies a new snapshot of a page blob to another one. */
const incrementalCopy = async (source: string, target: string): Promise<WireResponse> =>
  put(`${target}?comp=incrementalcopy`, {
    'x-ms-copy-source': `${urlOf(source)}?snapshot=${await snapshotOf(source)}`,
  });

/** Makes an incremental copy and returns its path. */
async function incrementalCopyOf(source: string): Promise<string> {
  const target = `${source}-copy`;
  assert.equal((await incrementalCopy(source, target)).status, 202);
  return target;
}

/** Lists what has changed since a snapshot. */
const changesSince = (path: string, time: string, of = ''): Promise<WireResponse> =>
  wire.send({ path: `${path}?comp=pagelist&prevsnapshot=${time}${of}` });

const blockList = (inner: string) => `<BlockList>${inner}</BlockList>`;

function batch(parts: readonly string[]): Promise<WireResponse> {
  const each = parts.map(
    (request, index) =>
      `--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n` +
      `Content-ID: ${index}\r\n\r\n${request}\r\n\r\n`,
  );
  const headers = { 'Content-Type': 'multipart/mixed; boundary=b' };
  const body = `${each.join('')}--b--\r\n`;
  return wire.send({ method: 'POST', path: '/?comp=batch', headers, body });
}

const root = `/${wire.account}${nowhere}`;
const deletion = `DELETE ${root} HTTP/1.1\r\nContent-Length: 0\r\n`;
const tiering = `PUT ${root}?comp=tier HTTP/1.1\r\nx-ms-access-tier: Hot\r\nContent-Length: 0\r\n`;

const held = { 'x-ms-legal-hold': 'true' };
const policy = {
  'x-ms-immutability-policy-until-date': new Date(Date.now() + 600_000).toUTCString(),
  'x-ms-immutability-policy-mode': 'locked',
};

/** Asks about a blob that is kept, in a container of its own. */
async function kept(
  by: Headers,
  about: (path: string) => Promise<WireResponse>,
): Promise<WireResponse> {
  const path = `/${await wire.newContainer()}/b`;
  await started.server.reload({ blobImmutability: true });
  await made(path, { ...block, ...by }, 'text');
  await started.server.reload({ blobImmutability: false });
  return about(path);
}

/** For every code that is not reserved or rare, a request that gets it. */
const answeredBy: Readonly<Record<string, Probe>> = {
  AccessTierNotSupportedForBlobType: async () =>
    put(`${await newLog()}?comp=tier`, { 'x-ms-access-tier': 'Hot' }),
  AllBatchSubRequestsShouldBeSameApi: () => batch([deletion, tiering]),
  AppendPositionConditionNotMet: async () =>
    put(`${await newLog()}?comp=appendblock`, { 'x-ms-blob-condition-appendpos': '5' }, 'x'),
  BlobAlreadyExists: writing('', { ...block, 'If-None-Match': '*' }, 'x'),
  BlobArchived: async () => {
    const path = await newBlob();
    await made(`${path}?comp=tier`, { 'x-ms-access-tier': 'Archive' });
    return wire.send({ path });
  },
  BlobImmutableDueToLegalHold: () => kept(held, (path) => wire.send({ method: 'DELETE', path })),
  BlobImmutableDueToPolicy: () => kept(policy, (path) => wire.send({ method: 'DELETE', path })),
  BlobIsSealed: async () => {
    const path = await newLog();
    await made(`${path}?comp=seal`);
    return put(`${path}?comp=appendblock`, {}, 'x');
  },
  BlobNotFound: to({ path: nowhere }),
  BlobOverwritten: async () => {
    const path = await newPages();
    const time = await snapshotOf(path);
    await made(path, pages);
    return changesSince(path, time);
  },
  BlobTierInadequateForContentLength: async () => {
    const path = await newBlob({ ...pages, 'x-ms-blob-content-length': String(2 ** 36) });
    return put(`${path}?comp=tier`, { 'x-ms-access-tier': 'P4' });
  },
  BlockListTooLong: writing(
    '?comp=blocklist',
    {},
    blockList('<Latest>AAAA</Latest>'.repeat(50_001)),
  ),
  BothCrc64AndMd5HeaderPresent: to({
    method: 'PUT',
    path: nowhere,
    headers: {
      ...block,
      'Content-MD5': 'nUFelqwZf6aCgNMIX2XsNg==',
      'x-ms-content-crc64': 'AAAAAAAAAAA=',
    },
    body: 'x',
  }),
  BothUserTagsAndSourceTagsCopyPresentException: async () =>
    put(nowhere, {
      'x-ms-copy-source': urlOf(await newBlob()),
      'x-ms-requires-sync': 'true',
      'x-ms-copy-source-tag-option': 'COPY',
      'x-ms-tags': 'a=b',
    }),
  CannotChangeToLowerTier: async () => {
    const path = await newPages();
    await made(`${path}?comp=tier`, { 'x-ms-access-tier': 'P10' });
    return put(`${path}?comp=tier`, { 'x-ms-access-tier': 'P4' });
  },
  CannotVerifyCopySource: () => put(nowhere, { 'x-ms-copy-source': 'http://other.example/a/b' }),
  ConditionNotMet: writing('', { ...block, 'If-Match': '"0x8D000000000000A"' }, 'x'),
  ContainerAlreadyExists: () => put(`/${container}?restype=container`),
  ContainerBeingDeleted: containerMadeTooSoon,
  ContainerNotFound: to({ path: '/not-there?restype=container' }),
  Crc64Mismatch: to({
    method: 'PUT',
    path: nowhere,
    headers: { ...block, 'x-ms-content-crc64': 'AAAAAAAAAAA=' },
    body: 'x',
  }),
  DuplicateTagNames: tagging('a=b&a=c'),
  EmptyTagName: tagging('=b'),
  ExceedsMaxBatchRequestCount: () => batch(Array.from({ length: 257 }, () => deletion)),
  FeatureVersionMismatch: async () => {
    const path = `/${await wire.newContainer()}?restype=container&comp=acl`;
    const policy =
      '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>c</Permission>' +
      '</AccessPolicy></SignedIdentifier></SignedIdentifiers>';
    await made(path, {}, policy);
    return wire.send({ path, version: '2014-02-14' });
  },
  InfiniteLeaseDurationRequired: async () => {
    const path = await newBlob();
    await made(`${path}?comp=lease`, { ...acquire, 'x-ms-lease-duration': '15' });
    return put(path, { ...own, 'x-ms-copy-source': urlOf(await newBlob()) });
  },
  InvalidBlobOrBlock: async () => {
    const path = await newBlob();
    await made(`${path}?comp=block&blockid=AAAA`, {}, 'x');
    return put(`${path}?comp=block&blockid=AAAAAAAA`, {}, 'x');
  },
  InvalidBlobType: writing('?comp=appendblock', {}, 'x'),
  InvalidBlockId: writing('?comp=blocklist', {}, blockList('<Latest>!</Latest>')),
  InvalidBlockList: writing('?comp=blocklist', {}, blockList('<Latest>AAAA</Latest>')),
  InvalidPageRange: async () =>
    put(`${await newPages()}?comp=page`, { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-5' }),
  InvalidRange: async () => wire.send({ path: await newBlob(), headers: { Range: 'bytes=9-' } }),
  InvalidSourceBlobType: async () =>
    put(nowhere, {
      'x-ms-copy-source': urlOf(await newPages()),
      'x-ms-requires-sync': 'true',
    }),
  InvalidTag: tagging('a=%21'),
  LeaseAlreadyPresent: leasing({ ...acquire, 'x-ms-proposed-lease-id': other }, leased),
  LeaseIdMismatchWithBlobOperation: async () =>
    wire.send({ path: await leased(), headers: { 'x-ms-lease-id': other } }),
  LeaseIdMismatchWithContainerOperation: async () => {
    const path = `/${await wire.newContainer()}?restype=container`;
    await made(`${path}&comp=lease`, acquire);
    return wire.send({ path, headers: { 'x-ms-lease-id': other } });
  },
  LeaseIdMismatchWithLeaseOperation: leasing(renew),
  LeaseIdMissing: async () => wire.send({ method: 'DELETE', path: await leased() }),
  LeaseIsBreakingAndCannotBeAcquired: leasing(acquire, () => leased('breaking')),
  LeaseIsBreakingAndCannotBeChanged: leasing(change, () => leased('breaking')),
  LeaseIsBrokenAndCannotBeRenewed: leasing(renew, () => leased('broken')),
  LeaseNotPresentWithBlobOperation: async () => wire.send({ path: await newBlob(), headers: own }),
  LeaseNotPresentWithContainerOperation: to({
    path: `/${container}?restype=container`,
    headers: own,
  }),
  LeaseNotPresentWithLeaseOperation: leasing(change),
  MaxBlobSizeConditionNotMet: async () =>
    put(`${await newLog()}?comp=appendblock`, { 'x-ms-blob-condition-maxsize': '1' }, 'long'),
  MultipleConditionHeadersNotSupported: writing('?comp=metadata', {
    'If-Match': '*',
    'If-None-Match': '*',
  }),
  NoPendingCopyOperation: writing(`?comp=copy&copyid=${mine}`, { 'x-ms-copy-action': 'abort' }),
  PreviousSnapshotCannotBeNewer: async () => {
    const path = await newPages();
    const earlier = await snapshotOf(path);
    const write = { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' };
    await made(`${path}?comp=page`, write, 'x'.repeat(512));
    return changesSince(path, await snapshotOf(path), `&snapshot=${earlier}`);
  },
  PreviousSnapshotNotFound: async () =>
    changesSince(await newPages(), encodeURIComponent('2026-01-01T00:00:00.0000000Z')),
  PreviousSnapshotOperationNotSupported: async () =>
    wire.send({
      path: `${await newPages()}?comp=pagelist`,
      headers: { 'x-ms-previous-snapshot-url': urlOf(nowhere) },
    }),
  SequenceNumberConditionNotMet: async () =>
    put(`${await newPages()}?comp=page`, {
      'x-ms-page-write': 'clear',
      'x-ms-range': 'bytes=0-511',
      'x-ms-if-sequence-number-eq': '5',
    }),
  SequenceNumberIncrementTooLarge: async () => {
    const path = await newBlob({ ...pages, 'x-ms-blob-sequence-number': String(2n ** 63n - 1n) });
    return put(`${path}?comp=properties`, { 'x-ms-sequence-number-action': 'increment' });
  },
  ContainerImmutableStorageWithVersioningEnabled: () =>
    kept(held, (path) =>
      wire.send({ method: 'DELETE', path: `${path.replace(/\/b$/, '')}?restype=container` }),
    ),
  ImmutabilityPolicyDeleteOnLockedPolicy: () =>
    kept(policy, (path) =>
      wire.send({ method: 'DELETE', path: `${path}?comp=immutabilityPolicies` }),
    ),
  IncrementalCopyBlobMismatch: async () => incrementalCopy(await newPages(), await newPages()),
  IncrementalCopyOfEralierVersionSnapshotNotAllowed: async () => {
    const source = await newPages();
    const first = await snapshotOf(source);
    const target = await incrementalCopyOf(source);
    return put(`${target}?comp=incrementalcopy`, {
      'x-ms-copy-source': `${urlOf(source)}?snapshot=${first}`,
    });
  },
  IncrementalCopySourceMustBeSnapshot: async () =>
    put(`${nowhere}?comp=incrementalcopy`, { 'x-ms-copy-source': urlOf(await newPages()) }),
  OperationNotAllowedOnIncrementalCopyBlob: async () =>
    wire.send({ path: await incrementalCopyOf(await newPages()) }),
  BlobSnapshotNotSoftDeleted: async () =>
    wire.send({ method: 'DELETE', path: `${await newBlob()}?deletetype=permanent` }),
  SnapshotsPresent: async () => {
    const path = await newBlob();
    await snapshotOf(path);
    return wire.send({ method: 'DELETE', path });
  },
  SourceConditionNotMet: async () =>
    put(nowhere, {
      'x-ms-copy-source': urlOf(await newBlob()),
      'x-ms-source-if-match': '"0x8D000000000000A"',
    }),
  PublicAccessNotPermitted: async () => {
    const path = await newBlob();
    await started.server.reload({ refusePublicAccess: true });
    const refused = await wire.send({ path, auth: 'none' });
    await started.server.reload({ refusePublicAccess: false });
    return refused;
  },
  TagsTooLarge: tagging(Array.from({ length: 11 }, (_, index) => `t${index}=x`).join('&')),
  UnsatisfiableCondition: async () =>
    wire.send({ path: await newBlob(), headers: { 'If-None-Match': '*' } }),
};

/** What takes states that requests reach slowly or not at all, and why. */
const rare: Readonly<Record<string, string>> = {
  InvalidOperation: 'for a page blob of another server with 100,000 ranges',
  BlockCountExceedsLimit: 'after 50,000 requests: src/services/blobs/block-blobs.test.ts',
  OperationNotAllowedOnRootBlob: 'where versions are kept: test/wire/blobs/versions.test.ts',
  CopyIdMismatch: 'while a copy is pending: test/wire/blobs/foreign-copies.test.ts',
  WebContentNotFound: 'as a page, of a website: test/wire/blobs/website.test.ts',
  PendingCopyOperation: 'while a copy is pending: test/wire/blobs/foreign-copies.test.ts',
};

/** The rows of the page: a code, and its last cell. */
const section = page.split(/^## /m).find((text) => text.startsWith('Codes of blobs\n')) ?? '';
const documented = new Map(
  [...section.matchAll(/^\| `(\w+)` .*\| ([^|]+) \|$/gm)].map(([, code = '', last = '']) => [
    code,
    last.trim(),
  ]),
);
const reserved = [...documented].flatMap(([code, when]) =>
  when.startsWith('Reserved: ') ? [code] : [],
);

describe('error codes of blobs', () => {
  it('are answered by a request here, rare or reserved', () => {
    const held = [...Object.keys(answeredBy), ...Object.keys(rare), ...reserved];
    assert.deepEqual(held.toSorted(), [...documented.keys()].toSorted());
  });

  it('that are reserved are named by no source but the registry', () => {
    assert.ok(reserved.length > 0);
    for (const { name, text } of serverSources()) {
      for (const code of reserved) assert.ok(!text.includes(`'${code}'`), `${name}: ${code}`);
    }
  });

  for (const [code, probe] of Object.entries(answeredBy)) {
    it(`${code} is answered`, async () => {
      const definition = (errorRegistry as Readonly<Record<string, ErrorDefinition>>)[code];
      const response = await probe();
      const answered = [response.status, response.header('x-ms-error-code')];
      // It is elsewhere.
      const status = code === 'CannotVerifyCopySource' ? 403 : definition?.status;
      assert.deepEqual(answered, [status, code], response.text);
      if (response.text !== '') assert.match(response.text, new RegExp(`<Code>${code}</Code>`));
    });
  }
});
