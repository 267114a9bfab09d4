import { equalBytes } from '../../base/bytes.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Store } from '../../kv/store.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import { keysOf, readRecord, refuseIncremental, findPast } from './blob-state.js';
import type { BlobKeys } from './keys.js';
import { pageListRangesMax } from './limits.js';
import { pageViewOf, rangesSeen, type PageView } from './page-map.js';
import { endOf, type PageRange } from './page-range.js';
import type { Bounds } from './byte-run.js';
import type { Access, ReadRange, SnapshotAddress } from './types.js';

/** Bytes of a page blob that were written, or cleared since a snapshot; both ends included. */
export interface ListedPages {
  readonly kind: 'written' | 'cleared';
  readonly first: number;
  readonly last: number;
}

export interface PageListQuery {
  readonly range?: ReadRange | undefined;
  /** The position to continue from: no range that begins before it is listed. */
  readonly from?: number | undefined;
  /** At most `pageListRangesMax`, which is the default. */
  readonly limit?: number | undefined;
  /**
   * Lists only what has changed since this snapshot: what was written, and what was cleared. A page
   * counts as written also when the same bytes were written again.
   */
  readonly sinceSnapshotMicros?: number | undefined;
}

export interface PageList {
  readonly modifiedMicros: number;
  /** The size of the blob. */
  readonly bytes: number;
  /** In order; neighbours of one kind are one. */
  readonly ranges: readonly ListedPages[];
  /** Where the next page begins. */
  readonly next?: number;
}

/**
 * Get Page Ranges (blob-service §14), of a blob or a snapshot. Of a blob that is written meanwhile
 * it may list some of the writes.
 */
export async function getPageRanges(
  context: BlobContext,
  address: SnapshotAddress,
  query: PageListQuery,
  access: Access,
): Promise<PageList> {
  const keys = await keysOf(context, address);
  const close = context.readers.begin(keys);
  try {
    const { record, isBlob } = await readRecord(context, keys, address, access);
    if (isBlob) refuseIncremental(record);
    if (record.page === undefined) throw new StorageError('InvalidBlobType');
    const previous = await previousOf(context, keys, record, query.sinceSnapshotMicros);
    const bounds = listedBounds(record, query);
    const changes = changedSince(context.store, keys, pageViewOf(record), previous, bounds);
    const { modifiedMicros, bytes } = record;
    return { modifiedMicros, bytes, ...(await pageOf(changes, query.limit)) };
  } finally {
    close();
  }
}

function listedBounds({ bytes }: BlobRecord, { range, from = 0 }: PageListQuery): Bounds {
  const end = range?.last === undefined ? bytes : Math.min(bytes, range.last + 1);
  return { start: Math.max(range?.first ?? 0, from), end };
}

/** The view of the snapshot with which the listing compares. */
async function previousOf(
  { store }: BlobContext,
  keys: BlobKeys,
  record: BlobRecord,
  snapshotMicros: number | undefined,
): Promise<PageView | undefined> {
  if (snapshotMicros === undefined) return undefined;
  const previous = await findPast({ store }, keys, { snapshotMicros });
  if (previous?.deleted !== undefined || previous === undefined) {
    throw new StorageError('PreviousSnapshotNotFound');
  }
  if (previous.page === undefined) throw new StorageError('BlobOverwritten');
  const view = pageViewOf(previous);
  const { content, generation } = pageViewOf(record);
  // Put Blob and copies begin another content.
  if (!equalBytes(view.content, content)) throw new StorageError('BlobOverwritten');
  if (view.generation > generation) throw new StorageError('PreviousSnapshotCannotBeNewer');
  return view;
}

/** Merges neighbours, and ends behind `limit` ranges. */
async function pageOf(
  changes: AsyncIterable<ListedPages>,
  limit = pageListRangesMax,
): Promise<Pick<PageList, 'ranges' | 'next'>> {
  const ranges: ListedPages[] = [];
  for await (const range of changes) {
    const last = ranges.at(-1);
    if (last?.kind === range.kind && last.last + 1 === range.first) {
      ranges[ranges.length - 1] = { ...last, last: range.last };
    } else {
      if (ranges.length >= limit) return { ranges, next: range.first };
      ranges.push(range);
    }
  }
  return { ranges };
}

/**
 * What a record sees within bounds, or how it differs from what an earlier generation of the same
 * content saw.
 */
async function* changedSince(
  store: Store,
  keys: BlobKeys,
  view: PageView,
  previous: PageView | undefined,
  bounds: Bounds,
): AsyncGenerator<ListedPages, void, void> {
  if (bounds.start >= bounds.end) return;
  const since = previous?.generation ?? 0;
  const present = new Steps(rangesSeen(store, keys, view, bounds));
  const past = new Steps(
    previous === undefined ? none() : rangesSeen(store, keys, previous, bounds),
  );
  let at = bounds.start;
  while (at < bounds.end) {
    const now = await present.reaching(at);
    const before = await past.reaching(at);
    const end = Math.min(bounds.end, stepEnd(now, at), stepEnd(before, at));
    const isThere = now !== undefined && now.offset <= at;
    const wasThere = before !== undefined && before.offset <= at;
    const kind = isThere ? 'written' : 'cleared';
    const isListed = isThere ? now.writtenIn > since : wasThere;
    if (isListed) yield { kind, first: at, last: end - 1 };
    at = end;
  }
}

async function* none(): AsyncGenerator<PageRange, void, void> {}

/** The end of the entry at a place, or of the gap before the next entry. */
function stepEnd(range: PageRange | undefined, at: number): number {
  if (range === undefined) return Infinity;
  return range.offset > at ? range.offset : endOf(range);
}

/** Goes through entries in order. */
class Steps {
  readonly #ranges: AsyncIterator<PageRange>;
  #current: PageRange | undefined;
  #isOver = false;

  constructor(ranges: AsyncIterator<PageRange>) {
    this.#ranges = ranges;
  }

  /** The first entry that ends behind a place. Places must ascend. */
  async reaching(at: number): Promise<PageRange | undefined> {
    while (!this.#isOver && (this.#current === undefined || endOf(this.#current) <= at)) {
      const next = await this.#ranges.next();
      this.#isOver = next.done === true;
      this.#current = next.done === true ? undefined : next.value;
    }
    return this.#current;
  }
}
