import type { Timers } from '../../base/async/timers.js';
import { compareBytes, type Bytes } from '../../base/bytes.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Members } from '../members.js';
import { dataOf, type RangeMap } from '../range-map.js';
import { answeredSample } from '../reach.js';
import type { RangeRow } from '../rows.js';

export interface RangeSize {
  readonly keys: number;
  readonly bytes: number;
  /** A partition prefix near the middle of the bytes; undefined when there is none. */
  readonly cut: Bytes | undefined;
}

/** The number of cuts in a sample: odd, so that one is in the middle. */
const cuts = 7;
/**
 * A range is not measured again before this time, in milliseconds, because that reads all of it.
 */
const freshMs = 900_000;
/** A size counts as unchanged until the range has had so many writes, or so many bytes of them. */
const writesMin = 10_000;
const bytesMin = 64 << 20;

interface MeasuredSize extends RangeSize {
  readonly takenMs: number;
  writes: number;
  bytesWritten: number;
}

/** Writes of a range. */
export interface RangeWrites {
  readonly writes: number;
  readonly bytes: number;
}

interface Measuring {
  readonly members: Members;
  readonly timers: Timers;
  readonly nowMs: number;
}

/** After a failure a range is not measured again before this time, in milliseconds. */
const triedAgainMs = 60_000;

/** The sizes of ranges as they were last measured. */
export class RangeSizes {
  readonly #sizes = new Map<number, MeasuredSize>();
  /** When a measurement began that has failed or has not ended yet. */
  readonly #failedMs = new Map<number, number>();

  of(id: number): RangeSize | undefined {
    return this.#sizes.get(id);
  }

  /** Adds the writes of a range since the last call. */
  noteWrites(id: number, { writes, bytes }: RangeWrites): void {
    const size = this.#sizes.get(id);
    if (size === undefined) return;
    size.writes += writes;
    size.bytesWritten += bytes;
  }

  /**
   * The ranges whose size is unknown or has probably changed, in the order in which to measure
   * them.
   */
  due(map: RangeMap, nowMs: number): readonly RangeRow[] {
    for (const id of this.#sizes.keys()) if (map.byId(id) === undefined) this.#sizes.delete(id);
    for (const id of this.#failedMs.keys())
      if (map.byId(id) === undefined) this.#failedMs.delete(id);
    return map.ranges.filter(({ id, operation }) => operation === 0 && this.#isDue(id, nowMs));
  }

  /**
   * Measures a range, which reads all of it. After a failure the range is not due for a while.
   * Rejects with `StoreUnavailableError` when its store is silent.
   */
  async take(range: RangeRow, { members, timers, nowMs }: Measuring): Promise<void> {
    this.#failedMs.set(range.id, nowMs);
    const part = { range: dataOf(range), cuts };
    const { store } = range;
    const sample = await answeredSample(members.named(store), part, { store, timers });
    this.#failedMs.delete(range.id);
    const prefixes = sample.cuts.map((key) => key.subarray(0, partitionPrefixLength(key)));
    const inside = prefixes.filter((prefix) => compareBytes(prefix, range.start) > 0);
    const cut = inside.toSorted((left, right) => offset(prefixes, left) - offset(prefixes, right));
    const size = { keys: sample.keys, bytes: sample.bytes, cut: cut[0] };
    this.#sizes.set(range.id, { ...size, takenMs: nowMs, writes: 0, bytesWritten: 0 });
  }

  #isDue(id: number, nowMs: number): boolean {
    const failedMs = this.#failedMs.get(id);
    if (failedMs !== undefined && nowMs - failedMs < triedAgainMs) return false;
    const size = this.#sizes.get(id);
    if (size === undefined) return true;
    const isChanged = size.writes >= writesMin || size.bytesWritten >= bytesMin;
    return isChanged && nowMs - size.takenMs >= freshMs;
  }
}

/** How far a cut is from the middle. */
function offset(prefixes: readonly Bytes[], prefix: Bytes): number {
  return Math.abs(prefixes.indexOf(prefix) - (prefixes.length - 1) / 2);
}
