import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { httpDate, parseHttpDate } from './http-date.js';

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

describe('httpDate', () => {
  it('is to the second, the rest cut off, up to the last year', () => {
    assert.equal(httpDate(0), 'Thu, 01 Jan 1970 00:00:00 GMT');
    assert.equal(httpDate(1_255_122_270_999_999), 'Fri, 09 Oct 2009 21:04:30 GMT');
    assert.equal(httpDate(253_402_300_799_000_000), 'Fri, 31 Dec 9999 23:59:59 GMT');
  });

  it('says the same of a second whatever was asked before', () => {
    const anySecond = fc.integer({ min: -200, max: 200 });
    fc.assert(
      fc.property(fc.array(anySecond), (seconds) => {
        for (const second of seconds) {
          assert.equal(httpDate(second * 1_000_000), new Date(second * 1000).toUTCString());
        }
      }),
    );
  });

  it('is what the platform writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_000 }), (millis) => {
        assert.equal(httpDate(millis * 1000), new Date(millis).toUTCString());
      }),
      { numRuns: 250 },
    );
  });

  it('is read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_000 }), (millis) => {
        assert.equal(parseHttpDate(httpDate(millis * 1000)), millis - (millis % 1000));
      }),
    );
  });
});
