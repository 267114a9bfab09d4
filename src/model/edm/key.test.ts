import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forbiddenKeyCharacterAt } from './key.js';

describe('keys', () => {
  it('may hold anything but four characters and the controls', () => {
    const found: number[] = [];
    for (let code = 0; code <= 0xffff; code++) {
      if (forbiddenKeyCharacterAt(`ab${String.fromCharCode(code)}`) === 2) found.push(code);
    }
    const controls = [...Array(0x20).keys(), ...Array.from({ length: 33 }, (_, i) => 0x7f + i)];
    const expected = [...controls, 0x2f, 0x5c, 0x23, 0x3f].sort((a, b) => a - b);
    assert.deepEqual(found, expected);
    assert.equal(forbiddenKeyCharacterAt("'%+日 ü😀"), -1);
  });
});
