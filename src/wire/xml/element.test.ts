import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { element, textElement, xmlDocument } from './element.js';
import { parseXml } from './reader.js';

describe('xmlDocument', () => {
  it('begins with the declaration that clients know, without a byte order mark', () => {
    assert.equal(
      xmlDocument(element('a', textElement('b', 'é<'))).toString(),
      '<?xml version="1.0" encoding="utf-8"?><a><b>é&lt;</b></a>',
    );
  });

  it('closes an element that is empty, and one that has attributes', () => {
    assert.equal(element('NextMarker', ''), '<NextMarker />');
    assert.equal(element('a b="c"', 'd'), '<a b="c">d</a>');
  });

  it('keeps any text that XML can express, as a reader sees it', () => {
    const anyText = fc.string({
      unit: fc.constantFrom(...Array.from('ab \t\n\r&<>"\'];é日😀\ufffd')),
    });
    fc.assert(
      fc.property(anyText, (text) => {
        assert.equal(parseXml(xmlDocument(textElement('a', text))).text, text);
      }),
    );
  });

  it('is well-formed whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        parseXml(xmlDocument(textElement('a', `${text}\ud800\u0000`)));
      }),
    );
  });
});
