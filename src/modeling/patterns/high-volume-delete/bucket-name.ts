import { DefinitionError } from '../../rows/model-error.js';
import {
  before,
  checkPeriod,
  checkRetention,
  nextPeriod,
  periodStart,
  stampLength,
  stampOf,
  startOfStamp,
  type Period,
  type Retention,
} from '../../rows/period.js';

/**
 * One table of a set, and the time of its rows: from `from` (included) to `to` (excluded), in
 * ticks.
 */
export interface Bucket {
  /** The table's name: the prefix and the start of the period, such as `Logins20140731`. */
  readonly name: string;
  readonly from: bigint;
  readonly to: bigint;
}

/**
 * A set of tables, one per period. Part of the layout of stored data: prefix and period must not
 * change.
 */
export interface BucketSet {
  /** Letters and digits, beginning and ending with a letter. */
  readonly prefix: string;
  readonly period: Period;
  /** How long rows are kept; absent: for ever. May change at any time. */
  readonly retention?: Retention;
}

const tableNameLengthMax = 63;

/** Throws `DefinitionError` when the names of the set's tables would not be legal and unique. */
export function checkBucketSet({ prefix, period, retention }: BucketSet): void {
  checkPeriod(period);
  if (retention !== undefined) checkRetention(retention);
  // A digit at the end would merge with the stamp, so that two sets could share a table.
  if (!/^[A-Za-z]([A-Za-z0-9]*[A-Za-z])?$/.test(prefix)) {
    throw new DefinitionError(
      `'${prefix}' is no prefix of table names: letters and digits, a letter at both ends`,
    );
  }
  const lengthMax = tableNameLengthMax - stampLength(period);
  if (prefix.length <= lengthMax) return;
  throw new DefinitionError(
    `the prefix '${prefix}' is longer than ${lengthMax}: table names end at ${tableNameLengthMax}`,
  );
}

/** The bucket of an instant, in ticks. */
export function bucketAt({ prefix, period }: BucketSet, ticks: bigint): Bucket {
  const from = periodStart(period, ticks);
  return { name: prefix + stampOf(period, from), from, to: nextPeriod(period, from) };
}

/** The bucket that follows another one. */
export function bucketAfter(set: BucketSet, { to }: Bucket): Bucket {
  return bucketAt(set, to);
}

/** The bucket of a table; undefined when the table is not of the set. */
export function bucketOfName(set: BucketSet, name: string): Bucket | undefined {
  const { prefix, period } = set;
  if (!name.toLowerCase().startsWith(prefix.toLowerCase())) return undefined;
  const from = startOfStamp(period, name.slice(prefix.length));
  return from === undefined ? undefined : { name, from, to: nextPeriod(period, from) };
}

/** The OData filter that lists the tables of the set, and few others. */
export function bucketNameFilter({ prefix }: BucketSet): string {
  // A colon is the character after the digit 9.
  return `TableName ge '${prefix}0' and TableName lt '${prefix}:'`;
}

/** Whether all rows of a bucket are older than the retention of the set. */
export function isExpired({ retention }: BucketSet, { to }: Bucket, nowTicks: bigint): boolean {
  return retention !== undefined && to <= before(retention, nowTicks);
}
