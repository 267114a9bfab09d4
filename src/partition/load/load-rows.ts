import type { Bytes } from '../../base/bytes.js';
import { StoreDamagedError } from '../../kv/errors.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import type { MeasuredRange } from './range-meter.js';

/** Ranges in the row of one process, at most: those with the most calls. */
const publishedRanges = 1_000;
/** Rates are stored as whole numbers. */
const perUnit = 1_000;

/** The measures of one process as it publishes them. */
export function encodeLoadRow(ranges: readonly MeasuredRange[]): Bytes {
  const most = ranges
    .toSorted((left, right) => callsOf(right) - callsOf(left))
    .slice(0, publishedRanges);
  const fields = most.flatMap((range): TupleElement[] => [
    range.id,
    stored(range.readsPerSecond),
    stored(range.writesPerSecond),
    stored(range.longCallsPerSecond),
    encodeTuple(range.accessed),
  ]);
  return encodeTuple(fields);
}

export function decodeLoadRow(value: Bytes): readonly MeasuredRange[] {
  const fields = decodeTuple(value);
  const ranges: MeasuredRange[] = [];
  for (let at = 0; at < fields.length; at += 5) {
    const [id, reads, writes, long, accessed] = fields.slice(at, at + 5);
    const isSound =
      typeof id === 'number' &&
      typeof reads === 'number' &&
      typeof writes === 'number' &&
      typeof long === 'number' &&
      typeof accessed === 'object';
    if (!isSound) throw new StoreDamagedError('A row of loads does not have its form.');
    ranges.push({
      id,
      readsPerSecond: reads / perUnit,
      writesPerSecond: writes / perUnit,
      longCallsPerSecond: long / perUnit,
      accessed: decodeTuple(accessed).filter((each) => typeof each === 'object'),
    });
  }
  return ranges;
}

function callsOf({ readsPerSecond, writesPerSecond }: MeasuredRange): number {
  return readsPerSecond + writesPerSecond;
}

function stored(rate: number): number {
  return Math.round(rate * perUnit);
}
