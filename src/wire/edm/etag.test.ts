import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { formatTimestamp } from '../../model/edm/date-time.js';
import { formatEtag, parseIfMatch } from './etag.js';

const version = 1_510_282_017_043_085;

describe('etags', () => {
  it('spell the version as the Timestamp does, colons escaped', () => {
    assert.equal(formatTimestamp(version), '2017-11-10T02:46:57.0430853Z');
    assert.equal(formatEtag(version), `W/"datetime'2017-11-10T02%3A46%3A57.0430853Z'"`);
  });

  it('name the version they were made from', () => {
    fc.assert(
      fc.property(fc.nat(4_000_000_000_000_000), (any) => {
        assert.deepEqual(parseIfMatch(formatEtag(any)), { kind: 'version', version: any });
      }),
    );
  });

  it('may be spelled with lower case and trailing zeros', () => {
    for (const text of [
      `w/"datetime'2017-11-10T02%3a46%3a57.04308530Z'"`,
      `W/"datetime'2017-11-10T02:46:57.0430853Z'"`,
    ]) {
      assert.deepEqual(parseIfMatch(text), { kind: 'version', version });
    }
  });

  it('match anything as a star', () => {
    assert.deepEqual(parseIfMatch('*'), { kind: 'any' });
  });

  for (const text of [
    'W/""',
    'W/"x"',
    `W/"datetime'2017-11-10T02%3A46%3A57.0430851Z'"`,
    `W/"datetime'1969-11-10T02%3A46%3A57Z'"`,
    `W/"datetime'nonsense'"`,
  ]) {
    it(`that no entity carries match nothing: ${text}`, () => {
      assert.deepEqual(parseIfMatch(text), { kind: 'never' });
    });
  }

  for (const text of [
    '',
    'wrong',
    '"strong"',
    `"datetime'2017-11-10T02%3A46%3A57.043085Z'"`,
    `datetime'2017-11-10T02%3A46%3A57.043085Z'`,
    'W/"',
    'W/"a',
    'W/"a","b"',
    'W/"a", W/"b"',
    '**',
    ' *',
  ]) {
    it(`are malformed as: ${text}`, () => {
      assert.equal(parseIfMatch(text), undefined);
    });
  }
});
