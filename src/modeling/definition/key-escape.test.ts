import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compareTexts } from '../rows/text-order.js';
import { ValueError } from '../rows/model-error.js';
import {
  afterEscapedText,
  escapeKeyText,
  isForbiddenInKeys,
  unescapeKeyText,
} from './key-escape.js';

/** Characters near the forbidden ones, so that differences are between neighbours. */
const edges = fc.constantFrom(
  ...Array.from({ length: 0xa2 }, (_unused, code) => String.fromCharCode(code)),
  ...Array.from('\u00ffü日\ud7ff\ue000\uffec\uffed\uffee\uffef\uffff😀'),
);
const texts = fc.string({ unit: edges, maxLength: 6 });
const separators = fc.constantFrom('', '_', '!', '-', '~', '.', 'G', 'z');
/** The order is promised for texts without U+0000–1F: no allowed character sorts below these. */
const printable = texts.filter((text) => !/\p{Cc}/u.test(text.replace(/[\u007f-\u009f]/g, '')));

describe('text in keys', () => {
  it('stays as it is where nothing is forbidden', () => {
    for (const text of ['jonesj@contoso.com', 'Sales', 'O_Neil', "it's 100 %", '日本', '😀', '']) {
      assert.equal(escapeKeyText(text, ''), text);
    }
    assert.equal(escapeKeyText('a/b', ''), 'a.\uffee2Fb');
    assert.equal(escapeKeyText('a_b', '_'), 'a^\uffee5Fb');
    assert.equal(escapeKeyText('~bob', '_', 'first'), '}\uffee7Ebob');
    assert.equal(unescapeKeyText('}\uffee7Ebob', '_', 'first'), '~bob');
    assert.equal(unescapeKeyText('~bob', '_', 'first'), undefined);
  });

  it('has no character that keys forbid, nor the separator, and is read back', () => {
    fc.assert(
      fc.property(texts, separators, (text, separator) => {
        const escaped = escapeKeyText(text, separator);
        assert.equal(isForbiddenInKeys(escaped), false);
        assert.ok(separator === '' || !escaped.includes(separator));
        assert.equal(unescapeKeyText(escaped, separator), text);
      }),
      { numRuns: 600 },
    );
  });

  it('sorts as the text does', () => {
    fc.assert(
      fc.property(printable, printable, separators, (left, right, separator) => {
        const order = compareTexts(left, right);
        const escaped = compareTexts(
          escapeKeyText(left, separator),
          escapeKeyText(right, separator),
        );
        assert.equal(Math.sign(escaped), Math.sign(order));
      }),
      { numRuns: 1_000 },
    );
  });

  it('ends its prefixes before what comes next', () => {
    fc.assert(
      fc.property(printable, printable, (prefix, text) => {
        const from = escapeKeyText(prefix, '');
        const escaped = escapeKeyText(text, '');
        const isInside = escaped >= from && escaped < from + afterEscapedText;
        assert.equal(isInside, text.startsWith(prefix));
      }),
      { numRuns: 600 },
    );
  });

  it('refuses half of a surrogate pair, and reads nothing that it did not write', () => {
    assert.throws(() => escapeKeyText('\ud800', ''), ValueError);
    for (const foreign of [
      '\uffee2F',
      'a\uffee2F',
      '.\uffee2f',
      '.\uffee2',
      '\uffedZZ',
      'a\uffed00',
      '/',
    ]) {
      assert.equal(unescapeKeyText(foreign, ''), undefined);
    }
  });
});
