import type { Piece } from './pieces.js';

/** Bytes of a content, from `start` to before `end`. */
export interface Bounds {
  readonly start: number;
  readonly end: number;
}

/** Bytes of a content in a row: of a piece from `start` on, or zeros that nobody has written. */
export interface Run {
  readonly bytes: number;
  readonly piece: Piece | undefined;
  readonly start: number;
}
