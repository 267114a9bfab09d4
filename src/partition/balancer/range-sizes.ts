import { compareBytes, type Bytes } from '../../base/bytes.js';
import type { MemberStore } from '../../kv/member-store.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import { dataOf, type RangeMap } from '../range-map.js';
import type { RangeRow } from '../rows.js';

export interface RangeSize {
  readonly keys: number;
  readonly bytes: number;
  /** A partition prefix about in the middle of the bytes; undefined when there is none. */
  readonly cut: Bytes | undefined;
}

/** Cuts that are asked for: an odd number, so that one is in the middle. */
const cuts = 7;
/** A size is not taken again before this time, in milliseconds: taking it reads the range. */
const freshMs = 900_000;
/** A size counts as unchanged until the range has had this many writes. */
const writesMin = 10_000;

interface Taken extends RangeSize {
  readonly takenMs: number;
  writes: number;
}

/** The sizes of ranges. Each look takes the size of one range again. */
export class RangeSizes {
  readonly #sizes = new Map<number, Taken>();

  of(id: number): RangeSize | undefined {
    return this.#sizes.get(id);
  }

  /** Writes that were measured since the last time. */
  noteWrites(id: number, writes: number): void {
    const size = this.#sizes.get(id);
    if (size !== undefined) size.writes += writes;
  }

  /** Takes the size of the range that needs it most; reads all of that range. */
  async takeOne(
    map: RangeMap,
    storeOf: (range: RangeRow) => MemberStore,
    nowMs: number,
  ): Promise<void> {
    for (const id of this.#sizes.keys()) if (map.byId(id) === undefined) this.#sizes.delete(id);
    const due = map.ranges.find(({ id, operation }) => operation === 0 && this.#isDue(id, nowMs));
    if (due === undefined) return;
    const sample = await storeOf(due).sample(dataOf(due), cuts);
    const prefixes = sample.cuts.map((key) => key.subarray(0, partitionPrefixLength(key)));
    const inside = prefixes.filter((prefix) => compareBytes(prefix, due.start) > 0);
    const cut = inside.toSorted((left, right) => offset(prefixes, left) - offset(prefixes, right));
    const size = { keys: sample.keys, bytes: sample.bytes, cut: cut[0] };
    this.#sizes.set(due.id, { ...size, takenMs: nowMs, writes: 0 });
  }

  #isDue(id: number, nowMs: number): boolean {
    const size = this.#sizes.get(id);
    if (size === undefined) return true;
    return size.writes >= writesMin && nowMs - size.takenMs >= freshMs;
  }
}

/** How far a cut is from the middle. */
function offset(prefixes: readonly Bytes[], prefix: Bytes): number {
  return Math.abs(prefixes.indexOf(prefix) - (prefixes.length - 1) / 2);
}
