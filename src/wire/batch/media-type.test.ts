import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { multipartBoundary } from './media-type.js';

describe('multipartBoundary', () => {
  it('reads every way to write the parameter', () => {
    for (const [text, boundary] of [
      ['multipart/mixed; boundary=batch_a1e9d677', 'batch_a1e9d677'],
      ['multipart/mixed;boundary=b', 'b'],
      ['Multipart/Mixed; BOUNDARY="a b:c=d"', 'a b:c=d'],
      ['multipart/mixed; charset="utf-8"; boundary=b', 'b'],
      ['multipart/mixed; charset="x;boundary=no"; boundary=b; type=x', 'b'],
      ['multipart/mixed ; boundary = "q\\"b" ', 'q"b'],
      ['multipart/mixed; boundary=a=b', 'a=b'],
      [`multipart/mixed; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
    ] as const) {
      assert.equal(multipartBoundary(text), boundary, text);
    }
  });

  it('finds none where there is none to use', () => {
    for (const text of [
      '',
      'multipart/mixed',
      'multipart/mixed;',
      'multipart/mixed; charset=utf-8',
      'multipart/mixed; boundary=',
      'multipart/mixed; boundary=""',
      'multipart/mixed; boundary="ends in space "',
      'multipart/mixed; boundary="a\nb"',
      'multipart/mixed; boundary="open',
      'multipart/mixed; xboundary=b',
      'multipart/form-data; boundary=b',
      `multipart/mixed; boundary=${'x'.repeat(71)}`,
      `multipart/mixed; ${' '.repeat(2000)}boundary=b`,
    ]) {
      assert.equal(multipartBoundary(text), undefined, text);
    }
  });
});
