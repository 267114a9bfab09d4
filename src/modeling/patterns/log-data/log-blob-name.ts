import { ValueError } from '../../rows/model-error.js';
import { isoOfTicks, ticksOfIso, ticksPerMillisecond } from '../../rows/ticks.js';

/**
 * Names of log blobs: `queue/2014/07/31/1800/000001.log` is the first blob of the source `queue`
 * with records of the hour from 18:00 UTC. Names sort by hour, and within it by sequence.
 */
export interface LogBlobName {
  /**
   * The name of the program or component that writes the log: path segments such as `queue` or
   * `shop/orders`.
   */
  readonly source: string;
  /** Ticks of the beginning of the hour. */
  readonly hour: bigint;
  /** From 1. Six digits in the name, more when there are more. */
  readonly sequence: number;
}

/** The maximum number of blobs per source and hour: what six digits can number in order. */
export const sequenceMax = 999_999;

const ticksPerHour = 3_600_000n * ticksPerMillisecond;
const pattern = /^(.+)\/(\d{4})\/(\d\d)\/(\d\d)\/(\d\d)00\/(\d{6})\.log$/;
const sourcePattern = /^[A-Za-z0-9_$.-]+(\/[A-Za-z0-9_$.-]+)*$/;

/** Throws `ValueError` for a source that could not be parsed from a name. */
export function checkSource(source: string): void {
  if (sourcePattern.test(source) && source.length <= 200) return;
  throw new ValueError(
    `'${source}' is no source of a log: segments of letters, digits and _$.- with / between them`,
  );
}

/** The start of the hour of an instant, in ticks. */
export function hourOf(ticks: bigint): bigint {
  return ticks - (ticks % ticksPerHour);
}

/** `source/yyyy/MM/dd/HH00`: the prefix of the names of an hour's blobs. */
export function hourPrefix(source: string, ticks: bigint): string {
  return `${dayPrefix(source, ticks)}/${isoOfTicks(ticks).slice(11, 13)}00`;
}

function dayPrefix(source: string, ticks: bigint): string {
  return `${source}/${isoOfTicks(ticks).slice(0, 10).replaceAll('-', '/')}`;
}

export function logBlobName({ source, hour, sequence }: LogBlobName): string {
  return `${hourPrefix(source, hour)}/${String(sequence).padStart(6, '0')}.log`;
}

/** Undefined for other names. */
export function parseLogBlobName(name: string): LogBlobName | undefined {
  const [, source = '', year, month, day, hour, sequence] = pattern.exec(name) ?? [];
  const ticks = ticksOfIso(`${year}-${month}-${day}T${hour}:00Z`);
  return ticks === undefined ? undefined : { source, hour: ticks, sequence: Number(sequence) };
}

/**
 * Prefixes, in order and without overlap, of all blobs whose hours overlap the time from `from` to
 * before `to` (ticks). A whole month or day takes one prefix, so that a long time takes few
 * listings.
 */
export function* logPrefixes(source: string, from: bigint, to: bigint): Generator<string> {
  for (let hour = hourOf(from); hour < to;) {
    const { prefix, end } = widestPrefix(source, hour, to);
    yield prefix;
    hour = end;
  }
}

interface CoveringPrefix {
  readonly prefix: string;
  /** The start of the next prefix's time. */
  readonly end: bigint;
}

function widestPrefix(source: string, hour: bigint, to: bigint): CoveringPrefix {
  const text = isoOfTicks(hour);
  const day = dayPrefix(source, hour);
  const nextMonth = startOfNextMonth(text);
  if (text.slice(8, 13) === '01T00' && nextMonth <= to) {
    return { prefix: day.slice(0, -2), end: nextMonth };
  }
  const nextDay = hour + 24n * ticksPerHour;
  if (text.slice(11, 13) === '00' && nextDay <= to) return { prefix: `${day}/`, end: nextDay };
  return { prefix: `${hourPrefix(source, hour)}/`, end: hour + ticksPerHour };
}

function startOfNextMonth(iso: string): bigint {
  const year = Number(iso.slice(0, 4));
  const month = Number(iso.slice(5, 7));
  const next = month === 12 ? [year + 1, 1] : [year, month + 1];
  const [nextYear, nextMonth] = next.map((part) => String(part));
  const text = `${nextYear?.padStart(4, '0')}-${nextMonth?.padStart(2, '0')}-01`;
  // There is no instant after December 9999.
  return ticksOfIso(text) ?? 2n ** 63n;
}
