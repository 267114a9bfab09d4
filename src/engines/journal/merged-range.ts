import { compareBytes, type Bytes } from '../../base/bytes.js';
import type { SortedByKey } from '../../base/sorted-by-key.js';
import type {
  Candidate,
  Decision,
  Entry,
  KeyRange,
  RangeOptions,
  RangePage,
} from '../../kv/store.js';
import type { Change } from './frame-change.js';

type ReadBase = (range: KeyRange, options: RangeOptions) => Promise<RangePage>;

export interface MergedPage extends RangePage {
  /** The first existing key, when at least `deadRunMin` deleted ones come before it. */
  readonly deadUpTo?: Bytes | undefined;
}

/** The number of deletions at the beginning of a range that is worth remembering. */
const deadRunMin = 64;

/** A page of the entries of the base, after the changes of the table. */
export async function mergedRange(
  readBase: ReadBase,
  table: SortedByKey<Change>,
  range: KeyRange,
  options: RangeOptions,
): Promise<MergedPage> {
  const changes = options.reverse === true ? table.backward(range) : table.forward(range);
  const first = changes.next();
  if (first.done === true) return readBase(range, options);
  const merge = new Merge(first.value, changes, options);
  const page = await readBase(range, {
    ...options,
    // The merge applies the limits, because changes count as well.
    limit: Number.MAX_SAFE_INTEGER,
    bytesMax: Infinity,
    filter: (candidate) => merge.pass(candidate),
  });
  if (!page.more) merge.passRest();
  const { deadUpTo } = merge;
  return { entries: merge.with(page.entries), more: page.more || merge.isOver, deadUpTo };
}

/** Walks the changes beside the entries of the base, and decides which of both are in the page. */
class Merge {
  readonly #changes: Iterator<Change, void>;
  readonly #options: RangeOptions;
  readonly #sign: 1 | -1;
  #next: Change | undefined;
  /** Entries and bytes in the page so far, of the base and the table together. */
  #count = 0;
  #bytes = 0;
  #takenFromBase = 0;
  /** Entries of the table in the page. `behind`: how many of the base come before. */
  readonly #taken: { readonly entry: Entry; readonly behind: number }[] = [];

  /** Deletions before the first existing entry. */
  #leadingDeletions = 0;
  #isLeading = true;

  /** The page has ended at a limit, or where the filter stopped it. */
  isOver = false;
  /** See `MergedPage`. */
  deadUpTo: Bytes | undefined;

  constructor(first: Change, rest: Iterator<Change, void>, options: RangeOptions) {
    this.#next = first;
    this.#changes = rest;
    this.#options = options;
    this.#sign = options.reverse === true ? -1 : 1;
  }

  /** Decides about an entry of the base, after the changes that come before it. */
  pass(candidate: Candidate): Decision {
    for (;;) {
      const order = this.#next === undefined ? 1 : this.#order(this.#next.key, candidate.key);
      if (order > 0) return this.#decideOnBase(candidate);
      if (!this.#passNext()) return 'stop';
      if (order === 0) return 'skip';
    }
  }

  /** Takes the remaining changes, when the base has no more entries. */
  passRest(): void {
    while (this.#next !== undefined && this.#passNext());
  }

  /** All entries of the page, in order. `fromBase`: those of the base. */
  with(fromBase: readonly Entry[]): readonly Entry[] {
    if (this.#taken.length === 0) return fromBase;
    const entries: Entry[] = [];
    let at = 0;
    for (const { entry, behind } of this.#taken) {
      while (at < behind) {
        const passed = fromBase[at];
        if (passed !== undefined) entries.push(passed);
        at += 1;
      }
      entries.push(entry);
    }
    for (; at < fromBase.length; at += 1) {
      const left = fromBase[at];
      if (left !== undefined) entries.push(left);
    }
    return entries;
  }

  #endLead(key: Bytes): void {
    this.#isLeading = false;
    if (this.#leadingDeletions >= deadRunMin) this.deadUpTo = Buffer.from(key);
  }

  #order(left: Bytes, right: Bytes): number {
    return this.#sign * compareBytes(left, right);
  }

  #decideOnBase(candidate: Candidate): Decision {
    const decision = this.#decide(candidate);
    if (decision === 'take') this.#takenFromBase += 1;
    return decision;
  }

  /** Takes the next change. False when the page ends before it. */
  #passNext(): boolean {
    const change = this.#next;
    if (change?.value === undefined) this.#leadingDeletions += 1;
    else {
      const { key, value, version } = change;
      const candidate = { key, value, valueLength: value.length, version };
      const decision = this.#decide(candidate);
      if (decision === 'stop') return false;
      if (decision === 'use') this.#options.use?.(candidate);
      if (decision === 'take') {
        this.#taken.push({ entry: { key, value, version }, behind: this.#takenFromBase });
      }
    }
    const next = this.#changes.next();
    this.#next = next.done === true ? undefined : next.value;
    return true;
  }

  #decide(candidate: Candidate): Decision {
    if (this.#isLeading) this.#endLead(candidate.key);
    const { filter, limit, bytesMax } = this.#options;
    const decision = filter === undefined ? 'take' : filter(candidate);
    if (decision === 'skip' || decision === 'use') return decision;
    if (decision === 'take') {
      this.#bytes += candidate.key.length + candidate.valueLength;
      const full = this.#count >= limit || this.#bytes > bytesMax;
      if (!full || this.#count === 0) {
        this.#count += 1;
        return 'take';
      }
    }
    this.isOver = true;
    return 'stop';
  }
}
