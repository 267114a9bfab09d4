import type { Bytes } from '../../base/bytes.js';
import { isStoreKey, partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { CommitBatch } from '../../kv/store.js';

const slots = 1024;
const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/**
 * The slots that a commit holds, added to `found`: that of its partition prefix, and that of each
 * key of the store, which commits of other prefixes may touch at the same time.
 */
export function addSlots(batch: CommitBatch, found: Set<number>): void {
  for (const { key } of batch.checks) found.add(slotOf(key));
  for (const { key } of batch.puts) found.add(slotOf(key));
  for (const key of batch.deletes) found.add(slotOf(key));
  for (const { key } of batch.adds ?? []) found.add(slotOf(key));
}

/** FNV-1a. The same in every process that works on the database, so it must never change. */
function slotOf(key: Bytes): number {
  const length = isStoreKey(key) ? key.length : partitionPrefixLength(key);
  let hash = fnvOffset;
  for (let at = 0; at < length; at += 1) hash = Math.imul(hash ^ (key[at] ?? 0), fnvPrime);
  return (hash >>> 0) % slots;
}
