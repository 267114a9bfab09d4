import type { Property } from '../../model/edm/value.js';
import type { RowError } from '../terminal/failure.js';

/** A position between two rows of an input where reading can resume. */
export interface SourcePosition {
  /** Bytes from the start of the input. */
  readonly offset: number;
  /** The number of lines that end before the position. */
  readonly line: number;
  /** The number of rows before the position. */
  readonly row: number;
}

export const sourceStart: SourcePosition = { offset: 0, line: 0, row: 0 };

/** A parsed row: typed columns in their order, or an error. */
export interface SourceRow {
  /** The line, from 1, where the row begins. */
  readonly line: number;
  /** The position after the row. */
  readonly end: SourcePosition;
  readonly columns: readonly Property[] | RowError;
}
