import type { Property } from '../../model/edm/value.js';
import type { RowError } from '../terminal/failure.js';

/** A place between two rows of an input, at which reading can begin again. */
export interface SourcePosition {
  /** Bytes from the start of the input. */
  readonly offset: number;
  /** Lines that end before the place. */
  readonly line: number;
  /** Rows before the place. */
  readonly row: number;
}

export const sourceStart: SourcePosition = { offset: 0, line: 0, row: 0 };

/** One row as its reader understood it: typed columns in their order, or why it is none. */
export interface SourceRow {
  /** The line, from 1, where the row begins. */
  readonly line: number;
  /** The place behind the row. */
  readonly end: SourcePosition;
  readonly columns: readonly Property[] | RowError;
}
