import type { Store } from './store.js';

/** Everything that a store held at one moment, versions included. Never changes. */
export interface StoreSnapshot {
  readonly entries: number;
}

/**
 * What a store may be able to do besides its contract for those who set data back, such as test
 * suites. The caller sees to it that nothing else writes meanwhile. Versions that a store gives out
 * afterwards are greater than every one that it gave out before, also than those that it has
 * forgotten.
 */
export interface SnapshotStore {
  takeSnapshot(): Promise<StoreSnapshot>;
  /**
   * Replaces all that is there, atomically and as durably as a commit. Only for a snapshot of this
   * store; absent: by nothing.
   */
  restoreSnapshot(snapshot?: StoreSnapshot): Promise<void>;
}

export function canSnapshot(store: Store): store is Store & SnapshotStore {
  return 'takeSnapshot' in store && 'restoreSnapshot' in store;
}
