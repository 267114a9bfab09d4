import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import {
  readAppendConditions,
  readConditions,
  readSequenceConditions,
  type ConditionUse,
} from './conditions.js';
import { etagHeader, etagText } from './etag.js';

const version = '2021-12-02';
const [first, second] = [1_574_272_000_000_000, 1_574_272_000_000_001];
const date = 'Wed, 20 Nov 2019 17:46:40 GMT';
const seconds = 1_574_272_000;

type Headers = Readonly<Record<string, string>>;
const lookup = (headers: Headers) => (name: string) => headers[name];
const read = (headers: Headers, use: ConditionUse = 'read', at = version) =>
  readConditions(lookup(headers), use, at);
const refused = (code: string, headers: Headers, use: ConditionUse = 'read', at = version) =>
  assert.throws(() => read(headers, use, at), { code }, JSON.stringify(headers));

describe('the conditions of a request', () => {
  it('are none without headers', () => {
    for (const use of ['read', 'write', 'source'] as const) assert.deepEqual(read({}, use), {});
  });

  it('name etags with quotes, without them, in lists, and all of them', () => {
    const [a, b] = [etagHeader(first), etagHeader(second)];
    for (const [text, condition] of [
      [a, [first]],
      [etagText(first), [first]],
      [`${a}, ${b}`, [first, second]],
      [`${a},${etagText(second)}`, [first, second]],
      ['*', 'any'],
      ['"unknown, with a comma"', []],
      [`W/${a}`, []],
      ['""', []],
    ] as const) {
      assert.deepEqual(read({ 'if-match': text }), { ifMatch: condition }, text);
      if (text !== '*') {
        assert.deepEqual(read({ 'if-none-match': text }), { ifNoneMatch: condition }, text);
      }
    }
  });

  it('have dates in whole seconds', () => {
    assert.deepEqual(read({ 'if-modified-since': date, 'if-unmodified-since': date }), {
      ifModifiedSinceSeconds: seconds,
      ifUnmodifiedSinceSeconds: seconds,
    });
  });

  it('are refused when they cannot be read', () => {
    const a = etagHeader(first);
    for (const text of ['', `${a},`, `${a} ${a}`, '"open', 'a b', `*, ${a}`]) {
      refused('InvalidHeaderValue', { 'if-match': text });
      refused('InvalidHeaderValue', { 'if-none-match': text }, 'write');
    }
    for (const text of ['', 'yesterday', `${date}, ${date}`]) {
      refused('InvalidHeaderValue', { 'if-modified-since': text });
      refused('InvalidHeaderValue', { 'if-unmodified-since': text }, 'write');
    }
    refused('InvalidHeaderValue', { 'x-ms-if-tags': "a = 'b" });
  });

  it('of a read may all stand together, and must be possible', () => {
    const every = {
      'if-match': etagHeader(first),
      'if-none-match': etagHeader(second),
      'if-modified-since': date,
      'if-unmodified-since': date,
      'x-ms-if-tags': "a = 'b'",
    };
    assert.deepEqual(Object.keys(read(every)).length, 5);
    refused('UnsatisfiableCondition', { 'if-none-match': '*' });
    assert.deepEqual(read({ 'if-none-match': '*' }, 'read', '2015-12-11'), { ifNoneMatch: 'any' });
    refused('MultipleConditionHeadersNotSupported', every, 'read', '2012-02-12');
  });

  it('of a write may be one, or two of which the etag decides', () => {
    const etag = etagHeader(first);
    assert.deepEqual(read({ 'if-none-match': '*', 'if-modified-since': date }, 'write'), {
      ifNoneMatch: 'any',
    });
    assert.deepEqual(read({ 'if-match': etag, 'if-unmodified-since': date }, 'write'), {
      ifMatch: [first],
    });
    for (const headers of [
      { 'if-match': etag, 'if-none-match': '*' },
      { 'if-match': etag, 'if-modified-since': date },
      { 'if-none-match': '*', 'if-unmodified-since': date },
      { 'if-modified-since': date, 'if-unmodified-since': date },
      { 'if-match': `${etag},${etag}` },
      { 'if-none-match': `${etag},"x"` },
    ]) {
      refused('MultipleConditionHeadersNotSupported', headers, 'write');
    }
  });

  it('of a source have headers of their own', () => {
    const headers = {
      'if-match': etagHeader(second),
      'x-ms-source-if-match': etagHeader(first),
      'x-ms-source-if-modified-since': date,
      'x-ms-source-if-tags': '"a"=\'b\'',
    };
    assert.deepEqual(read(headers, 'source'), {
      ifMatch: [first],
      ifModifiedSinceSeconds: seconds,
      ifTags: { kind: 'comparison', tag: 'a', operator: '=', value: 'b' },
    });
  });

  it('are data or a documented error, whatever the headers are', () => {
    const names = fc.constantFrom('if-match', 'if-none-match', 'if-modified-since', 'x-ms-if-tags');
    const texts = fc.oneof(
      fc.string(),
      fc
        .array(
          fc.constantFrom('"', ',', '*', ' ', 'W/', etagText(first), 'a', '=', "'b'", '(', ')'),
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(fc.dictionary(names, texts), fc.boolean(), (headers, isWrite) => {
        try {
          read(headers, isWrite ? 'write' : 'read');
        } catch (error) {
          assert.ok(error instanceof StorageError && error.status === 400, String(error));
        }
      }),
      { numRuns: 250 },
    );
  });
});

describe('the conditions of an append and of a page write', () => {
  it('are numbers', () => {
    const append = {
      'x-ms-blob-condition-appendpos': '0',
      'x-ms-blob-condition-maxsize': '9007199254740991',
    };
    assert.deepEqual(readAppendConditions(lookup(append)), {
      appendPosition: 0,
      maxBytes: Number.MAX_SAFE_INTEGER,
    });
    const sequence = {
      'x-ms-if-sequence-number-le': '9223372036854775807',
      'x-ms-if-sequence-number-lt': '7',
      'x-ms-if-sequence-number-eq': '0',
    };
    assert.deepEqual(readSequenceConditions(lookup(sequence)), {
      lessOrEqual: 2n ** 63n - 1n,
      less: 7n,
      equal: 0n,
    });
    assert.deepEqual(readAppendConditions(lookup({})), {});
    assert.deepEqual(readSequenceConditions(lookup({})), {});
  });

  it('are refused as anything else', () => {
    for (const text of ['', '-1', '1.5', '1e3', 'x', '9007199254740992']) {
      const headers = { 'x-ms-blob-condition-maxsize': text };
      assert.throws(() => readAppendConditions(lookup(headers)), { code: 'InvalidHeaderValue' });
    }
    for (const text of ['', '-1', '9223372036854775808', '99999999999999999999']) {
      const headers = { 'x-ms-if-sequence-number-eq': text };
      assert.throws(() => readSequenceConditions(lookup(headers)), { code: 'InvalidHeaderValue' });
    }
  });
});
