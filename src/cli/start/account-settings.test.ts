import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../terminal/failure.js';
import { chooseAccounts } from './account-settings.js';

void describe('accounts to serve', () => {
  const [a, b] = ['Zmlyc3Qx', 'c2Vjb25k'];
  const configured = [{ name: 'configured', keys: [a, b] }];

  void it('come from the command line before the environment before the configuration', () => {
    const environment = { AZURITE_ACCOUNTS: `one:${a}:${b};two:${b};` };
    assert.deepEqual(chooseAccounts([], environment, configured).accounts, [
      { name: 'one', keys: [a, b] },
      { name: 'two', keys: [b] },
    ]);
    const own = { ...environment, TABULARIUM_ACCOUNTS: `own:${a}` };
    assert.deepEqual(chooseAccounts([], own, configured).accounts, [{ name: 'own', keys: [a] }]);
    assert.deepEqual(chooseAccounts([`cli:${b}`], own, configured).accounts, [
      { name: 'cli', keys: [b] },
    ]);
    assert.deepEqual(chooseAccounts([], {}, configured).accounts, configured);
    assert.deepEqual(
      chooseAccounts([], {}, undefined).accounts.map(({ name }) => name),
      ['devstoreaccount1'],
    );
  });

  void it('are never the development account because a list has only separators', () => {
    for (const name of ['TABULARIUM_ACCOUNTS', 'AZURITE_ACCOUNTS']) {
      for (const text of [';', ' ', ' ; ;']) {
        assert.throws(() => chooseAccounts([], { [name]: text }, undefined), {
          name: 'UsageError',
          message: new RegExp(`^${name} is set and names no account`),
        });
      }
      assert.equal(chooseAccounts([], { [name]: '' }, undefined).areNamed, false);
    }
    assert.equal(chooseAccounts([], {}, configured).areNamed, true);
  });

  void it('have keys whose base64 may be broken into lines, wherever they come from', () => {
    const whole = Buffer.alloc(64, 0xa7).toString('base64');
    const broken = `${whole.slice(0, 64)}\n${whole.slice(64)}\r\n`;
    const served = [{ name: 'one', keys: [whole] }];
    for (const chosen of [
      chooseAccounts([`one:${broken}`], {}, undefined),
      chooseAccounts([], { TABULARIUM_ACCOUNTS: `one:${broken};` }, undefined),
      chooseAccounts([], {}, [{ name: 'one', keys: [broken] }]),
    ]) {
      assert.deepEqual(chosen.accounts, served);
      assert.deepEqual(chosen.notes, []);
    }
  });

  void it('are refused without repeating their keys', () => {
    const long = `${a}${b}${a}${b}`;
    const texts = [
      long,
      `${long}:one`,
      `one=${long}`,
      `one ${long}`,
      'one',
      `:${a}`,
      'one:',
      `one:${a}:${b}:${a}`,
      `One:${a}`,
      'one:short!',
    ];
    for (const text of texts) {
      assert.throws(
        () => chooseAccounts([text], {}, undefined),
        (error) => error instanceof UsageError && !error.message.includes(a ?? ''),
        text,
      );
    }
  });
});
