import type { Bytes } from '../base/bytes.js';
import type { Guarded, GuardedBatch, GuardedRangeOptions } from './guards.js';
import type { Ingestion } from './ingestion.js';
import type { RangeSample } from './sample.js';
import type { CommitBatch, CommitResult, Entry, KeyRange, RangePage, Store } from './store.js';

/**
 * A store that can be one of several which share a key space by ranges of partition prefixes. Who
 * may read and write which range is told by guards, and decided by the store that holds them. A
 * call whose guard does not stand is rejected with `GuardError`, and has done nothing.
 */
export interface MemberStore extends Store {
  get(key: Bytes, options?: Guarded): Promise<Entry | undefined>;
  getMany(keys: readonly Bytes[], options?: Guarded): Promise<(Entry | undefined)[]>;
  range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage>;
  commit(batch: GuardedBatch): Promise<CommitResult>;
  /**
   * A commit that writes guards. When it has resolved, no guarded commit that saw a former version
   * of them is applied any more, from whatever process: what is read from then on is all that was
   * ever written under it. `commit` promises no such thing.
   */
  fence(batch: CommitBatch): Promise<CommitResult>;
  /** Applies all of it or nothing, as durably as a commit. */
  ingest(ingestion: Ingestion): Promise<void>;
  /** How much a range holds, about, and where `cuts` keys cut it into even parts; at least 0. */
  sample(range: KeyRange, cuts: number, options?: Guarded): Promise<RangeSample>;
}

export function canBeMember(store: Store): store is MemberStore {
  return 'fence' in store && 'ingest' in store && 'sample' in store;
}
