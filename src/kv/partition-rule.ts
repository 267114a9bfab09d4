import type { Bytes } from '../base/bytes.js';
import { equalBytes, nameOfBytes, startsWith } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { isStoreKey, partitionPrefixLength } from './partition-prefix.js';
import type { CommitBatch, Entry, RangeOptions, Store } from './store.js';

/**
 * Restricts a store to what the contract promises about partition prefixes; for tests. A commit
 * breaks an invariant when its keys have several prefixes (keys of the store aside), or when a key
 * occurs twice among its writes. A page ends with a prefix. Keys of several prefixes are read one
 * prefix after the other.
 */
export function withPartitionRule(store: Store): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => getByPrefix(store, keys),
    range: (range, options) => store.range(range, withinPrefix(options)),
    close: () => store.close(),
    async commit(batch) {
      assertPartitionRule(batch);
      return store.commit(batch);
    },
  };
}

export function assertPartitionRule(batch: CommitBatch): void {
  const keyed = [...batch.puts, ...(batch.adds ?? [])];
  const written = [...keyed.map(({ key }) => key), ...batch.deletes];
  const keys = [...batch.checks.map(({ key }) => key), ...written];
  const prefixes = keys.filter((key) => !isStoreKey(key)).map(prefixOf);
  const [first = noBytes] = prefixes;
  const isOne = prefixes.every((prefix) => equalBytes(prefix, first));
  invariant(isOne, 'a commit touches one partition prefix');
  const names = new Set(written.map((key) => nameOfBytes(key)));
  invariant(names.size === written.length, 'a commit writes a key once');
}

/** A key of the store has no partition prefix and stands for itself. */
function prefixOf(key: Bytes): Bytes {
  return isStoreKey(key) ? key : key.subarray(0, partitionPrefixLength(key));
}

async function getByPrefix(store: Store, keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
  const groups = new Map<string, Bytes[]>();
  for (const key of keys) {
    const name = nameOfBytes(prefixOf(key));
    groups.set(name, [...(groups.get(name) ?? []), key]);
  }
  const found = new Map<string, Entry>();
  for (const group of groups.values()) {
    const entries = await store.getMany(group);
    for (const entry of entries) if (entry !== undefined) found.set(nameOfBytes(entry.key), entry);
  }
  return keys.map((key) => found.get(nameOfBytes(key)));
}

/** Stops at the first entry whose partition prefix differs from that of a taken or used one. */
function withinPrefix(options: RangeOptions): RangeOptions {
  let prefix: Bytes | undefined;
  return {
    ...options,
    filter(candidate) {
      if (prefix !== undefined && !startsWith(candidate.key, prefix)) return 'stop';
      const decision = options.filter?.(candidate) ?? 'take';
      if (decision === 'take' || decision === 'use')
        prefix ??= Buffer.from(prefixOf(candidate.key));
      return decision;
    },
  };
}

const noBytes: Bytes = Buffer.alloc(0);
