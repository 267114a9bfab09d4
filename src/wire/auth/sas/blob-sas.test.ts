import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  BlobSASPermissions,
  ContainerSASPermissions,
  SASProtocol,
  StorageSharedKeyCredential,
  generateBlobSASQueryParameters,
} from '@azure/storage-blob';
import { StorageError } from '../../../model/errors/storage-error.js';
import type { BlobSas, UserDelegationBlobSas } from './fields.js';
import { readSas } from './read-sas.js';
import { signBlobSas, verifySasSignature } from './sas-signature.js';
import { sasStringToSign, type SignedAddress } from './string-to-sign-sas.js';

const name = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const key = createSecretKey(Buffer.from(secret, 'base64'));
const account = { name, keys: [key] };
const shared = new StorageSharedKeyCredential(name, secret);

const blob: SignedAddress = { container: 'c1', blob: 'dir/a b.txt' };
const container: SignedAddress = { container: 'c1' };

function read(query: string): BlobSas | UserDelegationBlobSas {
  const sas = readSas(query, 'blob');
  assert.ok(sas?.kind === 'blob-sas' || sas?.kind === 'user-delegation-blob-sas', query);
  return sas;
}

function isAccepted(query: string, address: SignedAddress | undefined): boolean {
  try {
    verifySasSignature(read(query), account, address);
    return true;
  } catch (error) {
    assert.ok(error instanceof StorageError && error.code === 'AuthenticationFailed');
    return false;
  }
}

function refuses(query: string, detail: RegExp): void {
  assert.throws(
    () => readSas(query, 'blob'),
    (error) => {
      assert.ok(error instanceof StorageError, query);
      assert.equal(error.code, 'AuthenticationFailed');
      assert.match(error.details[0]?.[1] ?? '', detail);
      return true;
    },
    query,
  );
}

describe('signatures of the protocol for blobs', () => {
  const [from, to] = ['2024-03-01T12:00:00Z', '2024-03-02T12:00:00Z'];
  const terms = `spr=https,http&st=${from}&se=${to}&sr=b&sp=r`;
  const head = `r\n${from}\n${to}\n/blob/${name}/c1/dir/a b.txt\n\n\nhttps,http\n`;
  const ofContainer = `rl\n\n${to}\n/blob/${name}/c1\n\n\n\n2020-12-06\nc\n\n\n\n\n\n\n`;
  const vectors = [
    [blob, terms, '2018-11-09', `${head}2018-11-09\nb\n\n\n\n\n\n`],
    [blob, terms, '2020-12-06', `${head}2020-12-06\nb\n\n\n\n\n\n\n`],
    [blob, terms, '2015-04-05', `${head}2015-04-05\n\n\n\n\n`],
    [blob, terms, '2021-12-02', `${head}2021-12-02\nb\n\n\n\n\n\n\n`],
    [container, `se=${to}&sr=c&sp=rl`, '2020-12-06', ofContainer],
  ] as const;
  const signatures = [
    '4LprldtwXUs+2Ak36e+1ehxp3QvKahxg7xBfG27lDQ0=',
    'NA1voehlVvtpFj6IekzP2b0nE+hhsCpS8YUReWj3g24=',
    'W7Nd2mKMbSl9ycfdHAdzapgo/HxusD0HHDl43mnDA1g=',
    'F/2OLtosd0ln35COLRns/7p5GBbDFeGtC+6s//ZjtgA=',
    '2Maflk7P2D15kF+AbVyaSGWJ4LgyJYBNDKMeCelLedQ=',
  ];

  for (const [index, [address, fields, version, text]] of vectors.entries()) {
    it(`are accepted: ${address.blob ?? 'the container'}, sv ${version}`, () => {
      const query = `sv=${version}&${fields}&sig=${signatures[index]}`;
      assert.equal(sasStringToSign(read(query), name, address), text);
      assert.ok(isAccepted(query, address));
      assert.ok(!isAccepted(query, { container: 'c2', blob: address.blob }));
      assert.ok(!isAccepted(query, undefined));
      const onBlob = isAccepted(query, { container: 'c1', blob: 'other' });
      assert.equal(onBlob, address.blob === undefined);
    });
  }
});

