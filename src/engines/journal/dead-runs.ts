import { compareBytes, nameOfBytes, type Bytes } from '../../base/bytes.js';

/** When there are more runs, all are forgotten: they only save time. */
const runsMax = 1_024;

/** From `start` to before `end`: names of keys, which sort as the keys do. */
interface Run {
  readonly start: string;
  end: string;
  endKey: Bytes;
}

/** A read of a range that is under way. */
interface Search {
  readonly start: Bytes;
  /** The first key from `start` on that was put meanwhile. */
  firstPut: Bytes | undefined;
}

/** What a read of a range has found. */
interface SearchedRange {
  /** No key existed from the start of the range to before this one, when the read began. */
  readonly deadUpTo?: Bytes | undefined;
}

/**
 * Runs of keys that were all deleted. The base may still hold their entries, and a range that
 * begins in such a run can skip them. This matters for queues: every search begins at the oldest
 * message, which is where messages are deleted.
 */
export class DeadRuns {
  /** In key order, without overlaps. */
  #runs: Run[] = [];
  readonly #searches = new Set<Search>();

  /** Records the run that a read of a range from `start` on finds, up to what is put meanwhile. */
  async during<Result extends SearchedRange>(
    start: Bytes,
    read: () => Promise<Result>,
  ): Promise<Result> {
    const search: Search = { start, firstPut: undefined };
    this.#searches.add(search);
    try {
      const found = await read();
      const { deadUpTo } = found;
      if (deadUpTo !== undefined) this.note(start, earlierOf(deadUpTo, search.firstPut));
      return found;
    } finally {
      this.#searches.delete(search);
    }
  }

  /** A later start for a range, with no existing key in between; or `start`. */
  startOf(start: Bytes): Bytes {
    if (this.#runs.length === 0) return start;
    const name = nameOfBytes(start);
    const run = this.#runs[this.#lastFrom(name)];
    return run !== undefined && name < run.end ? run.endKey : start;
  }

  /** Records that no key exists from `start` to before `end`. */
  note(start: Bytes, end: Bytes): void {
    const run: Run = {
      start: nameOfBytes(start),
      end: nameOfBytes(end),
      endKey: Buffer.from(end),
    };
    if (run.start >= run.end) return;
    if (this.#runs.length >= runsMax) this.#runs = [];
    const before = this.#lastFrom(run.start);
    const joined = this.#runs[before];
    // Merges the runs that the new one touches.
    const from = joined !== undefined && joined.end >= run.start ? before : before + 1;
    let to = from;
    for (let next = this.#runs[to]; next !== undefined && next.start <= run.end;) {
      if (next.end > run.end) ({ end: run.end, endKey: run.endKey } = next);
      to += 1;
      next = this.#runs[to];
    }
    const start0 = this.#runs[from]?.start;
    const first = to > from && start0 !== undefined && start0 < run.start ? start0 : run.start;
    this.#runs.splice(from, to - from, { ...run, start: first });
  }

  /** Called when a key is put. `name`: `nameOfBytes` of the key. */
  revive(key: Bytes, name = nameOfBytes(key)): void {
    for (const search of this.#searches) notePut(search, key);
    if (this.#runs.length === 0) return;
    const at = this.#lastFrom(name);
    const run = this.#runs[at];
    if (run === undefined || name >= run.end) return;
    if (name === run.start) {
      this.#runs.splice(at, 1);
      return;
    }
    run.end = name;
    run.endKey = Buffer.from(key);
  }

  /** Forgets all runs, and what is being searched. */
  clear(): void {
    for (const search of this.#searches) search.firstPut = search.start;
    this.#runs = [];
  }

  /** The index of the last run that begins at or before the name; -1 when none does. */
  #lastFrom(name: string): number {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const run = this.#runs[middle];
      if (run !== undefined && run.start <= name) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function notePut(search: Search, key: Bytes): void {
  const { start, firstPut } = search;
  if (compareBytes(key, start) < 0) return;
  if (firstPut === undefined || compareBytes(key, firstPut) < 0) search.firstPut = Buffer.from(key);
}

function earlierOf(key: Bytes, other: Bytes | undefined): Bytes {
  return other !== undefined && compareBytes(other, key) < 0 ? other : key;
}
