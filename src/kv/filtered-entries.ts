import { nextTurn } from '../base/async/turns.js';
import type { Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import type { Candidate, Decision, Entry, KeyRange, RangePage, Store } from './store.js';
import { keyAfter } from './tuple.js';

/**
 * Entries that one read looks at, so that a filter which takes few of them does not block other
 * work.
 */
export const candidatesPerRead = 1024;

export interface FilteredOptions {
  /** Decides which entries are taken. `stop`: as if the range ended before the entry. */
  readonly filter: (candidate: Candidate) => 'take' | 'skip' | 'stop';
  /** Entries of one read, at most; as many as the caller is likely to want. */
  readonly limit: number;
  /** Bounds those of one read as `RangeOptions` says. */
  readonly bytesMax: number;
  /** From the end of the range to its start. */
  readonly reverse?: boolean;
}

/**
 * The entries of a range that a filter takes, in order, however many lie between them. It yields
 * between two reads. Each read has its own snapshot and is made when its entries are requested. The
 * caller may delete the entries that it got.
 */
export async function* filteredEntries(
  store: Pick<Store, 'range'>,
  range: KeyRange,
  options: FilteredOptions,
): AsyncGenerator<Entry, void, void> {
  for (let rest: KeyRange | undefined = range; rest !== undefined;) {
    const part: Part = await readPart(store, rest, options);
    yield* part.entries;
    rest = part.rest;
    if (rest !== undefined) await nextTurn();
  }
}

export interface FilteredPage {
  readonly entries: readonly Entry[];
  /** Where the next page begins; undefined at the end. */
  readonly next: Bytes | undefined;
}

/** The first of these entries, as many as one read returns. */
export async function filteredPage(
  store: Pick<Store, 'range'>,
  range: KeyRange,
  options: Omit<FilteredOptions, 'reverse'>,
): Promise<FilteredPage> {
  const entries: Entry[] = [];
  let bytes = 0;
  for await (const entry of filteredEntries(store, range, options)) {
    entries.push(entry);
    bytes += entry.value.length;
    const isFull = entries.length === options.limit || bytes >= options.bytesMax;
    if (isFull) return { entries, next: keyAfter(entry.key) };
  }
  return { entries, next: undefined };
}

/** The first of these entries; undefined when there is none. */
export async function firstFiltered(
  store: Pick<Store, 'range'>,
  range: KeyRange,
  options: Pick<FilteredOptions, 'filter' | 'reverse'>,
): Promise<Entry | undefined> {
  const limits = { ...options, limit: 1, bytesMax: 0 };
  for await (const entry of filteredEntries(store, range, limits)) return entry;
  return undefined;
}

interface Part {
  readonly entries: readonly Entry[];
  /** The rest of the range. */
  readonly rest: KeyRange | undefined;
}

async function readPart(
  store: Pick<Store, 'range'>,
  range: KeyRange,
  { filter, reverse = false, ...limits }: FilteredOptions,
): Promise<Part> {
  let seen = 0;
  let stoppedAt: Bytes | undefined;
  let isOver = false;
  const page = await store.range(range, {
    ...limits,
    reverse,
    filter(candidate): Decision {
      if (seen === candidatesPerRead) {
        stoppedAt = Buffer.from(candidate.key);
        return 'stop';
      }
      seen += 1;
      const decision = filter(candidate);
      isOver = decision === 'stop';
      return decision;
    },
  });
  const { entries } = page;
  if (isOver || !page.more) return { entries, rest: undefined };
  return { entries, rest: restOf(range, page, { stoppedAt, reverse }) };
}

function restOf(
  range: KeyRange,
  { entries }: RangePage,
  { stoppedAt, reverse }: { readonly stoppedAt: Bytes | undefined; readonly reverse: boolean },
): KeyRange {
  const last = entries.at(-1)?.key;
  // The filter wants nothing between the last entry and the first key that was not examined.
  const ended = stoppedAt ?? last;
  invariant(ended !== undefined, 'a page that ends early has an entry');
  if (reverse) return { ...range, end: stoppedAt === undefined ? ended : keyAfter(ended) };
  return { ...range, start: stoppedAt === undefined ? keyAfter(ended) : ended };
}
