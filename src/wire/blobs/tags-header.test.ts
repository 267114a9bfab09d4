import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { formatTagsHeader, parseTagsHeader } from './tags-header.js';

const letters = 'abzAZ019 +-./:=_'.split('');
const name = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 10 });
const value = fc.string({ unit: fc.constantFrom(...letters), maxLength: 10 });

describe('the tags of a header', () => {
  it('are names and values, percent-encoded, a plus sign for a space', () => {
    assert.deepEqual(parseTagsHeader('a=b+c&Due%20Date=2024%2F03%2F01&k='), [
      ['a', 'b c'],
      ['Due Date', '2024/03/01'],
      ['k', ''],
    ]);
    assert.deepEqual(parseTagsHeader(''), []);
    assert.deepEqual(parseTagsHeader('a=b=c&d'), [
      ['a', 'b=c'],
      ['d', ''],
    ]);
  });

  it('come back as they were', () => {
    const tags = fc.uniqueArray(fc.tuple(name, value), { maxLength: 10, selector: ([key]) => key });
    fc.assert(
      fc.property(tags, (tags) => {
        assert.deepEqual(parseTagsHeader(formatTagsHeader(tags)), tags);
      }),
    );
  });

  it('are refused beyond their limits', () => {
    const eleven = Array.from({ length: 11 }, (_, index) => `k${index}=v`).join('&');
    for (const [text, code] of [
      [eleven, 'TagsTooLarge'],
      [`${'k'.repeat(129)}=v`, 'TagsTooLarge'],
      [`k=${'v'.repeat(257)}`, 'TagsTooLarge'],
      [`k=${'%20'.repeat(1_000)}`, 'TagsTooLarge'],
      ['=v', 'EmptyTagName'],
      ['k=v&k=w', 'DuplicateTagNames'],
      ['k=%C3%A9', 'InvalidTag'],
      ["k='v'", 'InvalidTag'],
      ['k=%', 'InvalidHeaderValue'],
    ] as const) {
      assert.throws(() => parseTagsHeader(text), { code }, text.slice(0, 20));
    }
    assert.equal(parseTagsHeader(`${'k'.repeat(128)}=${'v'.repeat(256)}`).length, 1);
    assert.equal(parseTagsHeader('k=v&K=v').length, 2);
  });

  it('are tags or a documented error, whatever the text is', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '=', '&', '%', '2', '0', 'é') }),
        (text) => {
          try {
            parseTagsHeader(text);
          } catch (error) {
            assert.ok(error instanceof StorageError && error.status === 400);
          }
        },
      ),
    );
  });
});
