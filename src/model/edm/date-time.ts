/**
 * Instants to 100 ns, in the proleptic Gregorian calendar, always UTC (table-service §2.5).
 * A value is a count of ticks: 100 ns units since 0001-01-01T00:00:00Z.
 */

const ticksPerSecond = 10_000_000n;
const secondsPerDay = 86_400;
/** Days from 0001-01-01 to 1970-01-01. */
const daysToUnixEpoch = 719_162;
const secondsToUnixEpoch = daysToUnixEpoch * secondsPerDay;

/** The first and last instant that a property can hold. */
export const dateTimeMin = 504_911_232_000_000_000n;
export const dateTimeMax = 3_155_378_975_999_999_999n;

/** Bytes that the longest written instant takes, with its colons written as `%3A`. */
export const instantBytesMax = 32;

const daysBeforeMonth = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
const daysInMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

/** Whether there is such a date, of year 1 or later. */
export function isDate(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leapDay = month === 2 && isLeapYear(year) ? 1 : 0;
  return day <= (daysInMonth[month - 1] ?? 0) + leapDay;
}

/** Days from 0001-01-01 to a date of year 1 or later. */
function daysOfDate(year: number, month: number, day: number): number {
  const before = year - 1;
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  const leapDay = month > 2 && isLeapYear(year) ? 1 : 0;
  return before * 365 + leapDays + (daysBeforeMonth[month - 1] ?? 0) + leapDay + day - 1;
}

interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

let lastDays = 0;
let lastDay: Day = { year: 1, month: 1, day: 1 };

/**
 * The date of a day count. Caches the last one, because rows of a page tend to have the same date.
 */
function dateOfDays(days: number): Day {
  if (days === lastDays) return lastDay;
  // Years are counted from March, so that the leap day is their last day.
  const shifted = days + 306;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  lastDay = {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  };
  lastDays = days;
  return lastDay;
}

/** The value of `count` decimal digits, or -1. */
function digitsAt(text: string, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index++) {
    const digit = text.charCodeAt(index) - 48;
    if (!(digit >= 0 && digit <= 9)) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** A parsed instant. */
export interface Instant {
  /** Seconds since 0001-01-01; may be outside the range of a property. */
  readonly seconds: number;
  /** 100 ns units. */
  readonly fraction: number;
  /** True when the text is the canonical one of the instant, its range aside. */
  readonly isCanonical: boolean;
}

/**
 * An instant, from `yyyy-MM-dd[THH:mm[:ss[.f…]]][Z|±hh:mm]`; undefined for any other text. Without
 * a zone the text is UTC. Fraction digits beyond the seventh must be zero, so that no precision is
 * lost silently.
 */
export function parseInstant(text: string): Instant | undefined {
  if (text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d) return undefined;
  const year = digitsAt(text, 0, 4);
  const month = digitsAt(text, 5, 2);
  const day = digitsAt(text, 8, 2);
  if (!isDate(year, month, day)) return undefined;
  const time = parseTimeOfDay(text);
  if (time === undefined) return undefined;
  const offsetSeconds = parseOffset(text, time.end);
  if (offsetSeconds === undefined) return undefined;
  const seconds = daysOfDate(year, month, day) * secondsPerDay + time.seconds - offsetSeconds;
  return { seconds, fraction: time.fraction, isCanonical: isCanonical(text, time.end) };
}

function isCanonical(text: string, timeEnd: number): boolean {
  return (
    timeEnd >= secondsEnd &&
    text.charCodeAt(timeEnd) === 0x5a &&
    text.charCodeAt(dateLength) === 0x54 &&
    (timeEnd === secondsEnd || text.charCodeAt(timeEnd - 1) !== 0x30)
  );
}

/** The ticks that a text means; undefined when it is no date and time. */
export function parseDateTime(text: string): bigint | undefined {
  const instant = parseInstant(text);
  if (instant === undefined) return undefined;
  return BigInt(instant.seconds) * ticksPerSecond + BigInt(instant.fraction);
}

/** A date alone, or with a time to the minute, second or fraction and a zone. */
const utcTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,7})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/**
 * Ticks of a time in stored policies and shared access signatures, where a time of day always has a
 * zone (queue-service §4.3 and §7.5). Undefined for any other text.
 */
export function parseUtcTime(text: string): bigint | undefined {
  return utcTime.test(text) ? parseDateTime(text) : undefined;
}

const secondsMin = Number(dateTimeMin / ticksPerSecond);
const secondsMax = Number(dateTimeMax / ticksPerSecond);

/** Whether a property can hold an instant. */
export function isInRange({ seconds }: Instant): boolean {
  return seconds >= secondsMin && seconds <= secondsMax;
}

interface TimeOfDay {
  readonly seconds: number;
  /** 100 ns units. */
  readonly fraction: number;
  readonly end: number;
}

const dateLength = 10;
/** The end of the seconds in the text. */
const secondsEnd = 19;

function isDateSeparator(code: number): boolean {
  return code === 0x54 || code === 0x74;
}

