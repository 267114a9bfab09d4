import type { Bytes } from '../base/bytes.js';
import { elementEnd, encodeTuple } from './tuple.js';

/**
 * How every key of the product begins: service, account, container (a table's id, a queue, a blob
 * container), partition key. A commit touches one partition prefix; data moves between stores by
 * ranges of them.
 */
export function partitionPrefix(
  service: string,
  account: string,
  container: string | number,
  partition: string,
): Bytes {
  return encodeTuple([service, account, container, partition]);
}

/** How many elements a partition prefix has. */
export const partitionPrefixElements = 4;

/** Where the partition prefix of a key ends, in bytes. */
export function partitionPrefixLength(key: Bytes): number {
  let end = 0;
  for (let count = 0; count < partitionPrefixElements; count += 1) end = elementEnd(key, end);
  return end;
}
