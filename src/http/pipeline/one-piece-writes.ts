import type { Writable } from 'node:stream';

/**
 * Makes a connection write a single piece by the system call for one piece. Node appends an empty
 * text to each answer with a body, and passes both to the call for several pieces, which takes
 * longer.
 *
 * `_write` and `_writev` are the documented methods by which streams of node are implemented, so a
 * stream may replace them.
 */
export function writeOnePieceAtOnce(socket: Writable): void {
  // oxlint-disable no-underscore-dangle -- the names that streams of node give them
  const writeMany = socket._writev?.bind(socket);
  if (writeMany === undefined) return;
  socket._writev = (pieces, done) => {
    const only = onlyFilled(pieces);
    if (only === undefined) writeMany(pieces, done);
    else socket._write(only.chunk, only.encoding, done);
  };
}

interface Piece {
  readonly chunk: { readonly length: number };
  readonly encoding: BufferEncoding;
}

/** The piece that is not empty; undefined when there is none, or several. */
function onlyFilled(pieces: readonly Piece[]): Piece | undefined {
  let only: Piece | undefined;
  for (const piece of pieces) {
    if (piece.chunk.length === 0) continue;
    if (only !== undefined) return undefined;
    only = piece;
  }
  return only;
}
