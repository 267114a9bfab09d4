import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { TupleElement } from '../../kv/tuple.js';

/**
 * Bytes that were written once: an entry of the blob's partition (small ones), or an extent of the
 * content store.
 */
export type Piece =
  | { readonly kind: 'inline'; readonly id: Bytes }
  | { readonly kind: 'extent'; readonly id: string };

// Permanent: these bytes are in every data directory. See docs/internals/blob-keys.md.

/** A piece as one element: bytes are the id of an inline piece, a string that of an extent. */
export function pieceElement({ id }: Piece): TupleElement {
  return id;
}

export function pieceOf(element: TupleElement | undefined): Piece {
  if (typeof element === 'string') return { kind: 'extent', id: element };
  invariant(typeof element === 'object', 'a piece is bytes or a string');
  return { kind: 'inline', id: element };
}
