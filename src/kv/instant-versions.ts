import type { Bytes } from '../base/bytes.js';
import type { Store } from './store.js';

/**
 * Versions that a store may tell without waiting, so that a caller need not read again what it has
 * cached.
 */
export interface InstantVersions {
  /**
   * The version of the entry that a `get` of the key which begins now would find. Undefined when
   * there is no entry, or when the store cannot tell at once: then `get` does. Throws what `get`
   * rejects with.
   */
  versionNow(key: Bytes): number | undefined;
}

export function hasInstantVersions(store: Store): store is Store & InstantVersions {
  return 'versionNow' in store;
}
