import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  dateTimeMax,
  dateTimeMin,
  formatDateTime,
  formatEscapedTimestamp,
  formatTimestamp,
  formatUsDateTime,
  parseDateTime,
  ticksFromMicros,
  ticksOfVersion,
  versionOfTicks,
  writeTicks,
} from './date-time.js';

const anyTicks = fc.bigInt({ min: dateTimeMin, max: dateTimeMax });
const anyMicros = fc.integer({ min: 0, max: 4_000_000_000_000_000 });

describe('dates', () => {
  it('have the first and last instants that the service has', () => {
    assert.equal(parseDateTime('1601-01-01T00:00:00Z'), dateTimeMin);
    assert.equal(parseDateTime('9999-12-31T23:59:59.9999999Z'), dateTimeMax);
    assert.equal(parseDateTime('0001-01-01T00:00:00Z'), 0n);
  });

  it('are the instants that the platform computes', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(-62_135_596_800_000), noInvalidDate: true }), (date) => {
        fc.pre(date.getUTCFullYear() <= 9999);
        const ticks = BigInt(date.getTime()) * 10_000n + ticksFromMicros(0);
        assert.equal(parseDateTime(date.toISOString()), ticks);
        const trimmed = date.toISOString().replace(/\.?0*Z$/, 'Z');
        assert.equal(formatDateTime(ticks), trimmed);
      }),
    );
  });

  it('come back from their text exactly', () => {
    fc.assert(
      fc.property(anyTicks, (ticks) => {
        assert.equal(parseDateTime(formatDateTime(ticks)), ticks);
      }),
    );
  });

  it('are written the same from two halves as from one number', () => {
    const target = Buffer.alloc(40);
    fc.assert(
      fc.property(anyTicks, (ticks) => {
        const end = writeTicks(target, 0, Number(ticks >> 32n), Number(ticks & 0xffff_ffffn));
        assert.equal(target.toString('latin1', 0, end), formatDateTime(ticks));
      }),
    );
  });

  for (const [input, output] of [
    ['2017-11-10T02:46:52.3291063Z', '2017-11-10T02:46:52.3291063Z'],
    ['2017-11-10T02:46:05.200Z', '2017-11-10T02:46:05.2Z'],
    ['1973-10-04T00:00:00.000000Z', '1973-10-04T00:00:00Z'],
    ['1973-10-04T00:00:00', '1973-10-04T00:00:00Z'],
    ['2020-01-01T02:00:00+02:00', '2020-01-01T00:00:00Z'],
    ['2019-12-31T20:30:00-03:30', '2020-01-01T00:00:00Z'],
    ['2020-02-29T12:34', '2020-02-29T12:34:00Z'],
    ['2020-02-29', '2020-02-29T00:00:00Z'],
    ['2020-01-01T00:00:00.12345670000Z', '2020-01-01T00:00:00.1234567Z'],
  ] as const) {
    it(`reads ${input} as ${output}`, () => {
      const ticks = parseDateTime(input);
      assert.ok(ticks !== undefined);
      assert.equal(formatDateTime(ticks), output);
    });
  }

  for (const text of [
    '',
    'not-a-date',
    '2020-13-01T00:00:00Z',
    '2020-00-01T00:00:00Z',
    '2019-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2020-01-00T00:00:00Z',
    '2020-01-01T24:00:00Z',
    '2020-01-01T00:60:00Z',
    '2020-01-01T00:00:60Z',
    '2020-01-01T00:00:00.Z',
    '2020-01-01T00:00:00.12345678Z',
    '2020-01-01T00:00:00ZZ',
    '2020-01-01T00:00:00+2:00',
    '2020-01-01T00:00:00+15:00',
    '2020-01-01 00:00:00Z',
    '2020-1-1T00:00:00Z',
    '02020-01-01T00:00:00Z',
    '2020-01-01T00:00:00Z ',
    '0000-01-01T00:00:00Z',
  ]) {
    it(`refuses '${text}'`, () => {
      assert.equal(parseDateTime(text), undefined);
    });
  }

  it('are named in the American way in messages', () => {
    assert.equal(
      formatUsDateTime(parseDateTime('1500-02-03T04:05:06.7Z') ?? 0n),
      '02/03/1500 04:05:06',
    );
  });

  it('never make the reader throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseDateTime(text)));
  });
});

describe('timestamps', () => {
  it('have seven digits of fraction, the last never a zero', () => {
    fc.assert(
      fc.property(anyMicros, (version) => {
        const text = formatTimestamp(version);
        assert.match(text, /\.\d{6}[1-9]Z$/);
        assert.equal(text, formatDateTime(ticksOfVersion(version)));
        assert.equal(formatEscapedTimestamp(version), text.replaceAll(':', '%3A'));
      }),
    );
  });

  it('differ and are ordered as versions, those of neighbours too', () => {
    fc.assert(
      fc.property(anyMicros, fc.nat(20), (version, step) => {
        const [first, second] = [ticksOfVersion(version), ticksOfVersion(version + step + 1)];
        assert.ok(first < second);
        assert.ok(formatTimestamp(version) < formatTimestamp(version + step + 1));
      }),
    );
  });

  it('come back as versions, and no other instant of their microsecond does', () => {
    fc.assert(
      fc.property(anyMicros, (version) => {
        const found = Array.from({ length: 10 }, (_, digit) =>
          versionOfTicks(ticksFromMicros(version) + BigInt(digit)),
        );
        assert.deepEqual(
          found.filter((each) => each !== undefined),
          [version],
        );
        assert.equal(versionOfTicks(ticksOfVersion(version)), version);
      }),
    );
    assert.equal(versionOfTicks(ticksFromMicros(0) - 1n), undefined);
  });
});
