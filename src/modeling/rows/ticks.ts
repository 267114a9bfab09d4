/**
 * Instants as ticks: 100 ns units since 0001-01-01T00:00:00Z in the proleptic Gregorian calendar,
 * the resolution and the epoch of the service's dates.
 */

export const ticksPerMillisecond = 10_000n;
/** 1970-01-01T00:00:00Z. */
export const unixEpochTicks = 621_355_968_000_000_000n;
/** 9999-12-31T23:59:59.9999999Z, the last instant that has a text. */
export const ticksMax = 3_155_378_975_999_999_999n;
/** 1601-01-01T00:00:00Z, the first instant that the service stores. */
export const storableTicksMin = 504_911_232_000_000_000n;

/** Exact: a `Date` is a whole number of milliseconds. */
export function ticksOfDate(date: Date): bigint {
  return BigInt(date.getTime()) * ticksPerMillisecond + unixEpochTicks;
}

const unixEpochMilliseconds = Number(unixEpochTicks / ticksPerMillisecond);

/** Rounds down to a millisecond. */
export function dateOfTicks(ticks: bigint): Date {
  return new Date(Number(ticks / ticksPerMillisecond) - unixEpochMilliseconds);
}

/** From a clock's microseconds since 1970. */
export function ticksOfMicros(micros: number): bigint {
  return BigInt(Math.floor(micros)) * 10n + unixEpochTicks;
}

const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,7})0*)?)?)?(Z|[+-]\d{2}:\d{2})?$/;

/**
 * Reads `yyyy-MM-dd[THH:mm[:ss[.fffffff]]][Z|±hh:mm]`; without a zone the text is UTC. Undefined
 * when the text is something else, is no day of the calendar or is outside 0001 to 9999.
 */
export function ticksOfIso(text: string): bigint | undefined {
  const midnight = text.endsWith('Z') ? midnightMs(text) : NaN;
  const seconds = Number.isNaN(midnight) ? -1 : secondsOfDay(text);
  if (seconds < 0) return ticksOfAnyIso(text);
  const fraction = text.length > 20 ? Number(text.slice(20, -1).padEnd(7, '0')) : 0;
  return BigInt(midnight / 1000 + seconds + epochSeconds) * 10_000_000n + BigInt(fraction);
}

const epochSeconds = Number(unixEpochTicks / 10_000_000n);
const daysInMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Milliseconds from 1970 to the `yyyy-MM-dd` that the text begins with; NaN when it is no date. */
function midnightMs(text: string): number {
  if (text.charCodeAt(4) !== 0x2d || text.charCodeAt(7) !== 0x2d) return NaN;
  const century = twoDigitsAt(text, 0);
  const year = century < 0 ? -1 : century * 100 + twoDigitsAt(text, 2);
  const month = twoDigitsAt(text, 5);
  const day = twoDigitsAt(text, 8);
  if (twoDigitsAt(text, 2) < 0 || year < 1 || day < 1) return NaN;
  if (day > (daysInMonth[month - 1] ?? 0)) return NaN;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2 && day === 29 && !isLeap) return NaN;
  // Date.UTC reads the years 0 to 99 as 1900 to 1999; 400 years are 146,097 days.
  return Date.UTC(year + 400, month - 1, day) - 146_097 * 86_400_000;
}

/** The seconds of the `THH:mm:ss` after a date, before at most 7 digits; -1 for other texts. */
function secondsOfDay(text: string): number {
  if (text.charCodeAt(10) !== 0x54 || text.charCodeAt(13) !== 0x3a) return -1;
  if (text.charCodeAt(16) !== 0x3a || text.length > 28) return -1;
  if (text.length !== 20 && (text.charCodeAt(19) !== 0x2e || text.length < 22)) return -1;
  for (let index = 20; index < text.length - 1; index++) if (digitAt(text, index) < 0) return -1;
  const hours = twoDigitsAt(text, 11);
  const minutes = twoDigitsAt(text, 14);
  const seconds = twoDigitsAt(text, 17);
  const isTime = hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60 && seconds < 60;
  return isTime && seconds >= 0 ? hours * 3600 + minutes * 60 + seconds : -1;
}

function digitAt(text: string, index: number): number {
  const digit = text.charCodeAt(index) - 0x30;
  return digit >= 0 && digit <= 9 ? digit : -1;
}

function twoDigitsAt(text: string, index: number): number {
  const tens = digitAt(text, index);
  const ones = digitAt(text, index + 1);
  return tens < 0 || ones < 0 ? -1 : tens * 10 + ones;
}

function ticksOfAnyIso(text: string): bigint | undefined {
  const match = isoPattern.exec(text);
  if (match === null) return undefined;
  const [, date = '', minutes = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match;
  if (Number.isNaN(midnightMs(date))) return undefined;
  const millis = Date.parse(`${date}T${minutes}:${seconds}Z`);
  if (Number.isNaN(millis) || minutes.startsWith('24')) return undefined;
  const whole = BigInt(millis - offsetMs(zone)) * ticksPerMillisecond + unixEpochTicks;
  const ticks = whole + BigInt(fraction.padEnd(7, '0'));
  return ticks >= 0n && ticks <= ticksMax ? ticks : undefined;
}

function offsetMs(zone: string): number {
  if (zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** `yyyy-MM-ddTHH:mm:ss[.f…]Z`, the fraction without trailing zeros: the service's own form. */
export function isoOfTicks(ticks: bigint): string {
  const seconds = dateOfTicks(ticks).toISOString().slice(0, 19);
  const fraction = Number(ticks % 10_000_000n);
  if (fraction === 0) return `${seconds}Z`;
  return `${seconds}.${String(fraction).padStart(7, '0').replace(/0+$/, '')}Z`;
}
