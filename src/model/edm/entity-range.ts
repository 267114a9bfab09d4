/**
 * The entities that a signature is good for: from one key to another, both inside, in key order
 * (table-service §8.3). Without a row key a bound takes in its whole partition; an absent
 * bound is none. A row key means nothing without its partition key.
 */
export interface EntityRange {
  readonly startPartitionKey?: string;
  readonly startRowKey?: string;
  readonly endPartitionKey?: string;
  readonly endRowKey?: string;
}

export function contains(range: EntityRange, partitionKey: string, rowKey: string): boolean {
  return !isBefore(range, partitionKey, rowKey) && !isBehind(range, partitionKey, rowKey);
}

function isBefore(range: EntityRange, partitionKey: string, rowKey: string): boolean {
  const { startPartitionKey: start, startRowKey } = range;
  if (start === undefined || partitionKey > start) return false;
  return partitionKey < start || (startRowKey !== undefined && rowKey < startRowKey);
}

function isBehind(range: EntityRange, partitionKey: string, rowKey: string): boolean {
  const { endPartitionKey: end, endRowKey } = range;
  if (end === undefined || partitionKey < end) return false;
  return partitionKey > end || (endRowKey !== undefined && rowKey > endRowKey);
}
