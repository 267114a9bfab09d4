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

/** A page, and where its first key is, when a long run of deleted ones is before it. */
export interface MergedPage extends RangePage {
  readonly deadUpTo?: Bytes | undefined;
}

/** Deletions at the beginning of a range that are worth to be remembered. */
const deadRunMin = 64;

/** A page of what the base holds with the changes of a table over it. */
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
    // The merge counts.
    limit: Number.MAX_SAFE_INTEGER,
    bytesMax: Infinity,
    filter: (candidate) => merge.pass(candidate),
  });
  if (!page.more) merge.passRest();
  const { deadUpTo } = merge;
  return { entries: merge.with(page.entries), more: page.more || merge.isOver, deadUpTo };
}

/** Walks along the changes while the base is walked, and decides what the page gets of both. */
class Merge {
  readonly #changes: Iterator<Change, void>;
  readonly #options: RangeOptions;
  readonly #sign: 1 | -1;
  #next: Change | undefined;
  /** Of the page so far, of both. */
  #count = 0;
  #bytes = 0;
  #takenFromBase = 0;
  /** With how many of the base are before each. */
  readonly #taken: { readonly entry: Entry; readonly behind: number }[] = [];

  /** Deletions passed before anything that is there. */
  #leadingDeletions = 0;
  #isLeading = true;

  /** Whether the page ends before entries that are left. */
  isOver = false;
  /** Nothing is before this key, and it is no deletion, where more than a few were passed. */
  deadUpTo: Bytes | undefined;

  constructor(first: Change, rest: Iterator<Change, void>, options: RangeOptions) {
    this.#next = first;
    this.#changes = rest;
    this.#options = options;
    this.#sign = options.reverse === true ? -1 : 1;
  }

  /** Decides over an entry of the base, after the changes that come before it. */
  pass(candidate: Candidate): Decision {
    for (;;) {
      const order = this.#next === undefined ? 1 : this.#order(this.#next.key, candidate.key);
      if (order > 0) return this.#decideOnBase(candidate);
      if (!this.#passNext()) return 'stop';
      if (order === 0) return 'skip';
    }
  }

  /** When the base has no more. */
  passRest(): void {
    while (this.#next !== undefined && this.#passNext());
  }

  /** All entries of the page, in order. */
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

  /** Whether the page goes on. */
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
