import type { Entry, Store } from './store.js';

/** The full content of a store at one moment, versions included. Immutable. */
export interface StoreSnapshot {
  readonly entries: number;
}

/**
 * Saving and restoring the content of a store, for test suites and the like. The caller must
 * prevent other writes meanwhile. Versions after a restore are greater than all earlier ones,
 * including those that the restore removed.
 */
export interface SnapshotStore {
  takeSnapshot(): Promise<StoreSnapshot>;
  /**
   * Replaces the whole content, atomically and as durably as a commit. Takes a snapshot of this
   * store; when absent, the store is emptied. `beside`: entries that a store in front of this one
   * keeps here. They are put in the same step and keep their versions.
   */
  restoreSnapshot(snapshot?: StoreSnapshot, beside?: readonly Entry[]): Promise<void>;
}

export function canSnapshot(store: Store): store is Store & SnapshotStore {
  return 'takeSnapshot' in store && 'restoreSnapshot' in store;
}
