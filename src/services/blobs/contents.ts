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

/** A content of these segments, under a fresh id; the commit stores what the record cannot hold. */
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
 * A content was freed while it was read: it had been replaced, and nothing kept it (`BlobReaders`).
 */
export class ContentGoneError extends Error {
  override readonly name = 'ContentGoneError';

  constructor() {
    super('The content of a blob was freed while it was read.');
  }
}

/** A segment and the place of its first byte in its content. */
export interface PlacedSegment extends Segment {
  readonly offset: number;
}

/**
 * The segments of a record's content from the one on that holds the byte `start`. Nothing before it
 * is read. The chunks of an append blob may go on behind the bytes of a snapshot.
 */
export async function* segmentsFrom(
  store: Store,
  keys: BlobKeys,
  { content, bytes }: Pick<BlobRecord, 'content' | 'bytes'>,
  start: number,
): AsyncGenerator<PlacedSegment, void, void> {
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
): AsyncGenerator<PlacedSegment, void, void> {
  let chunk = await chunkWith(store, keys, id, start);
  for (;;) {
    if (chunk === undefined) throw new ContentGoneError();
    const segments = decodeSegments(chunk.value);
    let offset = keys.offsetOf(chunk.key);
    yield* placed(segments, offset, { start, end });
    for (const { bytes } of segments) offset += bytes;
    if (offset >= end) return;
    // The reader may have worked long on the last chunk.
    await nextTurn();
    chunk = await store.get(keys.chunk(id, offset));
  }
}

/** The chunk that holds a byte: the last that begins there or before. */
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
): Generator<PlacedSegment, void, void> {
  let offset = first;
  for (const segment of segments) {
    if (offset >= end) return;
    if (offset + segment.bytes > start) yield { ...segment, offset };
    offset += segment.bytes;
  }
}

/**
 * Gives up the names that records which the commit deletes or replaces have for their contents. A
 * content without a name is deleted when it is inline, and becomes garbage with all its pieces
 * otherwise; the tail of an append blob always,
 * because the chunks that it shares with its snapshots do not have it. Returns whether there is
 * garbage.
 */
export async function releaseContents(
  context: Pick<BlobContext, 'store' | 'clock' | 'randomness'>,
  keys: BlobKeys,
  changes: Changes,
  records: readonly Pick<BlobRecord, 'content' | 'kind'>[],
): Promise<boolean> {
  const bornMicros = context.clock.nowMicros();
  let isGarbage = false;
  const named = new Map<string, { content: Content; kind: BlobRecord['kind']; count: number }>();
  for (const { content, kind } of records) {
    if (content === undefined) continue;
    if (kind === 'append' && content.tail.length > 0) {
      isGarbage = true;
      putPieceGarbage(keys, changes, { id: newId(context), segments: content.tail, bornMicros });
    }
    const name = Buffer.from(content.id).toString('hex');
    const count = (named.get(name)?.count ?? 0) + 1;
    named.set(name, { content, kind, count });
  }
  const released = [...named.values()];
  const counters = await context.store.getMany(
    released.map(({ content }) => keys.contentNames(content.id)),
  );
  for (const [index, { content, kind, count }] of released.entries()) {
    const others = takeNames(changes, keys.contentNames(content.id), counters[index], count);
    if (others >= 0) {
      if (kind !== 'page') continue;
      changes.put(keys.mapGarbage(content.id), encodeMapGarbage({ bornMicros }));
      isGarbage = true;
      continue;
    }
    if (kind === 'block' && (await deleteInline(context, keys, changes, content))) continue;
    isGarbage = true;
    putContentGarbage(keys, changes, { content, kind }, { pieces: 'given-up', bornMicros });
    if (kind === 'append') continue;
    putPieceGarbage(keys, changes, { id: content.id, segments: content.tail, bornMicros });
  }
  return isGarbage;
}

/**
 * Deletes the pieces of an inline content that the commit gives up. False: it is none, or a piece
 * has other names, which the sweep counts.
 */
async function deleteInline(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  changes: Changes,
  content: Content,
): Promise<boolean> {
  if (!isInline(content)) return false;
  const names = await store.getMany(content.tail.map(({ piece }) => keys.pieceNames(piece)));
  if (names.some((counter) => counter !== undefined)) return false;
  for (const { piece } of content.tail) {
    if (piece.kind === 'inline') changes.delete(keys.inlinePiece(piece.id));
  }
  return true;
}

/**
 * Takes names from a counter of the names beyond the first. Returns how many are left there; -1
 * when the last name is gone.
 */
export function takeNames(
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
 * Lists names of pieces that are given up. `id`: of the content or stage that named them, which
 * gives up its names once, or a fresh one.
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
