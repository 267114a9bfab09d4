import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusedHead } from './refused-head.js';

const coded = (coding: string) => ({ 'transfer-encoding': coding });
const expecting = (expect: string) => ({ expect });

describe('the head of a request that the parser accepts', () => {
  for (const [headers, status] of [
    [{}, undefined],
    [coded(''), undefined],
    [coded('chunked'), undefined],
    [coded('Chunked '), undefined],
    [coded(', chunked'), undefined],
    [coded('gzip, chunked'), 501],
    [coded('identity, chunked'), 501],
    [coded('gzip;q="a, b", chunked'), 501],
    [coded('chunked;a=b'), 400],
    [coded('gzip'), 400],
    [coded('chunked, gzip'), 400],
    [coded('chunked, gzip, chunked'), 400],
    [coded('chunked, chunked'), 400],
    [expecting('100-continue'), undefined],
    [expecting('100-Continue'), undefined],
    [expecting(''), undefined],
    [expecting('100-continue, a-wonder'), 417],
    [expecting('a-wonder'), 417],
    [{ ...coded('gzip, chunked'), ...expecting('a-wonder') }, 501],
  ] as const) {
    it(`gets ${status ?? 'an answer'} with ${JSON.stringify(headers)}`, () => {
      assert.equal(refusedHead({ headers, httpVersion: '1.1' }), status);
    });
  }

  it('expects nothing in HTTP/1.0', () => {
    assert.equal(refusedHead({ headers: expecting('a-wonder'), httpVersion: '1.0' }), undefined);
  });
});
