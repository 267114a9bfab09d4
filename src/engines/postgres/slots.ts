import type { Bytes } from '../../base/bytes.js';
import { isStoreKey, partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { CommitBatch } from '../../kv/store.js';

const slots = 1024;
const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;

/**
 * The slots that a commit locks: one for its partition prefix, and one for each key of the store
 * itself, because commits of other prefixes may touch the same key. A commit without keys locks the
 * first slot: its version is acknowledged, and would be reported as lost if no slot showed it.
 */
export function slotsOf({ checks, puts, deletes, adds = [] }: CommitBatch): readonly number[] {
  const found = new Set<number>();
  let last: Bytes | undefined;
  const add = (key: Bytes): void => {
    // Commits often write the key that they have just checked.
    if (key !== last) found.add(slotOf(key));
    last = key;
  };
  for (const [at, { key }] of checks.entries()) {
    add(key);
    const put = puts[at]?.key;
    if (put === key) continue;
    if (put !== undefined) add(put);
  }
  for (const { key } of puts.slice(checks.length)) add(key);
  for (const key of deletes) add(key);
  for (const { key } of adds) add(key);
  return found.size > 0 ? [...found] : [0];
}

/** The slots of several lists, each once, in the order of locking. */
export function inLockOrder(lists: Iterable<readonly number[]>): readonly number[] {
  const all = new Set<number>();
  for (const list of lists) for (const slot of list) all.add(slot);
  return [...all].sort((left, right) => left - right);
}

/** FNV-1a. The same in every process that works on the database, so it must never change. */
function slotOf(key: Bytes): number {
  const length = isStoreKey(key) ? key.length : partitionPrefixLength(key);
  let hash = fnvOffset;
  for (let at = 0; at < length; at += 1) hash = Math.imul(hash ^ (key[at] ?? 0), fnvPrime);
  return (hash >>> 0) % slots;
}
