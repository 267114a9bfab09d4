import { nextTurn } from '../../base/async/turns.js';
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
import { keyAfter } from '../../kv/tuple.js';
import type { Change } from './frame-change.js';

type ReadBase = (range: KeyRange, options: RangeOptions) => Promise<RangePage>;

export interface MergedPage extends RangePage {
  /** The first existing key, when at least `deadRunMin` deleted ones come before it. */
  readonly deadUpTo?: Bytes | undefined;
}

/** The number of deletions at the beginning of a range that is worth remembering. */
const deadRunMin = 64;
/**
 * The deletions that a page passes over in one turn of the event loop, and the bytes that the base
 * has at the keys of changes. The filter is not asked about them, so no limit of the caller counts
 * them.
 */
const turnDeletionsMax = 2_000;
const turnBytesMax = 4 << 20;

export interface MergeOptions extends RangeOptions {
  /** `turnDeletionsMax` by default. */
  readonly turnDeletions?: number;
}

type DecidedOptions = RangeOptions & Required<Pick<MergeOptions, 'turnDeletions'>>;

/**
 * A page of the entries of the base, after the changes of the table. Takes several turns, with a
 * read of the base in each, where many entries were deleted: until it has ended, the base may
 * change only where the table has a change.
 */
export async function mergedRange(
  readBase: ReadBase,
  table: SortedByKey<Change>,
  range: KeyRange,
  { turnDeletions = turnDeletionsMax, ...options }: MergeOptions,
): Promise<MergedPage> {
  const changes = options.reverse === true ? table.backward(range) : table.forward(range);
  const first = changes.next();
  if (first.done === true) return readBase(range, options);
  const merge = new Merge(first.value, changes, { ...options, turnDeletions });
  const passed: Entry[] = [];
  for (let rest = range; ;) {
    const page = await readBase(rest, {
      ...options,
      // The merge applies the limits, because changes count as well.
      limit: Number.MAX_SAFE_INTEGER,
      bytesMax: Infinity,
      filter: (candidate) => merge.pass(candidate),
    });
    for (const entry of page.entries) passed.push(entry);
    const { pausedAt } = merge;
    if (pausedAt === undefined) {
      const more = page.more || !(await merge.passRest());
      return { entries: merge.with(passed), more, deadUpTo: merge.deadUpTo };
    }
    await nextTurn();
    merge.goOn();
    const isReverse = options.reverse === true;
    rest = isReverse ? { ...range, end: keyAfter(pausedAt) } : { ...range, start: pausedAt };
  }
}

/** Walks the changes beside the entries of the base, and decides which of both are in the page. */
class Merge {
  readonly #changes: Iterator<Change, void>;
  readonly #options: DecidedOptions;
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

  /** What was passed over in this turn: see `turnDeletionsMax`. */
  #turnDeletions = 0;
  #turnBytes = 0;

  /** The entry of the base, not passed yet, before which this turn is over. */
  pausedAt: Bytes | undefined;
  /** See `MergedPage`. */
  deadUpTo: Bytes | undefined;

  constructor(first: Change, rest: Iterator<Change, void>, options: DecidedOptions) {
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
      if (this.#isTurnOver) {
        this.pausedAt = Buffer.from(candidate.key);
        return 'stop';
      }
      if (!this.#passNext()) return 'stop';
      if (order === 0) {
        this.#turnBytes += candidate.valueLength;
        return 'skip';
      }
    }
  }

  /** Begins another turn. */
  goOn(): void {
    this.#turnDeletions = 0;
    this.#turnBytes = 0;
    this.pausedAt = undefined;
  }

  /**
   * Takes the remaining changes, when the base has no more entries. False when the page ends before
   * one of them.
   */
  async passRest(): Promise<boolean> {
    while (this.#next !== undefined) {
      if (this.#isTurnOver) {
        await nextTurn();
        this.goOn();
      }
      if (!this.#passNext()) return false;
    }
    return true;
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

  get #isTurnOver(): boolean {
    return this.#turnDeletions >= this.#options.turnDeletions || this.#turnBytes > turnBytesMax;
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
    if (change?.value === undefined) {
      this.#leadingDeletions += 1;
      this.#turnDeletions += 1;
    } else {
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
    return 'stop';
  }
}
