/**
 * The entities that a signature grants: from one key to another, both included, in key order
 * (table-service §8.3). A bound without a row key includes its whole partition; an absent bound is
 * open. A row key needs its partition key.
 */
export interface EntityRange {
  readonly startPartitionKey?: string;
  readonly startRowKey?: string;
  readonly endPartitionKey?: string;
  readonly endRowKey?: string;
}

export function contains(range: EntityRange, partitionKey: string, rowKey: string): boolean {
  return !isBefore(range, partitionKey, rowKey) && !isAfter(range, partitionKey, rowKey);
}

function isBefore(range: EntityRange, partitionKey: string, rowKey: string): boolean {
  const { startPartitionKey: start, startRowKey } = range;
  if (start === undefined || partitionKey > start) return false;
  return partitionKey < start || (startRowKey !== undefined && rowKey < startRowKey);
}

function isAfter(range: EntityRange, partitionKey: string, rowKey: string): boolean {
  const { endPartitionKey: end, endRowKey } = range;
  if (end === undefined || partitionKey < end) return false;
  return partitionKey > end || (endRowKey !== undefined && rowKey > endRowKey);
}
