import type { Bytes } from '../base/bytes.js';
import { equalBytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import { partitionPrefixLength } from './partition-prefix.js';
import type { CommitBatch, Store } from './store.js';

/**
 * The same store, but a commit breaks an invariant when its keys do not share one partition prefix
 * or when a key occurs twice among its writes. For the tests of whoever builds commits.
 */
export function withPartitionRule(store: Store): Store {
  return {
    get: (key) => store.get(key),
    getMany: (keys) => store.getMany(keys),
    range: (range, options) => store.range(range, options),
    close: () => store.close(),
    async commit(batch) {
      assertPartitionRule(batch);
      return store.commit(batch);
    },
  };
}

function assertPartitionRule(batch: CommitBatch): void {
  const keyed = [...batch.puts, ...(batch.adds ?? [])];
  const written = [...keyed.map(({ key }) => key), ...batch.deletes];
  const keys = [...batch.checks.map(({ key }) => key), ...written];
  const [first] = keys;
  if (first === undefined) return;
  const prefix = prefixOf(first);
  for (const key of keys) {
    invariant(equalBytes(prefixOf(key), prefix), 'a commit touches one partition prefix');
  }
  const names = new Set(written.map((key) => Buffer.from(key).toString('latin1')));
  invariant(names.size === written.length, 'a commit writes a key once');
}

function prefixOf(key: Bytes): Bytes {
  return key.subarray(0, partitionPrefixLength(key));
}
