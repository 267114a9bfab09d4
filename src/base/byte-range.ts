/** A part of longer bytes, without a view of its own. `end` is exclusive. */
export interface ByteRange {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}
