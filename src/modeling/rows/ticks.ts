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

/** Exact: a date of JavaScript is a whole number of milliseconds. */
export function ticksOfDate(date: Date): bigint {
  return BigInt(date.getTime()) * ticksPerMillisecond + unixEpochTicks;
}

/** Cuts off what is finer than a millisecond, towards the past. */
export function dateOfTicks(ticks: bigint): Date {
  const sinceEpoch = ticks - unixEpochTicks;
  const rest = ((sinceEpoch % ticksPerMillisecond) + ticksPerMillisecond) % ticksPerMillisecond;
  return new Date(Number((sinceEpoch - rest) / ticksPerMillisecond));
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
  const match = isoPattern.exec(text);
  if (match === null) return undefined;
  const [, date = '', minutes = '00:00', seconds = '00', fraction = '', zone = 'Z'] = match;
  const millis = Date.parse(`${date}T${minutes}:${seconds}Z`);
  // Date.parse lets 30 February pass as 1 March in some engines.
  if (Number.isNaN(millis) || !new Date(millis).toISOString().startsWith(date)) return undefined;
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
  const fraction = (ticks % 10_000_000n).toString().padStart(7, '0').replace(/0+$/, '');
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}
