import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { parseGuid } from '../../model/edm/guid.js';
import {
  parseBase64,
  parseDouble,
  parseHex,
  parseInt32,
  parseInt64,
  valueFromText,
} from './literal.js';

describe('texts of values', () => {
  it('hold the whole range of Int32 and nothing beyond', () => {
    assert.equal(parseInt32('2147483647'), 2_147_483_647);
    assert.equal(parseInt32('-2147483648'), -2_147_483_648);
    assert.equal(parseInt32('+54'), 54);
    assert.ok(Object.is(parseInt32('-0'), 0));
    for (const text of ['2147483648', '-2147483649', '', '+', '1.0', '1e1', ' 1', '0x1', '१']) {
      assert.equal(parseInt32(text), undefined, text);
    }
  });

  it('hold the whole range of Int64 and nothing beyond', () => {
    assert.equal(parseInt64('9223372036854775807'), 2n ** 63n - 1n);
    assert.equal(parseInt64('-9223372036854775808'), -(2n ** 63n));
    assert.equal(parseInt64('+5'), 5n);
    for (const text of [
      '9223372036854775808',
      '-9223372036854775809',
      '18446744073709551615',
      'abc',
      '',
      '5L',
    ]) {
      assert.equal(parseInt64(text), undefined, text);
    }
  });

  it('hold every double, and refuse what is none', () => {
    fc.assert(
      fc.property(fc.double(), (value) => {
        assert.ok(Object.is(parseDouble(Object.is(value, -0) ? '-0' : String(value)), value));
      }),
    );
    assert.equal(parseDouble('1.797693134862315e308'), 1.797_693_134_862_315e308);
    assert.equal(parseDouble('1.5E10'), 1.5e10);
    assert.equal(parseDouble('3'), 3);
    for (const text of [
      '1.797693134862316e308',
      '-1e999',
      '',
      '.',
      'e5',
      '1e',
      'nan',
      ' 1',
      '1f',
    ]) {
      assert.equal(parseDouble(text), undefined, text);
    }
  });

  it('hold bytes as base64 with its padding', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        assert.deepEqual(parseBase64(Buffer.from(bytes).toString('base64')), Buffer.from(bytes));
        assert.deepEqual(parseHex(Buffer.from(bytes).toString('hex')), Buffer.from(bytes));
      }),
    );
    for (const text of [
      '***',
      'YQ',
      'YQ=',
      'Y===',
      'Y*==',
      '====',
      'YQ==YQ==',
      '_-==',
      '__==',
      '-w==',
      'YQ= =',
    ]) {
      assert.equal(parseBase64(text), undefined, text);
    }
    assert.equal(parseHex('abc'), undefined);
    assert.equal(parseHex('zz'), undefined);
  });

  it('hold guids in any letter case, and give lower case', () => {
    assert.equal(
      parseGuid('C9DA6455-213D-42c9-9a79-3E9149A57833'),
      'c9da6455-213d-42c9-9a79-3e9149a57833',
    );
    for (const text of [
      'zzz',
      '',
      'c9da6455213d42c99a793e9149a57833',
      '{c9da6455-213d-42c9-9a79-3e9149a57833}',
      'c9da6455-213d-42c9-9a79-3e9149a5783g',
      'c9da64550213d-42c9-9a79-3e9149a57833',
    ]) {
      assert.equal(parseGuid(text), undefined, text);
    }
  });

  it('name the property and the date that is out of range', () => {
    for (const [text, shown] of [
      ['1600-12-31T23:59:59.9999999Z', '12/31/1600 23:59:59'],
      ['1500-01-02T03:04:05Z', '01/02/1500 03:04:05'],
      ['1601-01-01T00:00:00+00:01', '12/31/1600 23:59:00'],
    ]) {
      assert.throws(
        () => valueFromText('Edm.DateTime', text ?? '', 'Born'),
        (error) =>
          error instanceof StorageError &&
          error.code === 'OutOfRangeInput' &&
          error.message === `The 'Born' parameter of value '${shown}' is out of range.`,
      );
    }
  });
});
