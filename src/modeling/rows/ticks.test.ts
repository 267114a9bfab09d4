import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Instant } from './instant.js';
import { ValueError } from './model-error.js';
import { dateOfTicks, isoOfTicks, ticksMax, ticksOfDate, ticksOfIso } from './ticks.js';

const ticks = fc.oneof(fc.bigInt(0n, ticksMax), fc.constantFrom(0n, ticksMax));

describe('ticks', () => {
  it('are read from every text that is written for them', () => {
    fc.assert(
      fc.property(ticks, (value) => {
        assert.equal(ticksOfIso(isoOfTicks(value)), value);
        assert.equal(Instant.parse(Instant.ofTicks(value).toString()).ticks, value);
      }),
      { numRuns: 400 },
    );
  });

  it('agree with dates to the millisecond', () => {
    const dates = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, fc.integer({ min: 0, max: 9999 }), (date, finer) => {
        const value = ticksOfDate(date) + BigInt(finer);
        assert.equal(dateOfTicks(value).getTime(), date.getTime());
        assert.equal(ticksOfIso(date.toISOString()), ticksOfDate(date));
        assert.ok(isoOfTicks(value).startsWith(date.toISOString().slice(0, 19)));
      }),
      { numRuns: 400 },
    );
  });

  it('are those of the texts that the service takes', () => {
    const known: [string, bigint][] = [
      ['0001-01-01T00:00:00Z', 0n],
      ['9999-12-31T23:59:59.9999999Z', ticksMax],
      ['1970-01-01', 621_355_968_000_000_000n],
      ['1970-01-01T00:00', 621_355_968_000_000_000n],
      ['2024-02-29T12:00:00.1Z', 638_448_048_001_000_000n],
      ['2024-02-29T12:00:00.1000000Z', 638_448_048_001_000_000n],
      ['2024-02-29T12:00:00.10000000Z', 638_448_048_001_000_000n],
      ['2024-02-29T14:00:00+02:00', 638_448_048_000_000_000n],
      ['2024-02-29T07:30:00-04:30', 638_448_048_000_000_000n],
    ];
    for (const [text, value] of known) assert.equal(ticksOfIso(text), value, text);
  });

  it('are not read from other texts', () => {
    const texts = [
      '',
      'now',
      '2023-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2024-13-01',
      '2024-00-01',
      '2024-01-32',
      '2024-01-00',
      '0000-01-01T00:00:00Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T00:60:00Z',
      '2024-01-01T00:00:60Z',
      '2024-01-01T00:00:00.Z',
      '2024-01-01T00:00:00.12345678Z',
      '2024-01-01 00:00:00Z',
      '24-01-01T00:00:00Z',
      '2024-01-01T00:00:00.1a3Z',
      '2024-1-01',
      '٢٠٢٤-01-01',
      '0001-01-01T00:00:00+01:00',
      '9999-12-31T23:59:59-01:00',
      '2024-01-01T0a:00:00Z',
      '2024-01-01T00:00:00ZZ',
    ];
    for (const text of texts) assert.equal(ticksOfIso(text), undefined, text);
    assert.throws(() => Instant.parse('2024-01-01T00:00:00.12345678Z'), ValueError);
    assert.throws(() => Instant.ofTicks(-1n), ValueError);
    assert.throws(() => Instant.ofDate(new Date(NaN)), ValueError);
  });

  it('order instants', () => {
    const [early, late] = [Instant.ofTicks(1n), Instant.ofTicks(2n)];
    assert.deepEqual([early.compare(late), late.compare(early), early.compare(early)], [-1, 1, 0]);
    assert.deepEqual([early.equals(Instant.ofTicks(1n)), early.equals(late)], [true, false]);
    assert.equal(JSON.stringify({ at: Instant.ofTicks(0n) }), '{"at":"0001-01-01T00:00:00Z"}');
  });
});
