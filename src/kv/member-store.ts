import type { Bytes } from '../base/bytes.js';
import type { Guarded, GuardedBatch, GuardedRangeOptions } from './guards.js';
import type { Ingestion } from './ingestion.js';
import type { RangeSample, SampleOptions } from './sample.js';
import type { CommitBatch, CommitResult, Entry, KeyRange, RangePage, Store } from './store.js';

/**
 * A store that can be one of several members of a key space which is split by ranges of partition
 * prefixes. Guards say which caller may use which range; the store that holds the guards decides. A
 * call whose guard does not hold is rejected with `GuardError` and has no effect.
 */
export interface MemberStore extends Store {
  get(key: Bytes, options?: Guarded): Promise<Entry | undefined>;
  getMany(keys: readonly Bytes[], options?: Guarded): Promise<(Entry | undefined)[]>;
  range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage>;
  commit(batch: GuardedBatch): Promise<CommitResult>;
  /**
   * A commit that writes guards. After it has resolved, no process applies a guarded commit that
   * relied on an earlier version of them, so a read then sees every write that was made under that
   * version. `commit` does not promise this.
   */
  fence(batch: CommitBatch): Promise<CommitResult>;
  /** Applies all of it or nothing, as durably as a commit. */
  ingest(ingestion: Ingestion): Promise<void>;
  /**
   * Estimates the size of a range, and finds `cuts` keys that split it into even parts; at least 0.
   */
  sample(range: KeyRange, cuts: number, options?: SampleOptions): Promise<RangeSample>;
  /** As that of a `ServedStore`. Absent: the store does not know. */
  trouble?(): Error | undefined;
}

export function canBeMember(store: Store): store is MemberStore {
  return 'fence' in store && 'ingest' in store && 'sample' in store;
}
