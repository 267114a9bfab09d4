import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { clockSkewMsMax, isDateWithinSkew, parseHttpDate } from './request-date.js';

describe('parseHttpDate', () => {
  it('reads what toUTCString writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800 }), (seconds) => {
        const text = new Date(seconds * 1000).toUTCString();
        assert.equal(parseHttpDate(text), seconds * 1000);
      }),
    );
  });

  it('accepts a day of one digit and UTC for GMT', () => {
    const time = Date.UTC(2025, 10, 1, 10, 0, 0);
    assert.equal(parseHttpDate('Sat, 1 Nov 2025 10:00:00 GMT'), time);
    assert.equal(parseHttpDate('Sat, 01 Nov 2025 10:00:00 UTC'), time);
  });

  it('refuses text that is no RFC 1123 date', () => {
    for (const text of [
      '',
      '2025-11-21T10:00:00Z',
      'Fri, 21 Nov 2025 10:00:00',
      'Fri, 21 Nov 2025 10:00:00 +0100',
      'Fri, 31 Feb 2025 10:00:00 GMT',
      'Fri, 21 anF 2025 10:00:00 GMT',
      'Fri, 21 Nov 2025 24:00:00 GMT',
      'Fri, 21 Nov 2025 10:61:00 GMT',
      'Friday, 21-Nov-25 10:00:00 GMT',
    ]) {
      assert.equal(parseHttpDate(text), undefined, text);
    }
  });
});

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
