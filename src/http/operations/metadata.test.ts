import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { metadataHeaders, metadataOf } from './metadata.js';

describe('metadata of a request', () => {
  it('keeps the case of names and their order, and nothing but metadata', () => {
    const rawHeaders = [
      'x-ms-meta-Colour',
      'blue',
      'X-MS-META-size',
      '',
      'x-ms-date',
      'now',
      'x-ms-meta',
      'no name',
      'x-ms-meta-',
      'empty name',
    ];
    assert.deepEqual(metadataOf({ rawHeaders }), [
      ['Colour', 'blue'],
      ['size', ''],
      ['', 'empty name'],
    ]);
  });

  it('keeps fields of one name apart', () => {
    const rawHeaders = ['x-ms-meta-a', '1', 'x-ms-meta-A', '2', 'x-ms-meta-a', '3'];
    assert.deepEqual(metadataOf({ rawHeaders }), [
      ['a', '1'],
      ['A', '2'],
      ['a', '3'],
    ]);
  });

  it('comes back as it was', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (metadata) => {
        assert.deepEqual(metadataOf({ rawHeaders: metadataHeaders(metadata) }), metadata);
      }),
    );
  });
});
