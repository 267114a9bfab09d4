import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import { contentType, negotiate } from './media-type.js';

describe('negotiation', () => {
  for (const [accept, format, level] of [
    ['application/json;odata=nometadata', undefined, 'none'],
    ['application/json;odata=minimalmetadata', undefined, 'minimal'],
    ['application/json; odata=minimalmetadata', undefined, 'minimal'],
    ['application/json;odata=fullmetadata', undefined, 'full'],
    ['Application/JSON;OData=FullMetadata', undefined, 'full'],
    ['application/json', undefined, 'minimal'],
    ['application/json;charset=utf-8', undefined, 'minimal'],
    ['*/*', undefined, 'minimal'],
    ['application/atom+xml, application/json;odata=nometadata', undefined, 'none'],
    ['text/html, */*;q=0.1', undefined, 'minimal'],
    ['application/json;odata=nometadata', 'application/json;odata=fullmetadata', 'full'],
    [undefined, 'application/json;odata=minimalmetadata', 'minimal'],
    [undefined, 'json', 'minimal'],
    ['application/json;odata=nometadata', '', 'none'],
  ] as const) {
    it(`gives ${level} for Accept ${accept} and $format ${format}`, () => {
      assert.equal(negotiate(accept, format), level);
      assert.equal(negotiate(accept, format), level);
    });
  }

  for (const [accept, code] of [
    [undefined, 'AtomFormatNotSupported'],
    ['', 'AtomFormatNotSupported'],
    ['application/atom+xml', 'AtomFormatNotSupported'],
    ['application/atom+xml,application/xml', 'AtomFormatNotSupported'],
    ['application/json;odata=verbose', 'JsonVerboseFormatNotSupported'],
    ['application/json;odata=some', 'MediaTypeNotSupported'],
    ['text/html', 'MediaTypeNotSupported'],
    ['x'.repeat(10_000), 'MediaTypeNotSupported'],
  ] as const) {
    it(`refuses Accept ${accept?.slice(0, 40)} with ${code}`, () => {
      for (let round = 0; round < 2; round++) {
        assert.throws(
          () => negotiate(accept, undefined),
          (error) => error instanceof StorageError && error.code === code && error.status === 415,
        );
      }
    });
  }

  it('lets $format win over Accept, even to refuse', () => {
    assert.throws(() => negotiate('application/json', 'atom'), StorageError);
  });

  it('never fails in another way', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          negotiate(text, undefined);
        } catch (error) {
          assert.ok(error instanceof StorageError);
        }
      }),
    );
  });
});

describe('content types', () => {
  it('name the level', () => {
    assert.equal(
      contentType('none'),
      'application/json;odata=nometadata;streaming=true;charset=utf-8',
    );
    assert.equal(
      contentType('minimal'),
      'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
    );
    assert.equal(
      contentType('full'),
      'application/json;odata=fullmetadata;streaming=true;charset=utf-8',
    );
  });
});
