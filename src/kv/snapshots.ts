import type { Store } from './store.js';

/** Everything that a store held at one moment, versions included. Never changes. */
export interface StoreSnapshot {
  readonly entries: number;
}

/**
 * What a store can do besides its contract for those who set data back, such as test suites. The
 * caller sees to it that nothing else writes meanwhile. Versions that a store gives out afterwards
 * are greater than every one that it gave out before, also than those that it has forgotten.
 */
export interface SnapshotStore extends Store {
  takeSnapshot(): Promise<StoreSnapshot>;
  /** The greatest version given out so far, by any process and before restarts; else 0. */
  lastVersion(): Promise<number>;
  /**
   * Replaces all that is there, atomically and as durably as a commit. Only for a snapshot of this
   * store; absent: by nothing.
   */
  restoreSnapshot(snapshot?: StoreSnapshot): Promise<void>;
}
