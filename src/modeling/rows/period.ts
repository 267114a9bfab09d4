import { DefinitionError } from './model-error.js';
import { dateOfTicks, ticksOfDate, ticksOfIso, ticksPerMillisecond } from './ticks.js';

/**
 * The time that one bucket covers, in UTC. Periods of several hours or days are counted from
 * 0001-01-01, a Monday: `{ days: 7 }` begins on Mondays, `{ hours: 6 }` at 00, 06, 12 and 18.
 */
export type Period =
  | 'hour'
  | 'day'
  | 'month'
  /** A divisor of 24, so that periods begin at the same hours every day. */
  | { readonly hours: number }
  | { readonly days: number };

const stampPattern = /^(\d{4})(\d{2})(\d{2})?(\d{2})?$/;
const ticksPerHour = 3_600_000n * ticksPerMillisecond;
const ticksPerDay = 24n * ticksPerHour;

/**
 * Throws `DefinitionError` for a period that is no positive whole number, or splits days unevenly.
 */
export function checkPeriod(period: Period): void {
  if (typeof period === 'string') return;
  if ('hours' in period) {
    const { hours } = period;
    if (Number.isInteger(hours) && hours >= 1 && 24 % hours === 0) return;
    throw new DefinitionError(
      `a period of ${hours} hours: 24 must be a multiple of it; use { days } for more`,
    );
  }
  const { days } = period;
  if (Number.isInteger(days) && days >= 1 && days <= 3650) return;
  throw new DefinitionError(`a period of ${days} days: give a whole number from 1 to 3650`);
}

/** The start of the period that contains an instant, in ticks. */
export function periodStart(period: Period, ticks: bigint): bigint {
  if (period === 'month') {
    const date = dateOfTicks(ticks);
    return startOfMonth(date.getUTCFullYear(), date.getUTCMonth());
  }
  return ticks - (ticks % spanTicks(period));
}

/** The start of the period after the one that begins at `start`, in ticks. */
export function nextPeriod(period: Period, start: bigint): bigint {
  if (period !== 'month') return start + spanTicks(period);
  const date = dateOfTicks(start);
  return startOfMonth(date.getUTCFullYear(), date.getUTCMonth() + 1);
}

function spanTicks(period: Exclude<Period, 'month'>): bigint {
  if (period === 'hour') return ticksPerHour;
  if (period === 'day') return ticksPerDay;
  return 'hours' in period
    ? BigInt(period.hours) * ticksPerHour
    : BigInt(period.days) * ticksPerDay;
}

/** `month` counts from 0 and may be 12: January of the next year. */
function startOfMonth(year: number, month: number): bigint {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 1);
  return ticksOfDate(date);
}

/** The digits of a stamp: `yyyyMM`, `yyyyMMdd` or `yyyyMMddHH`. */
export function stampLength(period: Period): number {
  if (period === 'month') return 6;
  return period === 'day' || (typeof period === 'object' && 'days' in period) ? 8 : 10;
}

/** The start of a period as digits of a fixed width, so that stamps sort by time. */
export function stampOf(period: Period, start: bigint): string {
  const iso = dateOfTicks(start).toISOString();
  return iso.replaceAll(/[-T:]/g, '').slice(0, stampLength(period));
}

/** The start of the period with a stamp, in ticks; undefined when there is none. */
export function startOfStamp(period: Period, stamp: string): bigint | undefined {
  const [, year = '', month = '', day = '01', hour = '00'] = stampPattern.exec(stamp) ?? [];
  const ticks = ticksOfIso(`${year}-${month}-${day}T${hour}:00Z`);
  if (ticks === undefined || stamp.length !== stampLength(period)) return undefined;
  return periodStart(period, ticks) === ticks ? ticks : undefined;
}

/** How long something is kept. Months are calendar months. */
export type Retention =
  { readonly hours: number } | { readonly days: number } | { readonly months: number };

/** Throws `DefinitionError` for a retention that is no positive whole number. */
export function checkRetention(retention: Retention): void {
  const count = countOf(retention);
  if (Number.isInteger(count) && count >= 1 && count <= 1_000_000) return;
  throw new DefinitionError(`a retention of ${count}: give a positive whole number`);
}

function countOf(retention: Retention): number {
  if ('hours' in retention) return retention.hours;
  return 'days' in retention ? retention.days : retention.months;
}

/** The instant that is a retention before another, in ticks; at the earliest year 1. */
export function before(retention: Retention, ticks: bigint): bigint {
  const past = instantBefore(retention, ticks);
  return past < 0n ? 0n : past;
}

/**
 * The first instant at which everything before `ticks` has expired: where `before` reaches `ticks`.
 */
export function keptUntil(retention: Retention, ticks: bigint): bigint {
  if ('months' in retention) return monthsAfter(retention.months, ticks);
  const unit = 'hours' in retention ? ticksPerHour : ticksPerDay;
  return ticks + BigInt(countOf(retention)) * unit;
}

function instantBefore(retention: Retention, ticks: bigint): bigint {
  if ('months' in retention) return monthsBefore(retention.months, ticks);
  const unit = 'hours' in retention ? ticksPerHour : ticksPerDay;
  return ticks - BigInt(countOf(retention)) * unit;
}

/** The same day of a later month, or the first of the one behind it when it is shorter. */
function monthsAfter(months: number, ticks: bigint): bigint {
  const date = dateOfTicks(ticks);
  const target = startOfMonth(date.getUTCFullYear(), date.getUTCMonth() + months);
  const behind = nextPeriod('month', target);
  const same = target + BigInt(date.getUTCDate() - 1) * ticksPerDay + (ticks % ticksPerDay);
  return same < behind ? same : behind;
}

/** The same day of an earlier month, or its last day when it is shorter. */
function monthsBefore(months: number, ticks: bigint): bigint {
  const date = dateOfTicks(ticks);
  const target = startOfMonth(date.getUTCFullYear(), date.getUTCMonth() - months);
  const days = (nextPeriod('month', target) - target) / ticksPerDay;
  const day = Math.min(date.getUTCDate(), Number(days));
  return target + BigInt(day - 1) * ticksPerDay + (ticks % ticksPerDay);
}