describe('@azure/storage-blob', () => {
  const startsOn = new Date('2025-11-21T00:00:00Z');
  const expiresOn = new Date('2025-11-28T12:34:56Z');
  const versions =
    '2015-04-05 2018-11-09 2019-12-12 2020-02-10 2020-08-04 2020-12-06 2025-07-05 2026-04-06';
  const common = {
    startsOn,
    expiresOn,
    ipRange: { start: '10.0.0.1', end: '10.0.0.9' },
    protocol: SASProtocol.Https,
    cacheControl: 'no-cache',
    contentDisposition: 'attachment; filename="a b"',
    contentEncoding: 'gzip',
    contentLanguage: 'de',
    contentType: 'text/plain; charset=utf-8',
  };
  const forBlob = {
    containerName: 'c1',
    blobName: 'dir/a b.txt',
    permissions: BlobSASPermissions.parse('racwd'),
  };
  const forContainer = {
    containerName: 'c1',
    permissions: ContainerSASPermissions.parse('racwdl'),
  };

  /** Compares the fields in any order: the client writes some of them elsewhere. */
  function sameFields(left: string, right: string): void {
    const fields = (query: string) => query.split('&').toSorted();
    assert.deepEqual(fields(left), fields(right));
  }

  function checkAll(query: string, address: SignedAddress): void {
    const sas = read(query);
    assert.equal(sas.kind, 'blob-sas');
    assert.ok(isAccepted(query, address), query);
    const own = query.replace(/&(?:snapshot|versionid)=[^&]*/g, '');
    if (sas.kind === 'blob-sas') sameFields(signBlobSas(sas, address, { name, key }), own);
  }

  for (const version of versions.split(' ')) {
    it(`signs for a blob and a container, sv ${version}`, () => {
      const scope = version >= '2020-12-06' ? { encryptionScope: 'scope' } : {};
      for (const [values, address] of [
        [forBlob, blob],
        [forContainer, container],
      ] as const) {
        for (const more of [{ expiresOn }, { ...common, ...scope }]) {
          const query = generateBlobSASQueryParameters({ ...values, ...more, version }, shared);
          checkAll(query.toString(), address);
        }
        const query = generateBlobSASQueryParameters(
          {
            containerName: 'c1',
            ...(address.blob === undefined ? {} : { blobName: address.blob }),
            identifier: 'p',
            version,
          },
          shared,
        );
        checkAll(query.toString(), address);
      }
    });
  }

  it('signs for a snapshot and a version, and for no other', () => {
    const time = '2011-03-09T01:42:34.9360000Z';
    for (const [selected, parameter] of [
      [{ snapshotTime: time }, 'snapshot'],
      [{ versionId: time }, 'versionid'],
    ] as const) {
      const values = { ...forBlob, ...selected, expiresOn };
      const query = generateBlobSASQueryParameters(values, shared).toString();
      checkAll(`${query}&${parameter}=${encodeURIComponent(time)}`, blob);
      assert.ok(!isAccepted(`${query}&${parameter}=2011-03-09T01:42:34.9360001Z`, blob));
      refuses(query, new RegExp(`lacks ${parameter}`));
    }
  });

  it('signs with a user delegation key, in the layout of each version', () => {
    const value = 'dXNlciBkZWxlZ2F0aW9uIGtleSBvZiAzMiBieXRlcyE=';
    const keys = [createSecretKey(Buffer.from(value, 'base64'))];
    const delegationKey = {
      signedObjectId: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
      signedTenantId: '6ba7b811-9dad-11d1-80b4-00c04fd430c8',
      signedStartsOn: startsOn,
      signedExpiresOn: expiresOn,
      signedService: 'b',
      signedVersion: '2021-12-02',
      value,
    };
    const agent = '6ba7b812-9dad-11d1-80b4-00c04fd430c8';
    for (const version of versions.split(' ').slice(1)) {
      const values = {
        ...forBlob,
        ...common,
        version,
        ...(version >= '2020-02-10'
          ? { preauthorizedAgentObjectId: agent, correlationId: 'correlation' }
          : {}),
        ...(version >= '2025-07-05' ? { delegatedUserObjectId: 'someone' } : {}),
      };
      const query = generateBlobSASQueryParameters(values, delegationKey, name).toString();
      const sas = read(query);
      assert.equal(sas.kind, 'user-delegation-blob-sas');
      verifySasSignature(sas, { name, keys }, blob);
      assert.throws(() => verifySasSignature(sas, { name, keys }, container));
      assert.throws(() => verifySasSignature(sas, account, blob));
      for (const field of ['skoid', 'sktid', 'sks', 'ske', 'skv', 'saoid', 'scid', 'sduoid']) {
        if (!query.includes(`${field}=`)) continue;
        const other = read(query.replace(new RegExp(`${field}=[^&]*`), `${field}=x`));
        assert.throws(() => verifySasSignature(other, { name, keys }, blob), field);
      }
    }
  });
});

