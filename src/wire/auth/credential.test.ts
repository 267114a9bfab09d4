import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorCode } from '../../model/errors/registry.js';
import { StorageError } from '../../model/errors/storage-error.js';
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
    assert.deepEqual(readCredential(undefined, 'comp=acl&assign=sig=1', 'table'), { kind: 'none' });
    assert.deepEqual(readCredential('', '', 'queue'), { kind: 'none' });
  });

  it('lets the header decide over a signature in the query', () => {
    const query = 'sv=2019-02-02&sig=x&sig=y';
    assert.equal(readCredential('SharedKey a:b', query, 'table').kind, 'shared-key');
    assert.equal(readCredential('Bearer t', query, 'queue').kind, 'bearer');
  });

  it('reads a bearer token, the scheme in any case', () => {
    for (const header of ['Bearer ey.J.x', 'bearer ey.J.x', 'BEARER  ey.J.x ']) {
      const expected = { kind: 'bearer', token: 'ey.J.x' };
      assert.deepEqual(readCredential(header, '', 'table'), expected);
    }
  });

  it('refuses a bearer header without one token', () => {
    for (const header of ['Bearer', 'bearer ', 'Bearer a b', 'Bearera']) {
      refuses('InvalidAuthenticationInfo', () => readCredential(header, '', 'table'));
    }
  });

  it('reads a signature in the query, or says what it lacks', () => {
    const query = 'sv=2019-02-02&se=2030-01-01&sp=r&sig=x';
    assert.equal(readCredential(undefined, query, 'queue').kind, 'queue-sas');
    refuses('AuthenticationFailed', () => readCredential(undefined, query, 'table'));
    refuses('AuthenticationFailed', () => readCredential(undefined, 'sig=x', 'queue'));
  });
});
