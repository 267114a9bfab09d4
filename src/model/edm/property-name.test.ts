import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPropertyName } from './property-name.js';

describe('property names', () => {
  for (const name of ['a', '_', 'A1', '__proto__', 'ß', '日本語', 'é́', 'x٣', 'Ⅷ', '𝒳y']) {
    it(`may be ${name}`, () => {
      assert.ok(isPropertyName(name));
    });
  }

  for (const name of [
    '',
    '1a',
    'a-b',
    'a b',
    'a.b',
    'a@b',
    '٣x',
    'a\ud800',
    'a€',
    'a\u0000',
    '😀',
  ]) {
    it(`may not be ${JSON.stringify(name)}`, () => {
      assert.ok(!isPropertyName(name));
    });
  }
});