function parseTimeOfDay(text: string): TimeOfDay | undefined {
  if (!isDateSeparator(text.charCodeAt(dateLength))) {
    return { seconds: 0, fraction: 0, end: dateLength };
  }
  const hour = digitsAt(text, 11, 2);
  const minute = digitsAt(text, 14, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return undefined;
  if (text.charCodeAt(13) !== 0x3a) return undefined;
  const seconds = hour * 3600 + minute * 60;
  if (text.charCodeAt(16) !== 0x3a) return { seconds, fraction: 0, end: 16 };
  const second = digitsAt(text, 17, 2);
  if (second < 0 || second > 59) return undefined;
  if (text.charCodeAt(19) !== 0x2e) return { seconds: seconds + second, fraction: 0, end: 19 };
  return parseFraction(text, seconds + second);
}

function parseFraction(text: string, seconds: number): TimeOfDay | undefined {
  const start = 20;
  let fraction = 0;
  let at = start;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    if (at - start < 7) fraction = fraction * 10 + digit;
    else if (digit !== 0) return undefined;
  }
  if (at === start) return undefined;
  for (let digits = at - start; digits < 7; digits++) fraction *= 10;
  return { seconds, fraction, end: at };
}

/** The zone offset in seconds east of UTC; undefined when it is malformed. */
function parseOffset(text: string, at: number): number | undefined {
  const rest = text.length - at;
  if (rest === 0) return 0;
  const sign = text.charCodeAt(at);
  if (rest === 1) return sign === 0x5a || sign === 0x7a ? 0 : undefined;
  if (rest !== 6 || text.charCodeAt(at + 3) !== 0x3a) return undefined;
  if (sign !== 0x2b && sign !== 0x2d) return undefined;
  const hours = digitsAt(text, at + 1, 2);
  const minutes = digitsAt(text, at + 4, 2);
  if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return undefined;
  const seconds = hours * 3600 + minutes * 60;
  return sign === 0x2d ? -seconds : seconds;
}

function writeTwoDigits(target: Uint8Array, at: number, value: number): number {
  const tens = (value / 10) | 0;
  target[at] = 48 + tens;
  target[at + 1] = 48 + value - tens * 10;
  return at + 2;
}

function writeColon(target: Uint8Array, at: number, escaped: boolean): number {
  if (!escaped) {
    target[at] = 0x3a;
    return at + 1;
  }
  target[at] = 0x25;
  target[at + 1] = 0x33;
  target[at + 2] = 0x41;
  return at + 3;
}

/**
 * Writes `yyyy-MM-ddTHH:mm:ss[.f…]Z` without trailing zeros of the fraction; returns the end.
 * `seconds` counts from 0001-01-01, `fraction` is in 100 ns units. With `escaped`, colons are
 * written as `%3A`. The target must have room for `instantBytesMax` bytes.
 */
function writeInstant(
  target: Uint8Array,
  at: number,
  seconds: number,
  fraction: number,
  escaped: boolean,
): number {
  const days = Math.floor(seconds / secondsPerDay);
  const second = seconds - days * secondsPerDay;
  const date = dateOfDays(days);
  const century = (date.year / 100) | 0;
  let end = writeTwoDigits(target, at, century);
  end = writeTwoDigits(target, end, date.year - century * 100);
  target[end++] = 0x2d;
  end = writeTwoDigits(target, end, date.month);
  target[end++] = 0x2d;
  end = writeTwoDigits(target, end, date.day);
  target[end++] = 0x54;
  const hour = (second / 3600) | 0;
  const minute = ((second - hour * 3600) / 60) | 0;
  end = writeColon(target, writeTwoDigits(target, end, hour), escaped);
  end = writeColon(target, writeTwoDigits(target, end, minute), escaped);
  end = writeTwoDigits(target, end, second - hour * 3600 - minute * 60);
  if (fraction > 0) end = writeFraction(target, end, fraction);
  target[end++] = 0x5a;
  return end;
}

/** Writes a date of a property, from seconds since 0001-01-01 and 100 ns units; returns the end. */
export function writeDateTime(
  target: Uint8Array,
  at: number,
  seconds: number,
  fraction: number,
): number {
  return writeInstant(target, at, seconds, fraction, false);
}

function writeFraction(target: Uint8Array, at: number, fraction: number): number {
  target[at] = 0x2e;
  let rest = fraction;
  let last = at;
  for (let index = at + 7; index > at; index--) {
    const next = (rest / 10) | 0;
    const digit = rest - next * 10;
    if (digit !== 0 && last === at) last = index;
    target[index] = 48 + digit;
    rest = next;
  }
  return last + 1;
}

/**
 * The seventh fraction digit of a version's instant: 1 to 9, so that each Timestamp has seven
 * digits and no trailing zero. Versions are microseconds, because ticks since 1970 exceed the safe
 * integers; the added digit keeps instants distinct and in the order of versions.
 */
function seventhDigit(version: number): number {
  const seconds = Math.floor(version / 1_000_000);
  return seventhDigitOf(seconds, version - seconds * 1_000_000);
}

