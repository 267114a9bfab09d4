import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorCode } from '../errors/registry.js';
import { StorageError } from '../errors/storage-error.js';
import { parseAuthorization, readCredential } from './credential.js';

function refuses(code: ErrorCode, run: () => unknown): void {
  assert.throws(run, (error) => error instanceof StorageError && error.code === code);
}

describe('parseAuthorization', () => {
  it('reads both schemes, the scheme in any case', () => {
    const expected = { kind: 'shared-key', account: 'acct', signature: 'c2ln+/=' };
    for (const [text, scheme] of [
      ['SharedKey', 'SharedKey'],
      ['SharedKeyLite', 'SharedKeyLite'],
      ['sharedkeylite', 'SharedKeyLite'],
      ['SHAREDKEY', 'SharedKey'],
    ] as const) {
      assert.deepEqual(parseAuthorization(`${text} acct:c2ln+/=`), { ...expected, scheme });
    }
  });

  it('refuses every other form', () => {
    for (const header of [
      'SharedKey',
      'SharedKey ',
      'SharedKey acct',
      'SharedKey acct:',
      'SharedKey :c2ln',
      'SharedKeyLite: acct:c2ln',
      'SharedKeyacct:c2ln',
      'Basic YTpi:Yg==',
      ':',
      ' acct:c2ln',
    ]) {
      refuses('InvalidAuthenticationInfo', () => parseAuthorization(header));
    }
  });
});

describe('readCredential', () => {
  it('finds none in a request without credentials', () => {
    assert.deepEqual(readCredential(undefined, 'comp=acl&assign=sig=1'), { kind: 'none' });
    assert.deepEqual(readCredential('', ''), { kind: 'none' });
  });

  it('lets the header decide over a signature in the query', () => {
    assert.equal(readCredential('SharedKey a:b', 'sv=2019-02-02&sig=x').kind, 'shared-key');
  });

  it('recognises and refuses what the server does not accept', () => {
    for (const run of [
      () => readCredential('Bearer ey.J.x', ''),
      () => readCredential('bearer', ''),
      () => readCredential(undefined, 'sv=2019-02-02&sig=x'),
      () => readCredential(undefined, 'sig=x'),
    ]) {
      refuses('AuthenticationFailed', run);
    }
  });
});
