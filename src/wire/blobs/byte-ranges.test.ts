import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { contentRange, pageRange, parseRange, readRange, sourceRange } from './byte-ranges.js';

type Headers = Readonly<Record<string, string>>;
const lookup = (headers: Headers) => (name: string) => headers[name];
const unreadable = ['', 'bytes=-5', 'bytes=0-1,3-4', 'items=0-1', 'bytes=5-4', 'bytes=a-b', '0-1'];

describe('the range of a read', () => {
  it('has a beginning and perhaps an end', () => {
    assert.deepEqual(parseRange('bytes=0-0'), { first: 0, last: 0 });
    assert.deepEqual(parseRange('bytes=7-'), { first: 7, last: undefined });
    assert.deepEqual(parseRange('Bytes=1-9223372036854775807'), {
      first: 1,
      last: Number.MAX_SAFE_INTEGER,
    });
  });

  it('is everything when it cannot be read', () => {
    for (const text of unreadable) assert.equal(readRange(lookup({ range: text })), undefined);
    assert.equal(readRange(lookup({})), undefined);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const range = parseRange(text);
        assert.ok(range === undefined || range.first <= (range.last ?? Infinity));
      }),
    );
  });

  it('stands in x-ms-range before Range', () => {
    const both = { 'x-ms-range': 'bytes=1-2', range: 'bytes=3-4' };
    assert.deepEqual(readRange(lookup(both)), { first: 1, last: 2 });
    assert.equal(readRange(lookup({ ...both, 'x-ms-range': 'x' })), undefined);
    assert.deepEqual(readRange(lookup({ range: 'bytes=3-4' })), { first: 3, last: 4 });
  });

  it('is answered with its length', () => {
    assert.equal(contentRange({ first: 0, last: 9 }, 20), 'bytes 0-9/20');
  });
});

describe('the pages of a write', () => {
  it('begin and end with a page', () => {
    assert.deepEqual(pageRange(lookup({ range: 'bytes=512-1535' })), { first: 512, last: 1535 });
    for (const text of ['bytes=1-511', 'bytes=0-510', 'bytes=0-512']) {
      const headers = { 'x-ms-range': text };
      assert.throws(() => pageRange(lookup(headers)), { code: 'InvalidPageRange' });
    }
  });

  it('must be there and be read', () => {
    assert.throws(() => pageRange(lookup({})), { code: 'MissingRequiredHeader' });
    for (const text of [...unreadable, 'bytes=0-']) {
      assert.throws(() => pageRange(lookup({ range: text })), { code: 'InvalidHeaderValue' });
    }
  });
});

describe('the range of a source', () => {
  it('is all of it without the header, and must be read with it', () => {
    assert.equal(sourceRange(lookup({})), undefined);
    const headers = { 'x-ms-source-range': 'bytes=0-3' };
    assert.deepEqual(sourceRange(lookup(headers)), { first: 0, last: 3 });
    for (const text of unreadable) {
      const headers = { 'x-ms-source-range': text };
      assert.throws(() => sourceRange(lookup(headers)), { code: 'InvalidHeaderValue' });
    }
  });
});
