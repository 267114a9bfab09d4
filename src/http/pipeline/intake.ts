import { atEndOfTurn } from '../../base/async/turns.js';

/** Bytes of bodies that a process takes in before it looks after others. */
const turnBytesMax = 1 << 20;
/** What a piece of a body costs, however short it is, as bytes. */
const pieceBytes = 256;

let bytesOfTurn = 0;

/**
 * Counts a piece of a body that has come, of whichever connection. False: in this turn of the event
 * loop that is enough, and the connection it came from is to be read on in a turn of its own.
 */
export function takeIn(piece: Uint8Array): boolean {
  if (bytesOfTurn === 0) atEndOfTurn(beginTurn);
  bytesOfTurn += piece.length + pieceBytes;
  return bytesOfTurn <= turnBytesMax;
}

function beginTurn(): void {
  bytesOfTurn = 0;
}
