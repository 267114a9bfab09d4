import type { Piece } from './pieces.js';

/** A range of the bytes of a content: from `start` to before `end`. */
export interface Bounds {
  readonly start: number;
  readonly end: number;
}

/** A part of a content: bytes of one piece from `start` on, or zeros that were never written. */
export interface Run {
  readonly bytes: number;
  /** Undefined: zeros. */
  readonly piece: Piece | undefined;
  readonly start: number;
}
