import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandomness } from './randomness.js';

describe('the randomness of the system', () => {
  it('gives as many bytes as asked for, and none twice', () => {
    const seen = new Set<string>();
    const counts = [16, 1, 15, 7, 32, 12, 4096];
    for (let nth = 0; nth < 2000; nth += 1) {
      const count = counts[nth % counts.length] ?? 0;
      const bytes = systemRandomness.bytes(count);
      assert.equal(bytes.length, count);
      if (count >= 7) seen.add(Buffer.from(bytes.subarray(0, 7)).toString('hex'));
    }
    assert.equal(seen.size, 2000 - Math.ceil(2000 / counts.length));
    assert.deepEqual(systemRandomness.bytes(0).length, 0);
  });

  it('does not change what it gave', () => {
    const bytes = systemRandomness.bytes(8);
    const before = Buffer.from(bytes);
    for (let nth = 0; nth < 600; nth += 1) systemRandomness.bytes(8);
    assert.deepEqual(Buffer.from(bytes), before);
  });
});
