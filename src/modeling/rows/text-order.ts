import type { RowKey } from './row.js';

/** The order of the service: by UTF-16 code units. Negative, zero or positive. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The order of rows: by PartitionKey, then by RowKey. */
export function compareKeys(left: RowKey, right: RowKey): number {
  return (
    compareTexts(left.partitionKey, right.partitionKey) || compareTexts(left.rowKey, right.rowKey)
  );
}
