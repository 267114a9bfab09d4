import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { Slice } from '../base/async/slice.js';
import type { Clock } from '../base/clock.js';
import type { Guarded, GuardedRangeOptions } from './guards.js';
import type { Candidate, KeyRange, RangePage, Decision } from './store.js';

export interface SampleOptions extends Guarded {
  /** Called from time to time with the number of keys that were read since the last call. */
  readonly onKeys?: (keys: number) => void;
}

export interface RangeSample {
  /** The estimated number of keys. */
  readonly keys: number;
  /** The estimated bytes of keys and values. */
  readonly bytes: number;
  /**
   * Keys of the range in order, each the first of a part. The parts have about the same bytes.
   * There are fewer when the range has fewer keys.
   */
  readonly cuts: readonly Bytes[];
}

/** Marks per cut: a cut is off by at most 1/64 of the bytes between two cuts. */
const marksEachCut = 64;
const marksMin = 256;
const cutsMax = 10_000;

/** A key, and the bytes of the range before it. */
interface Mark {
  readonly key: Bytes;
  readonly before: number;
}

/** A store whose ranges can be read under a guard. */
interface RangeReader {
  range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage>;
}

/**
 * `sample` for an engine without a better method: reads every entry of the range in slices, each
 * from its own snapshot, and copies a bounded number of keys.
 */
export async function sampleByReading(
  store: RangeReader,
  range: KeyRange,
  options: SampleOptions & { readonly cuts: number; readonly clock: Pick<Clock, 'monotonicMs'> },
): Promise<RangeSample> {
  const { cuts, clock, guard, onKeys } = options;
  invariant(Number.isInteger(cuts) && cuts >= 0 && cuts <= cutsMax, 'a number of cuts');
  const slice = new Slice(clock);
  const marks = new Marks(Math.max(marksMin, cuts * marksEachCut));
  let rest: KeyRange | undefined = range;
  while (rest !== undefined) {
    let stoppedAt: Bytes | undefined;
    let passed = 0;
    const filter = (candidate: Candidate): Decision => {
      if (passed > 0 && passed % keysBetweenLooks === 0 && slice.isOver) {
        stoppedAt = Buffer.from(candidate.key);
        return 'stop';
      }
      passed += 1;
      marks.pass(candidate);
      return 'skip';
    };
    await store.range(rest, {
      limit: 1,
      bytesMax: 0,
      filter,
      ...(guard !== undefined && { guard }),
    });
    onKeys?.(passed);
    rest = stoppedAt === undefined ? undefined : { ...range, start: stoppedAt };
    await slice.endOnTime();
  }
  return { keys: marks.keys, bytes: marks.bytes, cuts: marks.cut(cuts) };
}

/** Keys read between two looks at the clock, so that each slice makes progress. */
const keysBetweenLooks = 64;

/** Keys at even distances in bytes. When there are too many, about every second one is removed. */
class Marks {
  keys = 0;
  bytes = 0;
  readonly #countMax: number;
  #marks: Mark[] = [];
  #distance = 1;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  pass({ key, valueLength }: Candidate): void {
    const before = this.bytes;
    this.keys += 1;
    this.bytes += key.length + valueLength;
    if (!this.#isDue(before)) return;
    this.#marks.push({ key: Buffer.from(key), before });
    while (this.#marks.length > this.#countMax) this.#thin();
  }

  /** The keys nearest to the ends of even parts. No cut is before the first key of the range. */
  cut(count: number): Bytes[] {
    const cuts: Bytes[] = [];
    let at = 1;
    for (let part = 1; part <= count; part += 1, at += 1) {
      const target = (this.bytes * part) / (count + 1);
      const distanceOf = (index: number) =>
        Math.abs((this.#marks[index]?.before ?? Infinity) - target);
      while (distanceOf(at + 1) <= distanceOf(at) && at + 1 < this.#marks.length) at += 1;
      const mark = this.#marks[at];
      if (mark === undefined) break;
      cuts.push(mark.key);
    }
    return cuts;
  }

  #isDue(before: number): boolean {
    const last = this.#marks.at(-1);
    return last === undefined || before >= last.before + this.#distance;
  }

  #thin(): void {
    this.#distance *= 2;
    const marks = this.#marks;
    this.#marks = [];
    for (const mark of marks) if (this.#isDue(mark.before)) this.#marks.push(mark);
  }
}
