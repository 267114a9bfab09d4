import { ModelError } from '../rows/model-error.js';
import type { RowKey, StoredRow } from '../rows/row.js';

/** A row that its definition cannot read, or that could not be upgraded. */
export interface UnreadableRow extends RowKey {
  readonly error: ModelError;
}

/** Reports rows that cannot be read, and skips them. */
export function reporting<T>(
  read: (row: StoredRow) => T | undefined,
  report: (row: UnreadableRow) => void,
): (row: StoredRow) => T | undefined {
  return (row) => {
    try {
      return read(row);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      const { partitionKey, rowKey } = row;
      report({ partitionKey, rowKey, error });
      return undefined;
    }
  };
}
