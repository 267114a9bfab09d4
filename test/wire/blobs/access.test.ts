import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { testIssuer } from '../../support/oauth-issuer.js';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { blobSas } from '../kit/blob-sas.js';
import { delegatedSas } from '../kit/delegation.js';
import { assertStatus } from '../kit/errors.js';
import type { WireResponse } from '../kit/response.js';
import { accountSas, withSas, type SasParameters } from '../kit/sas.js';

// Who may do what with containers (blob-service §4).

const issuer = await testIssuer();
const started = await startServer({
  oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
});
const wire = BlobWireClient.of(started.server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

const anonymous = (asked: Asked): Promise<WireResponse> => wire.send({ ...asked, auth: 'none' });
const unversioned = { 'x-ms-version': undefined };

const ofContainer = (name: string): readonly (readonly [operation: string, asked: Asked])[] => [
  ['GetContainerProperties', { path: `/${name}?restype=container` }],
  ['GetContainerMetadata', { path: `/${name}?restype=container&comp=metadata` }],
  ['SetContainerMetadata', { method: 'PUT', path: `/${name}?restype=container&comp=metadata` }],
  ['GetContainerACL', { path: `/${name}?restype=container&comp=acl` }],
  [
    'BreakContainerLease',
    {
      method: 'PUT',
      path: `/${name}?restype=container&comp=lease`,
      headers: { 'x-ms-lease-action': 'break' },
    },
  ],
  ['CreateContainer', { method: 'PUT', path: `/${name}?restype=container` }],
  ['ListContainers', { path: '/?comp=list' }],
  ['GetAccountInformation', { path: `/${name}?restype=account&comp=properties` }],
];

/** The operations that are not refused for who asks. */
async function allowed(name: string, send: (asked: Asked) => Promise<WireResponse>) {
  const names: string[] = [];
  for (const [operation, asked] of ofContainer(name)) {
    const { status } = await send(asked);
    if (status !== 403 && status !== 401) names.push(operation);
  }
  return names;
}

describe('a request without a credential', () => {
  it('reads what the container opens', async () => {
    const list = await wire.newContainer({ 'x-ms-blob-public-access': 'container' });
    assert.deepEqual(await allowed(list, anonymous), [
      'GetContainerProperties',
      'GetContainerMetadata',
    ]);
    const blobs = await wire.newContainer({ 'x-ms-blob-public-access': 'blob' });
    assert.deepEqual(await allowed(blobs, anonymous), []);
  });

  it('lists the blobs of a public container, and never their tags', async () => {
    const name = await wire.newContainer({ 'x-ms-blob-public-access': 'container' });
    const path = `/${name}?restype=container&comp=list`;
    assertStatus(await anonymous({ path: `${path}&include=metadata` }), 200);
    const withTags = `${path}&include=metadata,Tags`;
    assertStatus(await anonymous({ path: withTags }), 401, 'NoAuthenticationInformation');
    await wire.expect(200, { path: withTags });
  });

  it('reads lists of committed blocks, and of no others', async () => {
    const path = `/${await wire.newContainer({ 'x-ms-blob-public-access': 'blob' })}/b`;
    const put = { method: 'PUT', headers: { 'x-ms-blob-type': 'BlockBlob' }, body: 'x' };
    await wire.expect(201, { ...put, path });
    await wire.expect(201, { ...put, path: `${path}?comp=block&blockid=YQ==` });
    const list = `${path}?comp=blocklist`;
    for (const shown of [list, `${list}&blocklisttype=committed`]) {
      assert.doesNotMatch((await anonymous({ path: shown })).text, /YQ==/);
      assertStatus(await anonymous({ path: shown }), 200);
    }
    for (const kind of ['uncommitted', 'all', 'ALL']) {
      const hidden = `${list}&blocklisttype=${kind}`;
      assertStatus(await anonymous({ path: hidden }), 401, 'NoAuthenticationInformation');
      assert.match((await wire.expect(200, { path: hidden })).text, /YQ==/);
    }
  });

  it('is challenged from 2019-12-12 on; earlier readers find nothing', async () => {
    const name = await wire.newContainer();
    const path = `/${name}?restype=container`;
    const challenged = await anonymous({ path });
    assertStatus(challenged, 401, 'NoAuthenticationInformation');
    assert.match(challenged.header('www-authenticate') ?? '', /^Bearer authorization_uri=/);
    for (const version of [undefined, '2019-07-07']) {
      const headers = { 'x-ms-version': version };
      assertStatus(await anonymous({ path, headers }), 404, 'ResourceNotFound');
      const written = await anonymous({ method: 'PUT', path, headers });
      assertStatus(written, 403, 'AuthenticationFailed');
    }
    const missing = { path: '/missing?restype=container' };
    assertStatus(await anonymous(missing), 401, 'NoAuthenticationInformation');
  });

  it('has the version that the account has set for those that name none', async () => {
    const name = await wire.newContainer({ 'x-ms-blob-public-access': 'container' });
    const set = (version: string) =>
      wire.expect(202, {
        method: 'PUT',
        path: '/?restype=service&comp=properties',
        body: `<StorageServiceProperties><DefaultServiceVersion>${version}</DefaultServiceVersion></StorageServiceProperties>`,
      });
    await set('2021-08-06');
    const read = await anonymous({ path: `/${name}?restype=container`, headers: unversioned });
    assert.equal(read.header('x-ms-version'), '2021-08-06');
    const hidden = await wire.newContainer();
    const path = `/${hidden}?restype=container`;
    assertStatus(await anonymous({ path, headers: unversioned }), 401);
  });
});

describe('a signature', () => {
  const by =
    (token: SasParameters) =>
    (asked: Asked): Promise<WireResponse> =>
      anonymous({ ...asked, path: withSas(asked.path, token) });

  it('for a container allows nothing to be done to the container', async () => {
    const name = await wire.newContainer();
    const every = blobSas(name, { sp: 'racwdxltmeiyf' });
    assert.deepEqual(await allowed(name, by(every)), ['GetAccountInformation']);
    const { path } = { path: `/${name}?restype=container` };
    assertStatus(await by(every)({ path }), 403, 'AuthorizationFailure');
    const other = await wire.newContainer();
    const elsewhere = await by(every)({ path: `/${other}?restype=container` });
    assertStatus(elsewhere, 403, 'AuthenticationFailed');
  });

  it('for the account allows what its letters and resource types say', async () => {
    const name = await wire.newContainer();
    const token = (sp: string, srt = 'sco') => by(accountSas({ ss: 'b', srt, sp }));
    assert.deepEqual(await allowed(name, token('r')), [
      'GetContainerProperties',
      'GetContainerMetadata',
      'GetAccountInformation',
    ]);
    assert.deepEqual(await allowed(name, token('l')), ['ListContainers', 'GetAccountInformation']);
    assert.deepEqual(await allowed(name, token('d')), [
      'BreakContainerLease',
      'GetAccountInformation',
    ]);
    assert.deepEqual(await allowed(name, token('c')), ['CreateContainer', 'GetAccountInformation']);
    assert.deepEqual(await allowed(name, token('rwdlac', 'o')), ['GetAccountInformation']);
    const queues = by(accountSas({ ss: 'q', srt: 'sco', sp: 'r' }));
    const refused = await queues({ path: `/${name}?restype=container` });
    assertStatus(refused, 403, 'AuthorizationServiceMismatch');
  });

  it('that names a stored policy holds as long as the policy', async () => {
    const name = await wire.newContainer();
    const path = `/${name}?restype=container&comp=acl`;
    const body =
      '<SignedIdentifiers><SignedIdentifier><Id>all</Id><AccessPolicy>' +
      '<Expiry>2099-01-01T00:00:00Z</Expiry><Permission>r</Permission></AccessPolicy>' +
      '</SignedIdentifier></SignedIdentifiers>';
    await wire.expect(200, { method: 'PUT', path, body });
    const token = by(blobSas(name, { si: 'all', se: undefined }));
    const information = { path: `/${name}?restype=account&comp=properties` };
    assertStatus(await token(information), 200);
    await wire.expect(200, { method: 'PUT', path });
    assertStatus(await token(information), 403, 'AuthenticationFailed');
  });
});

describe('the bearer of a token', () => {
  const by = async (...roles: readonly string[]) => {
    const token = await issuer.token({ roles: roles.map((role) => `Storage Blob Data ${role}`) });
    return (asked: Asked): Promise<WireResponse> =>
      wire.send({ ...asked, headers: { ...asked.headers, Authorization: `Bearer ${token}` } });
  };

  it('does what the roles allow, and neither policies nor account information', async () => {
    const name = await wire.newContainer();
    const reading = ['GetContainerProperties', 'GetContainerMetadata', 'ListContainers'];
    const writing = ['SetContainerMetadata', 'BreakContainerLease', 'CreateContainer'];
    const sorted = async (...roles: readonly string[]) =>
      (await allowed(name, await by(...roles))).toSorted();
    assert.deepEqual(await sorted(), []);
    assert.deepEqual(await sorted('Reader'), reading.toSorted());
    assert.deepEqual(await sorted('Contributor'), [...reading, ...writing].toSorted());
    assert.deepEqual(await sorted('Owner'), [...reading, ...writing].toSorted());
  });

  it('needs a role of owners for tags, whatever the operation', async () => {
    const name = await wire.newContainer();
    const asked = { path: `/${name}?restype=container`, headers: { 'x-ms-if-tags': "a='b'" } };
    assertStatus(await (await by('Contributor'))(asked), 403, 'AuthorizationPermissionMismatch');
    assertStatus(await (await by('Owner'))(asked), 200);
  });
});

describe('a signature by a user delegation key', () => {
  /** A signature of the greatest letters by a key for the bearer of a role. */
  const delegated = (name: string, role: string): Promise<SasParameters> =>
    delegatedSas({ wire, issuer, role }, name, { sp: 'racwdxltmeiyf' });

  it('allows no more than its bearer was allowed, whatever letters it has', async () => {
    const name = await wire.newContainer();
    const path = `/${name}?restype=account&comp=properties`;
    const headers = { 'x-ms-if-tags': "a='b'" };
    for (const [role, status] of [
      ['Reader', 403],
      ['Contributor', 403],
      ['Owner', 200],
    ] as const) {
      const signed = withSas(path, await delegated(name, role));
      assertStatus(await anonymous({ path: signed }), 200);
      assertStatus(await anonymous({ path: signed, headers }), status);
    }
  });

  it('needs a key, which the roles of queues do not give', async () => {
    const token = await issuer.token({
      roles: ['Storage Queue Data Contributor'],
      oid: 'o-1',
      tid: 't-1',
    });
    const asked = await wire.send({
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      headers: { Authorization: `Bearer ${token}` },
      body: '<KeyInfo><Expiry>2099-01-01T00:00:00Z</Expiry></KeyInfo>',
    });
    assertStatus(asked, 403, 'AuthorizationPermissionMismatch');
  });
});