/** Uses the digit sum: 10 ≡ 1 (mod 9), so the sum has the same remainder as the version. */
function seventhDigitOf(seconds: number, micros: number): number {
  const sum = seconds + micros;
  // Not `%`, which calls the system's library for numbers beyond 32 bits.
  return 1 + (sum - 9 * Math.floor(sum / 9));
}

/** The instant that represents a version in ETags, Timestamps and filters, in ticks. */
export function ticksOfVersion(version: number): bigint {
  return ticksFromMicros(version) + BigInt(seventhDigit(version));
}

/** The version that an instant represents; undefined when there is none. */
export function versionOfTicks(ticks: bigint): number | undefined {
  const sinceEpoch = ticks - ticksFromMicros(0);
  if (sinceEpoch < 0n) return undefined;
  const version = Number(sinceEpoch / 10n);
  return ticksOfVersion(version) === ticks ? version : undefined;
}

/** Writes an entity's Timestamp from its version, in microseconds since 1970; returns the end. */
export function writeTimestamp(
  target: Uint8Array,
  at: number,
  version: number,
  escaped: boolean,
): number {
  const seconds = Math.floor(version / 1_000_000);
  const micros = version - seconds * 1_000_000;
  const fraction = micros * 10 + seventhDigitOf(seconds, micros);
  const end = writeSecond(target, at, seconds, escaped);
  const fractionEnd = writeFraction(target, end, fraction);
  target[fractionEnd] = 0x5a;
  return fractionEnd + 1;
}

/** The text of a second without its `Z`. */
interface SecondText {
  readonly bytes: Uint8Array;
  length: number;
  /** Since 1970. */
  seconds: number;
}

/** The last ones written, plain and escaped: rows of a page tend to be of the same second. */
const plainSecond: SecondText = newSecondText();
const escapedSecond: SecondText = newSecondText();

function newSecondText(): SecondText {
  return { bytes: new Uint8Array(instantBytesMax), length: 0, seconds: Number.NaN };
}

function writeSecond(target: Uint8Array, at: number, seconds: number, escaped: boolean): number {
  const text = escaped ? escapedSecond : plainSecond;
  if (text.seconds !== seconds) {
    const end = writeInstant(text.bytes, 0, seconds + secondsToUnixEpoch, 0, escaped);
    text.length = end - 1;
    text.seconds = seconds;
  }
  const { bytes, length } = text;
  for (let index = 0; index < length; index++) target[at + index] = bytes[index] ?? 0;
  return at + length;
}

/**
 * Writes the instant of ticks given as two 32-bit halves, without bigints; returns the end. For
 * ticks from 0 to `dateTimeMax`.
 */
export function writeTicks(target: Uint8Array, at: number, high: number, low: number): number {
  // 2^32 = 429 * 10^7 + 4,967,296, and both sums below stay under 2^53.
  const rest = high * 4_967_296 + low;
  const carried = Math.floor(rest / 10_000_000);
  return writeInstant(target, at, high * 429 + carried, rest - carried * 10_000_000, false);
}

const scratch = Buffer.alloc(instantBytesMax);

/** The text of a property's value; ticks from 0 to `dateTimeMax`. */
export function formatDateTime(ticks: bigint): string {
  const seconds = Number(ticks / ticksPerSecond);
  const fraction = Number(ticks % ticksPerSecond);
  return scratch.toString('latin1', 0, writeInstant(scratch, 0, seconds, fraction, false));
}

/** Ticks as text with exactly seven fraction digits, for error bodies and access policies. */
export function formatFullDateTime(ticks: bigint): string {
  const text = formatDateTime(ticks);
  return `${text.slice(0, secondsEnd)}.${text.slice(secondsEnd + 1, -1).padEnd(7, '0')}Z`;
}

/** An entity's Timestamp from its version, in microseconds since 1970. */
export function formatTimestamp(version: number): string {
  return scratch.toString('latin1', 0, writeTimestamp(scratch, 0, version, false));
}

/** The version as in an ETag: the Timestamp with colons as `%3A`. */
export function formatEscapedTimestamp(version: number): string {
  return scratch.toString('latin1', 0, writeTimestamp(scratch, 0, version, true));
}

export function ticksFromMicros(micros: number): bigint {
  return BigInt(micros) * 10n + BigInt(secondsToUnixEpoch) * ticksPerSecond;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** `MM/dd/yyyy HH:mm:ss`, for the message about a date out of range. */
export function formatUsDateTime(ticks: bigint): string {
  const daysAndTime = Number(ticks / ticksPerSecond);
  const days = Math.floor(daysAndTime / secondsPerDay);
  const second = daysAndTime - days * secondsPerDay;
  const { year, month, day } = dateOfDays(days);
  const date = `${twoDigits(month)}/${twoDigits(day)}/${String(year).padStart(4, '0')}`;
  const minute = Math.floor(second / 60);
  return `${date} ${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}:${twoDigits(second % 60)}`;
}
