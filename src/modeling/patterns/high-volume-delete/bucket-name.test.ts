import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { isTableName } from '../../../services/tables/table-name.js';
import { ticksOfIso } from '../../rows/ticks.js';
import {
  bucketAfter,
  bucketAt,
  bucketNameFilter,
  bucketOfName,
  checkBucketSet,
  isExpired,
  type BucketSet,
} from './bucket-name.js';
import type { Period } from '../../rows/period.js';

const ticks = (iso: string): bigint => ticksOfIso(iso) ?? -1n;

const periods: readonly Period[] = [
  'hour',
  'day',
  'month',
  ...[1, 2, 3, 4, 6, 8, 12, 24].map((hours) => ({ hours })),
  ...[1, 2, 7, 10, 365].map((days) => ({ days })),
];
const set = fc
  .record({
    prefix: fc.constantFrom('L', 'LoginAttempts', 'A1b'),
    period: fc.constantFrom(...periods),
  })
  .map((made): BucketSet => made);
const instant = fc.bigInt(ticks('1601-01-01T00:00:00Z'), ticks('9998-12-31T23:59:59.9999999Z'));

describe('names of buckets', () => {
  it('are those of the guide: a table a day', () => {
    const logins: BucketSet = { prefix: 'LoginAttempts', period: 'day' };
    assert.deepEqual(bucketAt(logins, ticks('2014-07-31T18:15:00.1234567Z')), {
      name: 'LoginAttempts20140731',
      from: ticks('2014-07-31T00:00:00Z'),
      to: ticks('2014-08-01T00:00:00Z'),
    });
  });

  it('tell the beginning of every kind of period', () => {
    const at = ticks('2024-02-29T23:59:59.9999999Z');
    const names = (['hour', 'day', 'month', { hours: 6 }, { days: 7 }] as const).map(
      (period) => bucketAt({ prefix: 'T', period }, at).name,
    );
    // 2024-02-26 was a Monday.
    assert.deepEqual(names, ['T2024022923', 'T20240229', 'T202402', 'T2024022918', 'T20240226']);
  });

  it('are legal, hold their instant, and read back as the same bucket', () => {
    fc.assert(
      fc.property(set, instant, (set, at) => {
        const bucket = bucketAt(set, at);
        assert.ok(isTableName(bucket.name), bucket.name);
        assert.ok(bucket.from <= at && at < bucket.to);
        assert.deepEqual(bucketOfName(set, bucket.name), bucket);
      }),
    );
  });

  it('sort as time does, and buckets follow one another without a gap', () => {
    fc.assert(
      fc.property(set, instant, (set, at) => {
        const bucket = bucketAt(set, at);
        const next = bucketAfter(set, bucket);
        assert.ok(bucket.name < next.name, `${bucket.name} ${next.name}`);
        assert.equal(next.from, bucket.to);
        assert.equal(bucketAt(set, bucket.to - 1n).name, bucket.name);
      }),
    );
  });

  it('lie in the range that lists the set', () => {
    const [from, to] = [
      ...bucketNameFilter({ prefix: 'Log', period: 'day' }).matchAll(/'(\w+|Log:)'/g),
    ].map(([, name = '']) => name);
    assert.deepEqual([from, to], ['Log0', 'Log:']);
    fc.assert(
      fc.property(instant, (at) => {
        const { name } = bucketAt({ prefix: 'Log', period: 'hour' }, at);
        assert.ok(name >= 'Log0' && name < 'Log:');
      }),
    );
  });

  it('of other tables are not taken for buckets', () => {
    const logins: BucketSet = { prefix: 'Login', period: 'day' };
    const others =
      'Login Logins20140731 Login201407 Login2014073118 Login20140732 Login20140231 ' +
      'Login2014073a Log20140731 Login00000101';
    assert.deepEqual(
      others.split(' ').filter((name) => bucketOfName(logins, name) !== undefined),
      [],
    );
    assert.equal(bucketOfName({ prefix: 'W', period: { days: 7 } }, 'W20240227'), undefined);
  });

  it('are refused when they would be illegal, ambiguous or too long', () => {
    const refused: readonly (readonly [BucketSet, RegExp])[] = [
      [{ prefix: '1a', period: 'day' }, /'1a' is no prefix/],
      [{ prefix: 'Log2', period: 'day' }, /a letter at both ends/],
      [{ prefix: 'Log-s', period: 'day' }, /letters and digits/],
      [{ prefix: '', period: 'day' }, /is no prefix/],
      [{ prefix: 'L'.repeat(56), period: 'day' }, /longer than 55/],
      [{ prefix: 'Log', period: { hours: 5 } }, /24 must be a multiple/],
      [{ prefix: 'Log', period: { days: 0 } }, /1 to 3650/],
      [{ prefix: 'Log', period: 'day', retention: { days: 0 } }, /positive whole number/],
    ];
    for (const [set, message] of refused) assert.throws(() => checkBucketSet(set), message);
    checkBucketSet({ prefix: 'L'.repeat(55), period: 'day' });
  });
});

describe('retention', () => {
  const logins: BucketSet = { prefix: 'LoginAttempts', period: 'day', retention: { days: 60 } };

  it('keeps every row of the last 60 days, and drops a bucket when its last row is older', () => {
    const bucket = bucketAt(logins, ticks('2014-07-31T00:00:00Z'));
    assert.equal(isExpired(logins, bucket, ticks('2014-09-29T23:59:59.9999999Z')), false);
    assert.equal(isExpired(logins, bucket, ticks('2014-09-30T00:00:00Z')), true);
  });

  it('counts months by the calendar, to the last day of a shorter one', () => {
    const set: BucketSet = { prefix: 'T', period: 'day', retention: { months: 1 } };
    const march31 = ticks('2024-03-31T12:00:00Z');
    assert.equal(isExpired(set, bucketAt(set, ticks('2024-02-28T00:00:00Z')), march31), true);
    assert.equal(isExpired(set, bucketAt(set, ticks('2024-02-29T00:00:00Z')), march31), false);
    const january = ticks('2024-01-15T00:00:00Z');
    assert.equal(isExpired(set, bucketAt(set, ticks('2023-12-14T00:00:00Z')), january), true);
    assert.equal(isExpired(set, bucketAt(set, ticks('2023-12-15T00:00:00Z')), january), false);
  });

  it('keeps everything without a policy', () => {
    const set: BucketSet = { prefix: 'T', period: 'hour' };
    assert.equal(
      isExpired(set, bucketAt(set, ticks('1700-01-01T00:00:00Z')), 3n * 10n ** 18n),
      false,
    );
  });
});
