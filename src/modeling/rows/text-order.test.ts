import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compareTexts, textAfterPrefix } from './text-order.js';

const edges = fc.constantFrom(
  ...Array.from('ab\ud7ff\ue000\uffff\u{10000}\u{103ff}\u{10400}\u{10ffff}'),
  '😀',
);
const texts = fc.oneof(
  fc.string({ unit: edges, maxLength: 4 }),
  fc.string({ unit: 'binary', maxLength: 4 }).filter((text) => !/\p{Surrogate}/u.test(text)),
);

describe('the text after a prefix', () => {
  it('is well-formed and parts what begins with it from what follows', () => {
    fc.assert(
      fc.property(texts, texts, (prefix, text) => {
        const end = textAfterPrefix(prefix);
        if (end === undefined) {
          assert.ok(text.startsWith(prefix) || compareTexts(text, prefix) < 0);
          return;
        }
        assert.equal(/\p{Surrogate}/u.test(end), false);
        const isInside = compareTexts(text, prefix) >= 0 && compareTexts(text, end) < 0;
        assert.equal(isInside, text.startsWith(prefix));
        assert.ok(compareTexts(`${prefix}\u{10ffff}\uffff`, end) < 0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is what a person would write', () => {
    assert.equal(textAfterPrefix('empid_000123'), 'empid_000124');
    assert.equal(textAfterPrefix('S'), 'T');
    assert.equal(textAfterPrefix(''), undefined);
    assert.equal(textAfterPrefix('\uffff'), undefined);
    assert.equal(textAfterPrefix('a\uffff'), 'b');
  });
});
