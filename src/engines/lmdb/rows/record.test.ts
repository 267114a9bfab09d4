import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isIntact, sealed } from './record.js';

const key = Buffer.from('the key');
const version = 1_700_000_000_123_456;

void describe('a stored value', () => {
  for (const length of [
    0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 100, 4_095, 4_096, 4_097, 65_450, 65_466, 65_467, 65_536,
    140_000,
  ]) {
    void it(`of ${length} bytes is intact as it was written, and not with a bit changed`, () => {
      const value = Buffer.alloc(length, 'value ');
      const stored = Buffer.from(sealed(key, version, value));
      assert.equal(stored.length, length + 4);
      assert.ok(isIntact(key, version, stored));
      const step = Math.max(1, Math.floor(stored.length / 500));
      for (let at = 0; at < stored.length; at += step) {
        for (let bit = 0; bit < 8; bit += 1) {
          const changed = Buffer.from(stored);
          changed[at] = (changed[at] ?? 0) ^ (1 << bit);
          assert.ok(!isIntact(key, version, changed), `bit ${bit} of byte ${at}`);
        }
      }
      if (length > 1) {
        const swapped = Buffer.from(stored);
        swapped.subarray(0, 2).reverse();
        assert.ok(!isIntact(key, version, swapped));
      }
      assert.ok(!isIntact(key, version, stored.subarray(0, -1)));
    });
  }

  void it('is that of its key and its version only, wherever it lies in memory', () => {
    const stored = Buffer.from(sealed(key, version, Buffer.from('value')));
    const shifted = Buffer.concat([Buffer.from('-'), stored]).subarray(1);
    assert.ok(isIntact(key, version, shifted));
    assert.ok(!isIntact(Buffer.from('the kez'), version, stored));
    assert.ok(!isIntact(Buffer.from('the key '), version, stored));
    assert.ok(!isIntact(key, version + 1, stored));
    assert.ok(!isIntact(key, version + 2 ** 32, stored));
    assert.ok(!isIntact(key, version, Buffer.alloc(3)));
  });
});
