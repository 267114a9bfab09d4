import { newId, type BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { Changes } from './changes.js';
import { chunkWith } from './contents.js';
import type { BlobKeys } from './keys.js';
import { chunkSegmentsMax, recordSegmentsMax } from './limits.js';
import { decodeSegments, encodeSegments, type Content, type Segment } from './segments.js';

// The content of an append blob grows in place, also when snapshots share it: a snapshot only sees
// the bytes of its own record, and these never change. Shared segments are in chunks; the tail
// belongs to the record of the blob alone.

type Growing = Pick<BlobRecord, 'content' | 'bytes'>;

/**
 * The content of an append blob with a segment more. Rewrites the last chunk at most, and that only
 * when the tail is full.
 */
export async function appendSegment(
  context: Pick<BlobContext, 'store' | 'randomness'>,
  keys: BlobKeys,
  changes: Changes,
  { content, bytes }: Growing,
  segment: Segment,
): Promise<Content> {
  if (content === undefined) return { id: newId(context), isChunked: false, tail: [segment] };
  if (content.tail.length < recordSegmentsMax) {
    return { ...content, tail: [...content.tail, segment] };
  }
  const chunked = await tailInChunks(context, keys, changes, { content, bytes });
  return { ...chunked, tail: [segment] };
}

/** The same content, with all of its segments in chunks. */
export async function tailInChunks(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  changes: Changes,
  { content, bytes }: Growing & { readonly content: Content },
): Promise<Content> {
  const { id, isChunked, tail } = content;
  if (tail.length === 0) return content;
  const tailStart = tail.reduce((start, segment) => start - segment.bytes, bytes);
  const last = isChunked ? await chunkWith(store, keys, id, tailStart) : undefined;
  const segments = last === undefined ? [] : decodeSegments(last.value);
  if (last !== undefined && segments.length + tail.length <= chunkSegmentsMax) {
    changes.put(last.key, encodeSegments([...segments, ...tail]));
  } else changes.put(keys.chunk(id, tailStart), encodeSegments(tail));
  return { id, isChunked: true, tail: [] };
}
