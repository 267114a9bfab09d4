import { nameOfBytes, type Bytes } from '../../base/bytes.js';

/** More are forgotten altogether: they only save time. */
const runsMax = 1_024;

/** From `start` up to and without `end`; as names, whose order is that of the keys. */
interface Run {
  readonly start: string;
  end: string;
  endKey: Bytes;
}

/**
 * Parts of the key space in which nothing is left. The base may still hold what was deleted there,
 * and a range that begins in such a part need not read it: the oldest messages of a queue are where
 * every search begins, and where messages are deleted.
 */
export class DeadRuns {
  /** In order; no two overlap. */
  #runs: Run[] = [];
  #revivals = 0;

  /** How many puts there were. A range that saw the same number before and after saw no other. */
  get revivals(): number {
    return this.#revivals;
  }

  /** Where a range may begin instead of `start`: there is no key in between. */
  startOf(start: Bytes): Bytes {
    if (this.#runs.length === 0) return start;
    const name = nameOfBytes(start);
    const run = this.#runs[this.#lastFrom(name)];
    return run !== undefined && name < run.end ? run.endKey : start;
  }

  /** There is no key from `start` up to and without `end`. */
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
    // What it touches becomes part of it.
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

  /** The key is put. `name`: its own, if known. */
  revive(key: Bytes, name = nameOfBytes(key)): void {
    this.#revivals += 1;
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

  /** Whatever was known may be wrong. */
  clear(): void {
    this.#revivals += 1;
    this.#runs = [];
  }

  /** Of the last run that begins at or before the name; -1 when none does. */
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
