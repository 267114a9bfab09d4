import { StoreWriteError } from '../kv/errors.js';
import type { ServedStore } from '../kv/served-store.js';

/**
 * Whether the store takes no commits because acknowledged ones are lost. One that accepts the loss
 * goes on. Of several stores the trouble is that of the home store.
 */
export function refusesLoss(store: Pick<ServedStore, 'hasLost' | 'trouble'>): boolean {
  return store.hasLost?.() === true && store.trouble() instanceof StoreWriteError;
}

/**
 * Whether what the store has told of its commits holds. One that refuses writes has told of each
 * what became of it; only those of unknown outcome leave extents that wait. After a loss, a
 * failure, or with files that were moved, any may differ. So they may in a store that is away: a
 * standby that lacks some may take over, and this process would not learn of it. Of several stores
 * the trouble is that of the home store, which has all that names bytes.
 */
export function areCommitsCertain(store: Pick<ServedStore, 'hasLost' | 'trouble'>): boolean {
  if (store.hasLost?.() === true) return false;
  const trouble = store.trouble();
  return trouble === undefined || trouble instanceof StoreWriteError;
}
