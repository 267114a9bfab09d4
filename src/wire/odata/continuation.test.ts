import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyText } from '../../../test/support/edm-properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { decodeToken, encodeToken } from './continuation.js';

describe('continuation tokens', () => {
  for (const [key, token] of [
    ['pk801016e8', '1!16!cGs4MDEwMTZlOA--'],
    ['rk801016e812345', '1!20!cms4MDEwMTZlODEyMzQ1'],
    ['', '1!0!'],
    ['3', '1!4!Mw--'],
    ['~~~?', '1!8!fn5*Pw--'],
    ['ÿ?', '1!4!w78_'],
    ['table358619d2\u000101d359cdab1b7985', '1!40!dGFibGUzNTg2MTlkMgEwMWQzNTljZGFiMWI3OTg1'],
  ] as const) {
    it(`spell ${JSON.stringify(key)} as the service does`, () => {
      assert.equal(encodeToken(key), token);
      assert.equal(decodeToken(token), key);
    });
  }

  it('give every key back, and are fit for a header and a query string', () => {
    fc.assert(
      fc.property(anyText, (key) => {
        const token = encodeToken(key);
        assert.match(token, /^1![0-9]+![A-Za-z0-9*_-]*$/);
        assert.equal(decodeToken(token), key);
      }),
    );
  });

  for (const token of [
    '',
    '1!4!',
    '1!0!Mw--',
    '1!3!Mw--',
    '1!04!Mw-',
    '2!4!Mw--',
    '1!4!Mw==',
    '1!4!Mw+-',
    '1!2!Mw',
    '1!4!M---',
    '1!4!-Mw-',
    '1!4!Mx--',
    '1!4!____',
    '1!4!Mw--!',
    ' 1!4!Mw--',
    '1!9999999!Mw--',
    'x',
  ]) {
    it(`are refused as '${token}'`, () => {
      assert.throws(
        () => decodeToken(token),
        (error) =>
          error instanceof StorageError &&
          error.code === 'InvalidInput' &&
          error.message === 'One of the request inputs is not valid.',
      );
    });
  }

  it('never fail in another way', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.base64String().map((text) => `1!${text.length}!${text.replaceAll('=', '-')}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          assert.equal(encodeToken(decodeToken(text)), text);
        } catch (error) {
          assert.ok(error instanceof StorageError);
        }
      }),
    );
  });
});
