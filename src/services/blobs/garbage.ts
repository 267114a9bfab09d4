import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { decodeTuple, encodeTuple } from '../../kv/tuple.js';
import { segmentElements, segmentsIn, type Segment } from './segments.js';

/** Garbage, and its time: by the clock of its writer, shortly before its commit. */
interface Garbage {
  readonly bornMicros: number;
}

/** Entries of a content or a stage that no record reaches. */
export interface GroupGarbage extends Garbage {
  /**
   * Whether the references of the entries to pieces are removed with them, or were passed on to
   * other entries.
   */
  readonly pieces: 'released' | 'kept';
  /** A part of it was freed already. Absent: false. */
  readonly isBegun?: boolean;
}

/** A page map that has entries which no record sees. */
export type MapGarbage = Garbage;

/** References to pieces, each as often as it was removed. */
export interface PieceGarbage extends Garbage {
  readonly segments: readonly Segment[];
}

// Permanent: these values are in every data directory. See docs/internals/blob-keys.md.

export function encodeGroupGarbage({ bornMicros, pieces, isBegun = false }: GroupGarbage): Bytes {
  return encodeTuple([bornMicros, pieces === 'released' ? 1 : 0, ...(isBegun ? [1] : [])]);
}

export function decodeGroupGarbage(value: Bytes): GroupGarbage {
  const [bornMicros, pieces, begun] = decodeTuple(value);
  invariant(typeof bornMicros === 'number', 'a garbage group is malformed');
  return { bornMicros, pieces: pieces === 1 ? 'released' : 'kept', isBegun: begun === 1 };
}

export function encodeMapGarbage({ bornMicros }: MapGarbage): Bytes {
  return encodeTuple([bornMicros]);
}

export function encodePieceGarbage({ bornMicros, segments }: PieceGarbage): Bytes {
  return encodeTuple([bornMicros, ...segments.flatMap(segmentElements)]);
}

export function decodePieceGarbage(value: Bytes): PieceGarbage {
  const elements = decodeTuple(value);
  const [bornMicros] = elements;
  invariant(typeof bornMicros === 'number', 'a list of pieces is malformed');
  return { bornMicros, segments: segmentsIn(elements, 1) };
}

/** The time in any value of the garbage list but that of extents. */
export function bornMicrosOf(value: Bytes): number {
  const [bornMicros] = decodeTuple(value, 0, 1);
  invariant(typeof bornMicros === 'number', 'an entry of the garbage list is malformed');
  return bornMicros;
}

/** Extents to which no entry refers any more. */
export function encodeExtentGarbage(ids: readonly string[]): Bytes {
  return encodeTuple(ids);
}

export function decodeExtentGarbage(value: Bytes): string[] {
  return decodeTuple(value).map((id) => {
    invariant(typeof id === 'string', 'a list of extents is malformed');
    return id;
  });
}
