import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bucketOf, hash32 } from './text-hash.js';

describe('hash32', () => {
  it('is MurmurHash3 as published, for every length of tail', () => {
    const known: readonly (readonly [string, number])[] = [
      ['', 0],
      ['a', 0x3c2569b2],
      ['ab', 0x9bbfd75f],
      ['abc', 0xb3dd93fa],
      ['test', 0xba6bd213],
      ['Hello, world!', 0xc0363e43],
      ['The quick brown fox jumps over the lazy dog', 0x2e4ff723],
    ];
    assert.deepEqual(
      known.map(([text]) => [text, hash32(text)]),
      known,
    );
  });

  it('reads text as UTF-8, lone surrogates as the replacement character', () => {
    assert.equal(hash32('ππππππππ'), 0xec72b6e8);
    assert.equal(hash32('\ud800'), hash32('\ufffd'));
  });
});

describe('bucketOf', () => {
  it('spreads keys that grow by one evenly', () => {
    const buckets = 16;
    const keys = 16_000;
    const counts = Array.from({ length: buckets }, () => 0);
    for (let key = 0; key < keys; key++) {
      const bucket = bucketOf(String(key).padStart(19, '0'), buckets);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    assert.equal(counts.length, buckets);
    for (const count of counts) assert.ok(Math.abs(count - 1000) < 150, `${count} of about 1000`);
  });
});