describe('a signature for a directory', () => {
  const sas = (directoryDepth: number) => ({
    kind: 'blob-sas' as const,
    version: '2020-02-10',
    permissions: 'r',
    expiry: '2030-01-01',
    resource: 'd' as const,
    directoryDepth,
    responseHeaders: {},
  });

  it('is one for what is in it, however deep', () => {
    const query = signBlobSas(sas(2), { container: 'c', blob: 'a/b/x' }, { name, key });
    for (const [path, isInside] of [
      ['a/b/x', true],
      ['a/b/y/z', true],
      ['a/b', true],
      ['a/c/x', false],
      ['a', false],
      ['b/a/x', false],
    ] as const) {
      assert.equal(isAccepted(query, { container: 'c', blob: path }), isInside, path);
    }
    assert.ok(!isAccepted(query, { container: 'c' }));
    assert.ok(!isAccepted(query.replace('sdd=2', 'sdd=1'), { container: 'c', blob: 'a/b/x' }));
  });

  it('may be one for the root', () => {
    const query = signBlobSas(sas(0), { container: 'c' }, { name, key });
    assert.ok(isAccepted(query, { container: 'c' }));
    assert.ok(isAccepted(query, { container: 'c', blob: 'a/b' }));
    assert.ok(!isAccepted(query, { container: 'd', blob: 'a/b' }));
  });
});

describe('a signature for blobs', () => {
  const service = 'sv=2021-12-02&se=2030-01-01&sp=r&sig=x&sr=b';
  const delegated = `${service}&skoid=o&sktid=t&skt=2029-12-31&ske=2030-01-02&sks=b&skv=2021-12-02`;

  it('is refused without what it needs, and with what it cannot have', () => {
    refuses(service.replace('&sr=b', ''), /lacks sr/);
    refuses(service.replace('sr=b', 'sr=q'), /one of b, c, bs, bv, d/);
    refuses(service.replace('sr=b', 'sr=constructor'), /one of b, c, bs, bv, d/);
    refuses(service.replace('sr=b', 'sr=d'), /lacks sdd/);
    refuses(`${service.replace('sr=b', 'sr=d')}&sdd=x`, /sdd is 'x'/);
    refuses(`${service}&sdd=1`, /sdd has no meaning/);
    refuses(`${service}&sr=b`, /sr twice/);
    refuses(`${service}&rscc=a%0Ab`, /rscc has a line break/);
    refuses(service.replace('&se=2030-01-01', ''), /lacks se/);
    refuses(`${service}&saoid=x`, /saoid has no meaning/);
    refuses(`${service}&srh=x`, /srh has no meaning/);
    refuses(`${delegated}&si=p`, /si has no meaning/);
    refuses(`${delegated}&srq=x`, /srq: signed headers and parameters are not accepted/);
    refuses(delegated.replace('&skv=2021-12-02', ''), /lacks skv/);
  });

  it('is refused with fields that its version does not sign', () => {
    const at = (version: string, query: string) => query.replace('sv=2021-12-02', `sv=${version}`);
    refuses(at('2020-10-02', `${service}&ses=x`), /ses needs sv 2020-12-06/);
    refuses(at('2012-02-12', `${service}&rsct=x`), /rsct needs sv 2013-08-15/);
    refuses(at('2015-02-21', `${service}&sip=1.2.3.4`), /sip needs sv 2015-04-05/);
    refuses(at('2018-03-28', `${service.replace('sr=b', 'sr=bs')}&snapshot=x`), /sr bs needs sv/);
    refuses(at('2019-12-12', `${service.replace('sr=b', 'sr=d')}&sdd=1`), /sr d needs sv/);
    refuses(at('2019-12-12', `${delegated}&scid=x`), /scid needs sv 2020-02-10/);
    refuses(`${delegated}&sduoid=x`, /sduoid needs sv 2025-07-05/);
    refuses(at('2018-03-28', delegated), /begin with 2018-11-09/);
  });

  it('is not for a blob whose name has a line break', () => {
    const sas = read(service);
    const address = { container: 'c', blob: 'a\nb' };
    assert.throws(() => verifySasSignature(sas, account, address), {
      code: 'AuthenticationFailed',
    });
  });

  it('has the layouts of old versions', () => {
    const text = (version: string) =>
      sasStringToSign(read(service.replace('2021-12-02', version)), 'acct', blob).split('\n');
    const head = ['r', '', '2030-01-01'];
    const path = '/acct/c1/dir/a b.txt';
    assert.deepEqual(text('2012-02-12'), [...head, path, '', '2012-02-12']);
    const headers = ['', '', '', '', ''];
    assert.deepEqual(text('2013-08-15'), [...head, path, '', '2013-08-15', ...headers]);
    assert.deepEqual(text('2015-02-21'), [...head, `/blob${path}`, '', '2015-02-21', ...headers]);
  });
});
