import { atEndOfTurn } from '../../base/async/turns.js';

/** Body bytes that a process reads before it turns to other work. */
const turnBytesMax = 1 << 20;
/** The fixed cost of a chunk, in bytes. */
const pieceBytes = 256;

let bytesOfTurn = 0;

/**
 * Counts a received chunk of any connection. Returns false when the budget of this turn of the
 * event loop is used up; the connection then continues in a later turn.
 */
export function takeIn(piece: Uint8Array): boolean {
  if (bytesOfTurn === 0) atEndOfTurn(beginTurn);
  bytesOfTurn += piece.length + pieceBytes;
  return bytesOfTurn <= turnBytesMax;
}

function beginTurn(): void {
  bytesOfTurn = 0;
}
