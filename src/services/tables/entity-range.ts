import { keyBound } from './key-bounds.js';
import { allKeys, intersectKeys, keyProduct, type KeySet } from './key-set.js';
import { allStrings, stringAfter, stringRange, type StringSet } from './string-set.js';

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

/** The legal keys in a range. */
export function keysInRange(range: EntityRange): KeySet {
  return intersectKeys(keysFromStart(range), keysToEnd(range));
}

function keysFromStart({ startPartitionKey: start, startRowKey }: EntityRange): KeySet {
  if (start === undefined) return allKeys;
  if (startRowKey === undefined) return keyProduct(stringRange(keyBound(start)), allStrings);
  const rows = stringRange(keyBound(startRowKey));
  const behind = stringRange(keyBound(stringAfter(start)));
  return [...keyProduct(onlyPartition(start), rows), ...keyProduct(behind, allStrings)];
}

function keysToEnd({ endPartitionKey: end, endRowKey }: EntityRange): KeySet {
  if (end === undefined) return allKeys;
  const behind = keyBound(stringAfter(end));
  if (endRowKey === undefined) return keyProduct(stringRange('', behind), allStrings);
  const rows = stringRange('', keyBound(stringAfter(endRowKey)));
  const before = stringRange('', keyBound(end));
  return [...keyProduct(before, allStrings), ...keyProduct(onlyPartition(end), rows)];
}

/** Nothing where no legal key is the partition's. */
function onlyPartition(partitionKey: string): StringSet {
  return stringRange(keyBound(partitionKey), keyBound(stringAfter(partitionKey)));
}
