import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  formatBlobMarker,
  formatFindMarker,
  parseBlobMarker,
  parseFindMarker,
} from './list-marker.js';
import { blobNameLengthMax } from './resource-path.js';

const name = fc.array(fc.nat({ max: 0xffff }), { minLength: 1, maxLength: 20 });
const longest = 'a'.repeat(blobNameLengthMax);
const endless = [`${longest}a`, `${longest}\0\0`, 'a'.repeat(5_000), '\uffff'.repeat(40_000)];

describe('the marker of a list of blobs', () => {
  it('keeps every name and time, and only has characters that URLs carry', () => {
    const time = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(name, time, (units, micros) => {
        const text = String.fromCharCode(...units);
        const place = micros === 0 ? { name: text } : { name: text, fromMicros: micros };
        const marker = formatBlobMarker(place);
        assert.deepEqual(parseBlobMarker(marker), place);
        assert.match(marker, /^[\w!-]+$/);
      }),
    );
  });

  it('is no place when it is empty or absent', () => {
    assert.equal(parseBlobMarker(undefined), undefined);
    assert.equal(parseBlobMarker(''), undefined);
  });

  it('is refused when nothing made it', () => {
    const sound = formatBlobMarker({ name: 'ab', fromMicros: 5 });
    const wrong = [
      'x',
      '1!!',
      '1!0!',
      '2!0!YQA',
      `${sound}=`,
      `${sound} `,
      '1!05!YQBiAA',
      '1!5!YQB',
    ];
    for (const marker of [...wrong, '1!9999999999999999!YQBiAA']) {
      assert.throws(() => parseBlobMarker(marker), { code: 'InvalidMarker' }, marker);
    }
  });

  it('names no blob with a longer name than any can have', () => {
    for (const place of [longest, `${longest}\0`].map((each) => ({ name: each, fromMicros: 5 }))) {
      assert.deepEqual(parseBlobMarker(formatBlobMarker(place)), place);
    }
    for (const long of endless) {
      const marker = formatBlobMarker({ name: long, fromMicros: 5 });
      assert.throws(() => parseBlobMarker(marker), { code: 'InvalidMarker' });
    }
  });
});

describe('the marker of a search', () => {
  it('keeps every place', () => {
    fc.assert(
      fc.property(name, name, (units, others) => {
        const place = {
          container: 'c',
          value: String.fromCharCode(...others),
          name: String.fromCharCode(...units),
        };
        assert.deepEqual(parseFindMarker(formatFindMarker(place)), place);
        const ofVersion = { ...place, fromMicros: units.length };
        assert.deepEqual(parseFindMarker(formatFindMarker(ofVersion)), ofVersion);
      }),
    );
    assert.equal(parseFindMarker(''), undefined);
  });

  it('is refused when nothing made it', () => {
    const wrong = ['x', '2!!', '1!YQA!YQA!YQA', '2!YQA!YQA!YQ', '2!YQA!YQA!YQA!'];
    const wrongMicros = ['05', '9999999999999999', 'x'].map((each) => `2!YQA!YQA!YQA!${each}`);
    for (const marker of [...wrong, ...wrongMicros]) {
      assert.throws(() => parseFindMarker(marker), { code: 'InvalidMarker' }, marker);
    }
  });

  it('names no blob with a longer name than any can have', () => {
    for (const each of [longest, `${longest}\0`]) {
      const place = { container: 'c', value: 'v', name: each };
      assert.deepEqual(parseFindMarker(formatFindMarker(place)), place);
    }
    for (const long of endless) {
      const marker = formatFindMarker({ container: 'c', value: 'v', name: long });
      assert.throws(() => parseFindMarker(marker), { code: 'InvalidMarker' });
    }
  });
});
