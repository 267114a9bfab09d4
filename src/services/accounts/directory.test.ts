import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { AccountSettingsError, developmentAccount, makeAccountDirectory } from './directory.js';

const key = Buffer.from('secret').toString('base64');

describe('the account directory', () => {
  it('finds accounts by exact name and lists them in the order configured', () => {
    const directory = makeAccountDirectory([{ name: 'zoo', keys: [key] }, developmentAccount]);
    assert.equal(directory.find('zoo')?.name, 'zoo');
    assert.equal(directory.find('Zoo'), undefined);
    assert.equal(directory.find('constructor'), undefined);
  });

  it('makes keys that sign as the decoded bytes do', () => {
    const account = makeAccountDirectory([{ name: 'zoo', keys: [key, key] }]).find('zoo');
    assert.equal(account?.keys.length, 2);
    const [secret] = account.keys;
    assert.ok(secret !== undefined);
    assert.equal(
      createHmac('sha256', secret).update('x').digest('hex'),
      createHmac('sha256', 'secret').update('x').digest('hex'),
    );
  });

  it('knows the development account', () => {
    assert.equal(developmentAccount.name, 'devstoreaccount1');
    const [secret] =
      makeAccountDirectory([developmentAccount]).find('devstoreaccount1')?.keys ?? [];
    assert.equal(secret?.symmetricKeySize, 64);
  });

  const refused: readonly (readonly [string, { name: string; keys: string[] }[], RegExp])[] = [
    ['a short name', [{ name: 'ab', keys: [key] }], /'ab' cannot name an account/],
    ['a long name', [{ name: 'a'.repeat(25), keys: [key] }], /3 to 24/],
    ['a key as the name', [{ name: `${key}${key}${key}${key}`, keys: ['zoo'] }], /^A text of 32 /],
    ['upper case', [{ name: 'Zoo', keys: [key] }], /lower-case/],
    ['no key', [{ name: 'zoo', keys: [] }], /'zoo' has no key/],
    ['an empty key', [{ name: 'zoo', keys: [''] }], /not base64/],
    ['a cut key', [{ name: 'zoo', keys: ['c2VjcmV0x'] }], /not base64/],
    ['text as key', [{ name: 'zoo', keys: ['not a key!'] }], /not base64/],
    [
      'a name twice',
      [
        { name: 'zoo', keys: [key] },
        { name: 'zoo', keys: [key] },
      ],
      /'zoo' is configured twice/,
    ],
  ];
  for (const [what, settings, message] of refused) {
    it(`refuses ${what} and says why, without showing the key`, () => {
      assert.throws(
        () => makeAccountDirectory(settings),
        (error) =>
          error instanceof AccountSettingsError &&
          message.test(error.message) &&
          !error.message.includes('c2VjcmV0'),
      );
    });
  }
});
