/** Stores of a key space, the home store included. */
export const storesMax = 256;

/** Ranges of a key space: front ends know all of them. */
export const rangesMax = 10_000;

/** Operations on ranges that are not over, of all processes together. */
export const operationsMax = 4;

/** Notes of what commits wrote in a range while it moves: with more, the move is cancelled. */
export const dirtyRowsMax = 1_000_000;
