import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { anyText } from '../../../test/support/edm-properties.js';
import { readText, textBytes } from './text.js';

describe('text bytes', () => {
  it('give back every text, surrogates without partners too', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const bytes = textBytes(text);
        assert.equal(readText(bytes, 0, bytes.length), text);
      }),
      { numRuns: 250 },
    );
  });

  it('differ for texts that differ', () => {
    assert.notDeepEqual(textBytes('\ud800'), textBytes('\ufffd'));
    assert.deepEqual(textBytes('\ud83d\ude00'), Buffer.from('😀'));
  });

  it('never make the reader throw', () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void readText(bytes, 0, bytes.length)));
  });
});
