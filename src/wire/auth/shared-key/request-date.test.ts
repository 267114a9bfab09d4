import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clockSkewMsMax, isDateWithinSkew } from './request-date.js';

describe('isDateWithinSkew', () => {
  const date = 'Fri, 21 Nov 2025 10:00:00 GMT';
  const micros = Date.UTC(2025, 10, 21, 10) * 1000;
  const skew = clockSkewMsMax * 1000;

  it('allows 15 minutes either way and not a moment more', () => {
    assert.equal(skew, 900_000_000);
    assert.equal(isDateWithinSkew(date, micros - skew), true);
    assert.equal(isDateWithinSkew(date, micros + skew), true);
    assert.equal(isDateWithinSkew(date, micros - skew - 1), false);
    assert.equal(isDateWithinSkew(date, micros + skew + 1), false);
  });

  it('never accepts text that is no date', () => {
    assert.equal(isDateWithinSkew('now', micros), false);
  });
});
