import { nextTurn } from '../../base/async/turns.js';
import { equalBytes, type Bytes } from '../../base/bytes.js';
import { filteredPage, type FilteredPage } from '../../kv/filtered-entries.js';
import { pagesOf } from '../../kv/pages.js';
import type { Candidate, Entry, Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { decodeBlobRecord } from './blob-record.js';
import { blobKind, type BlobKeys } from './keys.js';
import { isSeen, pageRangeInPlace, type PageRange } from './page-range.js';

const entriesPerRead = 500;
const bytesPerRead = 1 << 20;

/** A page map of which some records were deleted, and how far it has been searched. */
export interface UnseenQuery {
  readonly content: Bytes;
  /** Where to begin; the first entry when absent. */
  readonly from: Bytes | undefined;
  readonly limit: number;
}

/**
 * Finds up to `limit` entries of a page map that no record sees. No later record sees them either:
 * a new snapshot sees the same entries as the blob, and those are not returned.
 */
export async function unseenPages(
  store: Store,
  keys: BlobKeys,
  { content, from, limit }: UnseenQuery,
): Promise<FilteredPage> {
  const viewers = await viewersOf(store, keys, content);
  const filter = (candidate: Candidate) =>
    isNeeded(pageRangeInPlace(keys, candidate), viewers) ? 'skip' : 'take';
  const { end, start } = prefixRange(keys.group(blobKind.page, content));
  const range = { start: from ?? start, ...(end !== undefined && { end }) };
  const limits = { limit, bytesMax: bytesPerRead, filter };
  return filteredPage(store, range, limits);
}

/** The generations of a content that are visible to records. */
interface Viewers {
  /** The generation of the blob; absent when the blob has another content by now. */
  readonly blob: number | undefined;
  readonly snapshots: readonly number[];
}

/**
 * Whether the blob or a snapshot sees the range. Covers snapshots that are taken after the record
 * of the blob was read: they see what the blob saw then, or later writes.
 */
function isNeeded(range: PageRange, { blob, snapshots }: Viewers): boolean {
  const { until } = range;
  if (blob !== undefined && (until === undefined || until > blob)) return true;
  return snapshots.some((generation) => isSeen(range, generation));
}

async function viewersOf(store: Store, keys: BlobKeys, content: Bytes): Promise<Viewers> {
  const base = await store.get(keys.base);
  const blob = base === undefined ? undefined : generationIn(base, content);
  return { blob, snapshots: await snapshotGenerations(store, keys, content) };
}

/** The generations of a page map that the snapshots of a blob see, oldest first. */
export async function snapshotGenerations(
  store: Store,
  keys: BlobKeys,
  content: Bytes,
): Promise<number[]> {
  const generations: number[] = [];
  const options = { limit: entriesPerRead, bytesMax: bytesPerRead };
  for await (const entries of pagesOf(store, keys.versions(), options)) {
    for (const entry of entries) {
      const generation = generationIn(entry, content);
      if (generation !== undefined) generations.push(generation);
    }
    await nextTurn();
  }
  return generations;
}

/** The generation of a page map that a record sees; undefined when it has another content. */
function generationIn({ value, version }: Entry, content: Bytes): number | undefined {
  const { content: own, page } = decodeBlobRecord(value, version);
  return own !== undefined && equalBytes(own.id, content) ? page?.generation : undefined;
}
