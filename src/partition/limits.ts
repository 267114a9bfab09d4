/** The number of stores of a key space, the home store included. */
export const storesMax = 256;

/** The number of ranges of a key space. Every front end has all of them in memory. */
export const rangesMax = 10_000;

/** The number of unfinished operations on ranges, of all processes together. */
export const operationsMax = 4;

/** The number of dirty rows of a range. A move or a backup that has more is given up. */
export const dirtyRowsMax = 1_000_000;
