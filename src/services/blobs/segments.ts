import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple, type TupleElement } from '../../kv/tuple.js';
import { pieceElement, pieceOf, type Piece } from './pieces.js';

/** A run of bytes of a content: a whole piece. Never empty. */
export interface Segment {
  /** The id of the block that it was committed as; absent when it never was a block. */
  readonly blockId: Bytes | undefined;
  readonly bytes: number;
  readonly piece: Piece;
}

/**
 * The bytes of a block or append blob, or the page map of a page blob. Immutable under its id, with
 * two exceptions: a content to which a single record refers may grow at its end, and a page map may
 * change. The bytes are the segments of the chunks, which are entries of their own, followed by
 * those of `tail`. For a page map both are unused.
 */
export interface Content {
  readonly id: Bytes;
  /** There are chunks. */
  readonly isChunked: boolean;
  /** The last segments, at most `recordSegmentsMax`. */
  readonly tail: readonly Segment[];
}

/**
 * Whether all bytes of a content are in a few entries of the blob itself. These are read and freed
 * at once, without garbage: a reader that misses one knows that the record was replaced.
 */
export function isInline({ isChunked, tail }: Content): boolean {
  return !isChunked && tail.length > 0 && tail.every(({ piece }) => piece.kind === 'inline');
}

// Permanent: these bytes are in every data directory. See docs/internals/blob-keys.md.
const noBlockId = 0;
export const segmentElementsCount = 3;

/** A segment as three elements: block id or 0, bytes, piece. */
export function segmentElements({ blockId, bytes, piece }: Segment): TupleElement[] {
  return [blockId ?? noBlockId, bytes, pieceElement(piece)];
}

/** The segments in elements from `at` on. */
export function segmentsIn(elements: readonly TupleElement[], at: number): Segment[] {
  const segments: Segment[] = [];
  for (let next = at; next < elements.length; next += segmentElementsCount) {
    const blockId = elements[next];
    const bytes = elements[next + 1];
    invariant(
      typeof bytes === 'number' && (blockId === noBlockId || typeof blockId === 'object'),
      'a segment is malformed',
    );
    const piece = pieceOf(elements[next + 2]);
    segments.push({ blockId: blockId === noBlockId ? undefined : blockId, bytes, piece });
  }
  return segments;
}

/** The value of a chunk, and of a list of pieces to give up. */
export function encodeSegments(segments: readonly Segment[]): Bytes {
  return encodeTuple(segments.flatMap(segmentElements));
}

export function decodeSegments(value: Bytes): Segment[] {
  return segmentsIn(decodeTuple(value), 0);
}

/** The value of an uncommitted block: its bytes and its piece. Its id is in its key. */
export function encodeBlock({ bytes, piece }: Omit<Segment, 'blockId'>): Bytes {
  return encodeTuple([bytes, pieceElement(piece)]);
}

export function decodeBlock(value: Bytes): Omit<Segment, 'blockId'> {
  const [bytes, piece] = decodeTuple(value);
  invariant(typeof bytes === 'number', 'an uncommitted block is malformed');
  return { bytes, piece: pieceOf(piece) };
}
