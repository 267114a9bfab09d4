import { startsWith, type Bytes } from '../base/bytes.js';
import { elementEnd, encodeTuple, type TupleElement } from './tuple.js';

/**
 * The first elements of every key: service, account, container (a table's id, a queue, a blob
 * container), partition key. A commit touches one partition prefix; data moves between stores by
 * ranges of prefixes.
 */
export function partitionPrefix(
  service: string,
  account: string,
  container: string | number,
  partition: string,
): Bytes {
  return encodeTuple([service, account, container, partition]);
}

/**
 * The service of keys that belong to the store itself, such as guards and records of moves. They
 * are in no range that moves, and any commit may touch them beside its partition prefix.
 */
export const storeService = '~';

/** A key that belongs to the store itself: `["~", …]`. */
export function storeKey(...elements: readonly [TupleElement, ...TupleElement[]]): Bytes {
  return encodeTuple([storeService, ...elements]);
}

const storeKeyStart = encodeTuple([storeService]);

export function isStoreKey(key: Bytes): boolean {
  return startsWith(key, storeKeyStart);
}

/** How many elements a partition prefix has. */
export const partitionPrefixElements = 4;

/** Where the partition prefix of a key ends, in bytes. */
export function partitionPrefixLength(key: Bytes): number {
  let end = 0;
  for (let count = 0; count < partitionPrefixElements; count += 1) end = elementEnd(key, end);
  return end;
}
