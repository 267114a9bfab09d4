import { nextTurn } from '../../base/async/turns.js';
import { Slice } from '../../base/async/slice.js';
import type { Bytes } from '../../base/bytes.js';
import { decodeCounter } from '../../kv/counter.js';
import type { Entry, Store } from '../../kv/store.js';
import { newId, type BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { Changes } from './changes.js';
import {
  encodeGroupGarbage,
  encodeMapGarbage,
  encodePieceGarbage,
  type GroupGarbage,
  type PieceGarbage,
} from './garbage.js';
import { blobKind, type BlobKeys } from './keys.js';
import { chunkSegmentsMax, recordSegmentsMax } from './limits.js';
import {
  decodeSegments,
  encodeSegments,
  isInline,
  type Content,
  type Segment,
} from './segments.js';

/**
 * Makes a content of these segments under a new id. The commit stores the segments that the record
 * cannot hold.
 */
export async function putContent(
  context: Pick<BlobContext, 'randomness' | 'clock'>,
  keys: BlobKeys,
  changes: Changes,
  segments: readonly Segment[],
): Promise<Content | undefined> {
  if (segments.length === 0) return undefined;
  const id = newId(context);
  if (segments.length <= recordSegmentsMax) return { id, isChunked: false, tail: segments };
  const slice = new Slice(context.clock);
  let offset = 0;
  for (let at = 0; at < segments.length; at += chunkSegmentsMax) {
    await slice.endOnTime();
    const chunk = segments.slice(at, at + chunkSegmentsMax);
    changes.put(keys.chunk(id, offset), encodeSegments(chunk));
    for (const { bytes } of chunk) offset += bytes;
  }
  return { id, isChunked: true, tail: [] };
}

/**
 * A content was freed while it was read. It had been replaced, and no reader kept it
 * (`BlobReaders`).
 */
export class ContentGoneError extends Error {
  override readonly name = 'ContentGoneError';

  constructor() {
    super('The content of a blob was freed while it was read.');
  }
}

/** A segment and the place of its first byte in its content. */
export interface LocatedSegment extends Segment {
  readonly offset: number;
}

/**
 * The segments of a record's content, beginning with the one that holds the byte `start`; earlier
 * ones are not read. The chunks of an append blob may hold more bytes than a snapshot of it has.
 */
export async function* segmentsFrom(
  store: Store,
  keys: BlobKeys,
  { content, bytes }: Pick<BlobRecord, 'content' | 'bytes'>,
  start: number,
): AsyncGenerator<LocatedSegment, void, void> {
  if (content === undefined) return;
  let tailStart = bytes;
  for (const segment of content.tail) tailStart -= segment.bytes;
  if (content.isChunked && start < tailStart) {
    yield* inChunks(store, keys, { id: content.id, start, end: tailStart });
  }
  yield* placed(content.tail, tailStart, { start, end: bytes });
}

async function* inChunks(
  store: Store,
  keys: BlobKeys,
  { id, start, end }: { readonly id: Bytes; readonly start: number; readonly end: number },
): AsyncGenerator<LocatedSegment, void, void> {
  let chunk = await chunkWith(store, keys, id, start);
  for (;;) {
    if (chunk === undefined) throw new ContentGoneError();
    const segments = decodeSegments(chunk.value);
    let offset = keys.offsetOf(chunk.key);
    yield* placed(segments, offset, { start, end });
    for (const { bytes } of segments) offset += bytes;
    if (offset >= end) return;
    // Processing the last chunk may have taken long.
    await nextTurn();
    chunk = await store.get(keys.chunk(id, offset));
  }
}

/** The chunk that holds a byte: the last one that begins at it or before it. */
export async function chunkWith(
  store: Store,
  keys: BlobKeys,
  id: Bytes,
  offset: number,
): Promise<Entry | undefined> {
  const range = { start: keys.chunk(id, 0), end: keys.chunk(id, offset + 1) };
  const { entries } = await store.range(range, { limit: 1, bytesMax: 0, reverse: true });
  return entries[0];
}

function* placed(
  segments: readonly Segment[],
  first: number,
  { start, end }: { readonly start: number; readonly end: number },
): Generator<LocatedSegment, void, void> {
  let offset = first;
  for (const segment of segments) {
    if (offset >= end) return;
    if (offset + segment.bytes > start) yield { ...segment, offset };
    offset += segment.bytes;
  }
}

/**
 * Removes the references to contents of records that the commit deletes or replaces. A content
 * without references is deleted when it is inline; otherwise it becomes garbage with all its
 * pieces. The tail of an append blob always does, because it is not part of the chunks that
 * snapshots share. Returns whether there is garbage.
 */
export async function releaseContents(
  context: Pick<BlobContext, 'store' | 'clock' | 'randomness'>,
  keys: BlobKeys,
  changes: Changes,
  records: readonly Pick<BlobRecord, 'content' | 'kind'>[],
): Promise<boolean> {
  const bornMicros = context.clock.nowMicros();
  let isGarbage = false;
  const found = new Map<string, { content: Content; kind: BlobRecord['kind']; count: number }>();
  for (const { content, kind } of records) {
    if (content === undefined) continue;
    if (kind === 'append' && content.tail.length > 0) {
      isGarbage = true;
      putPieceGarbage(keys, changes, { id: newId(context), segments: content.tail, bornMicros });
    }
    const name = Buffer.from(content.id).toString('hex');
    const count = (found.get(name)?.count ?? 0) + 1;
    found.set(name, { content, kind, count });
  }
  const released = [...found.values()];
  const counters = await context.store.getMany(
    released.map(({ content }) => keys.contentReferences(content.id)),
  );
  for (const [index, { content, kind, count }] of released.entries()) {
    const others = dropReferences(
      changes,
      keys.contentReferences(content.id),
      counters[index],
      count,
    );
    if (others >= 0) {
      if (kind !== 'page') continue;
      changes.put(keys.mapGarbage(content.id), encodeMapGarbage({ bornMicros }));
      isGarbage = true;
      continue;
    }
    if (kind === 'block' && (await deleteInline(context, keys, changes, content))) continue;
    isGarbage = true;
    putContentGarbage(keys, changes, { content, kind }, { pieces: 'released', bornMicros });
    if (kind === 'append') continue;
    putPieceGarbage(keys, changes, { id: content.id, segments: content.tail, bornMicros });
  }
  return isGarbage;
}

/**
 * Deletes the pieces of an inline content that the commit releases. False when it is not inline, or
 * when a piece has other references: the sweep counts them.
 */
async function deleteInline(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  changes: Changes,
  content: Content,
): Promise<boolean> {
  if (!isInline(content)) return false;
  const counters = await store.getMany(
    content.tail.map(({ piece }) => keys.pieceReferences(piece)),
  );
  if (counters.some((counter) => counter !== undefined)) return false;
  for (const { piece } of content.tail) {
    if (piece.kind === 'inline') changes.delete(keys.inlinePiece(piece.id));
  }
  return true;
}

/**
 * Removes references from a counter, which counts those beyond the first. Returns how many it
 * counts afterwards; -1 when no reference is left.
 */
export function dropReferences(
  changes: Changes,
  key: Bytes,
  entry: Entry | undefined,
  count: number,
): number {
  const before = entry === undefined ? 0 : decodeCounter(entry.value);
  changes.checkRead(key, entry);
  const left = before - count;
  if (left > 0) changes.add(key, -count);
  else if (entry !== undefined) changes.delete(key);
  return left;
}

/** Lists the entries of a content, or of the page map of a page blob, as garbage. */
export function putContentGarbage(
  keys: BlobKeys,
  changes: Changes,
  { content, kind }: { readonly content: Content; readonly kind: BlobRecord['kind'] },
  garbage: GroupGarbage,
): void {
  const value = encodeGroupGarbage(garbage);
  if (content.isChunked) changes.put(keys.groupGarbage(blobKind.chunk, content.id), value);
  if (kind === 'page') changes.put(keys.groupGarbage(blobKind.page, content.id), value);
}

/**
 * Lists references to pieces that were removed, as garbage. `id`: that of the content or stage that
 * had them and releases them once, or a new one.
 */
export function putPieceGarbage(
  keys: BlobKeys,
  changes: Changes,
  { id, segments, bornMicros }: PieceGarbage & { readonly id: Bytes },
): void {
  for (let at = 0; at < segments.length; at += chunkSegmentsMax) {
    const list = segments.slice(at, at + chunkSegmentsMax);
    const value = encodePieceGarbage({ segments: list, bornMicros });
    changes.put(keys.pieceGarbage(id, at / chunkSegmentsMax), value);
  }
}
