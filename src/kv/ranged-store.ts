import type { KeyRange, Store } from './store.js';

/** A store whose keys are in several places, cut into ranges. */
export interface RangedStore extends Store {
  /**
   * The ids of the ranges that have keys of an interval, as this process knows them. A range may
   * have split, merged or moved since.
   */
  rangesIn(interval: KeyRange): readonly number[];
}

export function isRanged(store: Store): store is RangedStore {
  return 'rangesIn' in store;
}
