import type { EntityRange } from '../../model/edm/entity-range.js';
import { keyBound } from './key-bounds.js';
import { allKeys, intersectKeys, keyProduct, type KeySet } from './key-set.js';
import { allStrings, stringAfter, stringRange, type StringSet } from './string-set.js';

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

/** Empty when no legal key is in the partition. */
function onlyPartition(partitionKey: string): StringSet {
  return stringRange(keyBound(partitionKey), keyBound(stringAfter(partitionKey)));
}
