import { compareBytes, equalBytes, type Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import type { KeyRange } from '../kv/store.js';
import { storeKeys } from './keys.js';
import type { RangeRow } from './rows.js';

/** The ranges of a key space in key order. Immutable. */
export class RangeMap {
  readonly ranges: readonly RangeRow[];
  /** Made on first use. */
  #byId: ReadonlyMap<number, RangeRow> | undefined;

  private constructor(ranges: readonly RangeRow[]) {
    this.ranges = ranges;
  }

  /** Undefined when the ranges leave a gap, overlap, or do not reach both ends. */
  static of(rows: readonly RangeRow[]): RangeMap | undefined {
    const ranges = rows.toSorted((left, right) => compareBytes(left.start, right.start));
    let reached: Bytes | undefined = Buffer.alloc(0);
    for (const { start, end } of ranges) {
      if (reached === undefined || !equalBytes(start, reached)) return undefined;
      if (end !== undefined && compareBytes(start, end) >= 0) return undefined;
      reached = end;
    }
    return reached === undefined ? new RangeMap(Object.freeze(ranges)) : undefined;
  }

  /** The range that a key is in. */
  at(key: Bytes): RangeRow {
    return this.#rangeAt(this.#startsNotAfter(key) - 1);
  }

  /** The range that has the last keys before a bound. */
  before(end: Bytes): RangeRow {
    const index = this.#startsNotAfter(end) - 1;
    const startsHere = equalBytes(this.#rangeAt(index).start, end);
    return this.#rangeAt(startsHere && index > 0 ? index - 1 : index);
  }

  /** The ranges that have keys of an interval, in key order. */
  within({ start, end }: KeyRange): readonly RangeRow[] {
    const found: RangeRow[] = [];
    for (let index = this.#startsNotAfter(start) - 1; index < this.ranges.length; index += 1) {
      const range = this.#rangeAt(index);
      if (end !== undefined && compareBytes(range.start, end) >= 0) break;
      found.push(range);
    }
    return found;
  }

  byId(id: number): RangeRow | undefined {
    this.#byId ??= new Map(this.ranges.map((range) => [range.id, range]));
    return this.#byId.get(id);
  }

  /** The map with a newer row of a range. Bounds stay as they are. */
  with(row: RangeRow): RangeMap {
    return new RangeMap(this.ranges.map((range) => (range.id === row.id ? row : range)));
  }

  /**
   * The map with these ranges in place of those that they cover; undefined when they do not fit.
   */
  withInstead(rows: readonly RangeRow[]): RangeMap | undefined {
    const first = rows.toSorted((left, right) => compareBytes(left.start, right.start))[0];
    const last = rows.toSorted((left, right) => compareEnds(left.end, right.end)).at(-1);
    if (first === undefined || last === undefined) return undefined;
    const isOutside = ({ start, end }: RangeRow) =>
      compareEnds(end, first.start) <= 0 || compareEnds(start, last.end) >= 0;
    return RangeMap.of([...this.ranges.filter(isOutside), ...rows]);
  }

  /** How many ranges start at the key or before it: at least one. */
  #startsNotAfter(key: Bytes): number {
    let low = 1;
    let high = this.ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(this.#rangeAt(middle).start, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #rangeAt(index: number): RangeRow {
    const range = this.ranges[index];
    invariant(range !== undefined, 'a map of ranges covers every key');
    return range;
  }
}

/**
 * The keys of data in a range. Keys of the store itself are left out, whatever the bounds are: a
 * move or deletion of a range must not touch guards.
 */
export function dataOf({ start, end }: Pick<RangeRow, 'start' | 'end'>): Required<KeyRange> {
  return { start: withinData(start), end: withinData(end) };
}

function withinData(bound: Bytes | undefined): Bytes {
  const isWithin = bound !== undefined && compareBytes(bound, storeKeys.start) < 0;
  return isWithin ? bound : storeKeys.start;
}

/** The intersection of two intervals; undefined when it is empty. */
export function sharedPart(left: KeyRange, right: KeyRange): KeyRange | undefined {
  const start = compareBytes(left.start, right.start) >= 0 ? left.start : right.start;
  const end = earlier(left.end, right.end);
  if (end === undefined) return { start };
  return compareBytes(start, end) < 0 ? { start, end } : undefined;
}

/** An absent end is behind every key. */
function compareEnds(left: Bytes | undefined, right: Bytes | undefined): number {
  if (left === undefined || right === undefined) {
    return Number(left === undefined) - Number(right === undefined);
  }
  return compareBytes(left, right);
}

function earlier(left: Bytes | undefined, right: Bytes | undefined): Bytes | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return compareBytes(left, right) <= 0 ? left : right;
}
