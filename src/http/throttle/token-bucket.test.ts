import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TokenBucket } from './token-bucket.js';

/** How many requests at these times get a token. */
function admitted(bucket: TokenBucket, momentsMs: readonly number[]): number {
  return momentsMs.filter((nowMs) => {
    if (bucket.waitMs(1, nowMs) > 0) return false;
    bucket.take(1, nowMs);
    return true;
  }).length;
}

describe('a token bucket', () => {
  it('lets a burst of one second through, and then as many as come', () => {
    const bucket = new TokenBucket(2000, 0);
    assert.equal(admitted(bucket, Array(5000).fill(0)), 2000);
    assert.equal(admitted(bucket, Array(5000).fill(250)), 500);
    assert.equal(admitted(bucket, Array(5000).fill(250)), 0);
    // No more tokens are saved up than those of one second.
    assert.equal(admitted(bucket, Array(5000).fill(60_000)), 2000);
  });

  it('lets a steady stream at its rate through, and of a faster one its rate', () => {
    const steady = Array.from({ length: 20_000 }, (_, index) => index * 0.5);
    assert.equal(admitted(new TokenBucket(2000, 0), steady), 20_000);
    const doubled = Array.from({ length: 40_000 }, (_, index) => index * 0.25);
    // The 2,000 tokens of the start, and those of 10 seconds less one step.
    assert.equal(admitted(new TokenBucket(2000, 0), doubled), 2000 + 19_999);
  });

  it('says how long to wait, also while it is in debt', () => {
    const bucket = new TokenBucket(10, 0);
    bucket.take(25, 0);
    assert.equal(bucket.waitMs(1, 0), 1600);
    assert.equal(bucket.waitMs(1, 1000), 600);
    assert.equal(bucket.waitMs(1, 1600), 0);
    assert.ok(bucket.waitMs(2, 1600) > 0);
  });

  it('keeps what is reserved from others', () => {
    const bucket = new TokenBucket(10, 0);
    bucket.reserve(8);
    assert.equal(bucket.waitMs(2, 0), 0);
    assert.equal(bucket.waitMs(3, 0), 100);
    bucket.release(8);
    assert.equal(bucket.waitMs(10, 0), 0);
  });

  it('gives more than it can hold when it is full', () => {
    const bucket = new TokenBucket(10, 0);
    assert.equal(bucket.waitMs(100, 0), 0);
    bucket.take(1, 0);
    assert.equal(bucket.waitMs(100, 0), 100);
  });

  it('holds one token at least, however slow it is', () => {
    const bucket = new TokenBucket(0.1, 0);
    assert.equal(admitted(bucket, [0, 0, 9_999, 10_000, 10_000]), 2);
  });
});
