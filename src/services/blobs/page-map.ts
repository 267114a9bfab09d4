import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { filteredEntries, firstFiltered } from '../../kv/filtered-entries.js';
import type { Candidate, Store } from '../../kv/store.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord, PageState } from './blob-record.js';
import type { Changes } from './changes.js';
import type { BlobKeys } from './keys.js';
import { pageRangeBytesMax } from './limits.js';
import { ReferenceBalance } from './reference-balance.js';
import {
  decodePageRange,
  encodePageRange,
  endOf,
  isSeen,
  pageRangeInPlace,
  pageRangeKey,
  type PageRange,
} from './page-range.js';
import type { Piece } from './pieces.js';
import type { Bounds, Run } from './byte-run.js';

const rangesPerRead = 1000;
const rangesBytesPerRead = 1 << 20;

/** The page map of a record: its content, and the generation that the record sees of it. */
export interface PageView extends Pick<PageState, 'generation' | 'sharedGeneration'> {
  readonly content: Bytes;
}

export function pageViewOf({ content, page }: Pick<BlobRecord, 'content' | 'page'>): PageView {
  invariant(content !== undefined && page !== undefined, 'a page blob has a page map');
  const { generation, sharedGeneration } = page;
  return { content: content.id, generation, sharedGeneration };
}

/**
 * The entries of a page map that a generation sees within bounds, in order of their offsets. The
 * first may begin before the bounds and the last may end behind them. The reads are not one
 * snapshot: when the blob is written meanwhile, an entry may overlap the one before it.
 */
export async function* rangesSeen(
  store: Store,
  keys: BlobKeys,
  { content, generation }: Pick<PageView, 'content' | 'generation'>,
  { start, end }: Bounds,
): AsyncGenerator<PageRange, void, void> {
  const filter = (candidate: Candidate) =>
    isSeen(pageRangeInPlace(keys, candidate), generation) ? 'take' : 'skip';
  const first = keys.page(content, start, 0);
  // Entries of one generation do not overlap, so only the last one before the bounds can reach in.
  const before = {
    start: keys.page(content, Math.max(0, start - pageRangeBytesMax), 0),
    end: first,
  };
  const lastBefore = await firstFiltered(store, before, { reverse: true, filter });
  if (lastBefore !== undefined) {
    const range = decodePageRange(keys, lastBefore);
    if (endOf(range) > start) yield range;
  }
  const within = { start: first, end: keys.page(content, end, 0) };
  const options = { limit: rangesPerRead, bytesMax: rangesBytesPerRead, filter };
  for await (const entry of filteredEntries(store, within, options)) {
    yield decodePageRange(keys, entry);
  }
}

/** The runs of pages and zeros of a page blob within bounds, without gaps. */
export async function* pageRuns(
  store: Store,
  keys: BlobKeys,
  view: PageView,
  { start, end }: Bounds,
): AsyncGenerator<Run, void, void> {
  let at = start;
  for await (const range of rangesSeen(store, keys, view, { start, end })) {
    const from = Math.max(at, range.offset);
    const to = Math.min(end, endOf(range));
    // A write between two reads of the map may have replaced entries that were passed already.
    if (to <= from) continue;
    if (from > at) yield zeros(from - at);
    const pieceStart = range.pieceStart + (from - range.offset);
    yield { bytes: to - from, piece: range.piece, start: pieceStart };
    at = to;
  }
  if (at < end) yield zeros(end - at);
}

function zeros(bytes: number): Run {
  return { bytes, piece: undefined, start: 0 };
}

/** A change of a page map: a new piece, from its first byte, or zeros replace it. */
export interface PageWrite extends Bounds {
  readonly piece: Piece | undefined;
  /** All entries that the generation sees within the bounds. */
  readonly overlapped: readonly PageRange[];
}

/**
 * Adds to a commit the replacement of bytes of a page blob by a piece or by zeros. Entries that
 * snapshots see stay. The commit must check that the record of the blob is unchanged. Returns
 * whether pieces are left that nothing refers to.
 */
export async function planPageWrite(
  context: Pick<BlobContext, 'randomness' | 'clock'>,
  keys: BlobKeys,
  changes: Changes,
  { content, generation, sharedGeneration }: PageView,
  { start, end, piece, overlapped }: PageWrite,
): Promise<boolean> {
  const references = new ReferenceBalance();
  const puts = new Map<string, PageRange>();
  const deletes: PageRange[] = [];
  const put = (range: PageRange): void => {
    puts.set(nameOfRange(range), range);
  };
  for (const range of overlapped) {
    const segment = { blockId: undefined, bytes: range.bytes, piece: range.piece };
    if (range.from <= sharedGeneration) put({ ...range, until: generation });
    else {
      deletes.push(range);
      references.add(segment, -1);
    }
    for (const rest of remaindersOf(range, { start, end }, generation)) {
      put(rest);
      references.add(segment, 1);
    }
  }
  if (piece !== undefined) put(written({ start, end, piece }, generation));
  for (const range of puts.values()) {
    changes.put(pageRangeKey(keys, content, range), encodePageRange(range));
  }
  for (const range of deletes) {
    if (!puts.has(nameOfRange(range))) changes.delete(pageRangeKey(keys, content, range));
  }
  return references.settle(context, keys, changes);
}

function nameOfRange({ offset, from }: PageRange): string {
  return `${offset} ${from}`;
}

function written(
  { start, end, piece }: Bounds & { readonly piece: Piece },
  generation: number,
): PageRange {
  return {
    offset: start,
    bytes: end - start,
    piece,
    pieceStart: 0,
    writtenIn: generation,
    from: generation,
    until: undefined,
  };
}

/** The parts of an entry before and behind bounds that it overlaps. */
function remaindersOf(range: PageRange, { start, end }: Bounds, generation: number): PageRange[] {
  const remainders: PageRange[] = [];
  const rest = { ...range, from: generation, until: undefined };
  if (range.offset < start) remainders.push({ ...rest, bytes: start - range.offset });
  if (endOf(range) > end) {
    remainders.push({
      ...rest,
      offset: end,
      bytes: endOf(range) - end,
      pieceStart: range.pieceStart + (end - range.offset),
    });
  }
  return remainders;
}
