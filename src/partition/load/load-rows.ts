import type { Bytes } from '../../base/bytes.js';
import { StoreDamagedError } from '../../kv/errors.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import { callsPerSecond, type MeasuredRange } from './range-meter.js';

/** Ranges in the row of one process, at most: those with the most calls. */
const publishedRanges = 1_000;
/** Bytes of sampled prefixes in the row, at most; ranges with fewer calls go without them. */
const sampledBytesMax = 1 << 20;
/** Rates are stored as whole numbers. */
const perUnit = 1_000;
const fieldsEach = 8;

/** The measures of one process as it publishes them. */
export function encodeLoadRow(ranges: readonly MeasuredRange[]): Bytes {
  const most = ranges
    .toSorted((left, right) => callsPerSecond(right) - callsPerSecond(left))
    .slice(0, publishedRanges);
  let bytesLeft = sampledBytesMax;
  const sampleOf = (accessed: readonly Bytes[]): readonly Bytes[] => {
    bytesLeft -= accessed.reduce((sum, { length }) => sum + length, 0);
    return bytesLeft < 0 ? [] : accessed;
  };
  const fields = most.flatMap((range): TupleElement[] => [
    range.id,
    stored(range.readsPerSecond),
    stored(range.writesPerSecond),
    stored(range.longCallsPerSecond),
    stored(range.bytesReadPerSecond),
    stored(range.bytesWrittenPerSecond),
    stored(range.callMsPerSecond),
    encodeTuple(sampleOf(range.accessed)),
  ]);
  return encodeTuple(fields);
}

export function decodeLoadRow(value: Bytes): readonly MeasuredRange[] {
  const fields = decodeTuple(value);
  const ranges: MeasuredRange[] = [];
  for (let at = 0; at < fields.length; at += fieldsEach) {
    const [id, reads, writes, long, read, written, ms, accessed] = fields.slice(
      at,
      at + fieldsEach,
    );
    const isSound =
      typeof id === 'number' &&
      typeof reads === 'number' &&
      typeof writes === 'number' &&
      typeof long === 'number' &&
      typeof read === 'number' &&
      typeof written === 'number' &&
      typeof ms === 'number' &&
      typeof accessed === 'object';
    if (!isSound) throw new StoreDamagedError('A row of loads does not have its form.');
    ranges.push({
      id,
      readsPerSecond: reads / perUnit,
      writesPerSecond: writes / perUnit,
      longCallsPerSecond: long / perUnit,
      bytesReadPerSecond: read / perUnit,
      bytesWrittenPerSecond: written / perUnit,
      callMsPerSecond: ms / perUnit,
      accessed: decodeTuple(accessed).filter((each) => typeof each === 'object'),
    });
  }
  return ranges;
}

function stored(rate: number): number {
  return Math.round(rate * perUnit);
}
