import { invariant } from '../../base/invariant.js';
import type { Bytes } from '../../base/bytes.js';
import type { Candidate, Entry } from '../../kv/store.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import type { BlobKeys } from './keys.js';
import { pieceElement, pieceOf, type Piece } from './pieces.js';

/**
 * An entry of a page map: bytes of a page blob, which are a part of a piece. Bytes that no entry
 * covers are zeros.
 *
 * The map is shared by a blob and its snapshots. Each snapshot begins a new _generation_ of the
 * blob; an entry is seen by the generations from `from` to before `until`. The entries that one
 * generation sees do not overlap.
 */
export interface PageRange {
  readonly offset: number;
  /** 1 to `pageRangeBytesMax`. */
  readonly bytes: number;
  readonly piece: Piece;
  /** Where its bytes begin in the piece. */
  readonly pieceStart: number;
  /** The generation that wrote the bytes: at most `from`, where a later write left a part. */
  readonly writtenIn: number;
  readonly from: number;
  /** Absent: not overwritten yet. */
  readonly until: number | undefined;
}

// Permanent: these bytes are in every data directory. See docs/internals/blob-keys.md.
const notOverwritten = 0;

export function pageRangeKey(
  keys: BlobKeys,
  content: Bytes,
  { offset, from }: Pick<PageRange, 'offset' | 'from'>,
): Bytes {
  return keys.page(content, offset, from);
}

/** Begins as the value of a block does: bytes, piece. */
export function encodePageRange(range: PageRange): Bytes {
  const { bytes, piece, pieceStart, writtenIn, until } = range;
  return encodeTuple([bytes, pieceElement(piece), pieceStart, writtenIn, until ?? notOverwritten]);
}

export function decodePageRange(
  keys: BlobKeys,
  { key, value }: Pick<Entry, 'key' | 'value'>,
): PageRange {
  const [bytes, piece, pieceStart, writtenIn, until] = decodeTuple(value);
  invariant(
    typeof bytes === 'number' &&
      typeof pieceStart === 'number' &&
      typeof writtenIn === 'number' &&
      typeof until === 'number',
    'a page range is malformed',
  );
  return {
    ...keys.placeOfPage(key),
    bytes,
    piece: pieceOf(piece),
    pieceStart,
    writtenIn,
    until: until === notOverwritten ? undefined : until,
  };
}

/** The same of an entry in place. The result is only valid as long as the entry. */
export function pageRangeInPlace(
  keys: BlobKeys,
  { key, value, valueLength }: Candidate,
): PageRange {
  return decodePageRange(keys, { key, value: value.subarray(0, valueLength) });
}

/** Whether a generation sees an entry. */
export function isSeen({ from, until }: PageRange, generation: number): boolean {
  return from <= generation && (until === undefined || generation < until);
}

export function endOf({ offset, bytes }: Pick<PageRange, 'offset' | 'bytes'>): number {
  return offset + bytes;
}
