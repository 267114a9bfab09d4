import type { ModelError } from '../rows/model-error.js';
import type { RowKey } from '../rows/row.js';

/** A row that its definition cannot read, or that could not be upgraded. */
export interface UnreadableRow extends RowKey {
  readonly error: ModelError;
}
