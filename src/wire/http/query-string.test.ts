import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { hasLoneSurrogate } from '../../model/bag/text.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { byLowerName, isRepeated, parseQueryString, parseTimeout } from './query-string.js';

describe('query strings', () => {
  it('decode names and values once, with + for a space', () => {
    const options = parseQueryString('%24filter=PartitionKey+eq+%27a%2Bb%2525%27&x=a=b&flag&&y=');
    assert.deepEqual(
      [...options],
      [
        ['$filter', "PartitionKey eq 'a+b%25'"],
        ['x', 'a=b'],
        ['flag', ''],
        ['y', ''],
      ],
    );
  });

  it('count the first option of a name', () => {
    assert.equal(parseQueryString('a=1&a=2').get('a'), '1');
  });

  it('give back what was encoded', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !hasLoneSurrogate(value));
    fc.assert(
      fc.property(text, text, (name, value) => {
        const raw = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
        assert.equal(parseQueryString(raw).get(name), value);
        assert.equal(
          parseQueryString(new URLSearchParams([[name, value]]).toString()).get(name),
          value,
        );
      }),
    );
  });

  for (const raw of ['a=%', 'a=%zz', '%ff=1', 'a=%c3', 'a=%ed%a0%80', 'a=%c0%80']) {
    it(`are refused when ${raw} is no UTF-8`, () => {
      assert.throws(
        () => parseQueryString(raw),
        (error) =>
          error instanceof StorageError &&
          error.code === 'InvalidInput' &&
          error.message === 'Bad Request - Error in query syntax.',
      );
    });
  }
});

describe('names of options', () => {
  it('are found in any case, the first spelling counts', () => {
    const options = parseQueryString('Comp=a&cOMP=b&Timeout=5&q=1');
    assert.deepEqual(
      [...byLowerName(options)],
      [
        ['comp', 'a'],
        ['timeout', '5'],
        ['q', '1'],
      ],
    );
  });

  it('are left alone when they are in lower case', () => {
    const options = parseQueryString('comp=A&timeout=5');
    assert.equal(byLowerName(options), options);
  });
});

describe('a repeated option', () => {
  it('is found in any spelling', () => {
    assert.ok(isRepeated('x=1&BlockId=a&block%49d=b', 'blockid'));
    assert.ok(isRepeated('a&a=', 'a'));
    assert.ok(!isRepeated('a=1&b=a&aa=a', 'a'));
  });
});

describe('the time limit', () => {
  it('is at most 30 seconds, or what the operation may take', () => {
    for (const [text, seconds] of [
      ['1', 1],
      ['30', 30],
      ['31', 30],
      ['0', 30],
      ['999999999', 30],
    ] as const) {
      assert.equal(parseTimeout(parseQueryString(`timeout=${text}`)), seconds);
    }
    for (const [text, seconds] of [
      ['1', 1],
      ['31', 31],
      ['61', 60],
      ['0', 60],
    ] as const) {
      assert.equal(parseTimeout(parseQueryString(`timeout=${text}`), 60), seconds);
    }
    assert.equal(parseTimeout(parseQueryString('timeout=')), undefined);
    assert.equal(parseTimeout(parseQueryString('')), undefined);
  });

  it('names the option and its value when it is no number', () => {
    for (const text of ['x', '-1', '1.5', '1e3', '9999999999']) {
      assert.throws(
        () => parseTimeout(parseQueryString(`timeout=${text}`)),
        (error) => {
          assert.ok(error instanceof StorageError);
          assert.equal(error.code, 'InvalidQueryParameterValue');
          assert.deepEqual(error.details.slice(0, 2), [
            ['QueryParameterName', 'timeout'],
            ['QueryParameterValue', text],
          ]);
          return true;
        },
      );
    }
  });
});
