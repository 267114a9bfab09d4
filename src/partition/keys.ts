import type { Bytes } from '../base/bytes.js';
import { storeKey, storeService } from '../kv/partition-prefix.js';
import type { KeyRange } from '../kv/store.js';
import { prefixRange, tupleRange } from '../kv/tuple.js';

// The keys of the partition layer's own rows. The catalogue is in the home store; guards, dirty
// rows and progress are in the store that has, or gets, the range.

const owner = 'partition';

/** All keys of the store itself. The keys of data come before them. */
export const storeKeys = tupleRange([storeService]);

/** The keys of the partition layer, which callers of the composed store do not see. */
export const layerKeys = prefixRange(storeKey(owner));

/** Catalogue: the version of the map, and the next free id. */
export const mapKey: Bytes = storeKey(owner, 'map');

export const rangeRows: KeyRange = prefixRange(storeKey(owner, 'range'));

/** Catalogue: a range, its store, and the operation that works on it. */
export function rangeKey(id: number): Bytes {
  return storeKey(owner, 'range', id);
}

/** Catalogue: the ids of the ranges that replaced one that was split or merged. */
export function successorsKey(id: number): Bytes {
  return storeKey(owner, 'successors', id);
}

export const operationRows: KeyRange = prefixRange(storeKey(owner, 'operation'));

/** Catalogue: an unfinished operation. */
export function operationKey(id: number): Bytes {
  return storeKey(owner, 'operation', id);
}

export const storeRows: KeyRange = prefixRange(storeKey(owner, 'store'));

/** Catalogue: a store of the key space. */
export function storeRowKey(name: string): Bytes {
  return storeKey(owner, 'store', name);
}

export const lostRows: KeyRange = prefixRange(storeKey(owner, 'lost'));

/** Catalogue: a store that is lost for good. Its name is never used again. */
export function lostKey(name: string): Bytes {
  return storeKey(owner, 'lost', name);
}

/** In each store: which key space it belongs to, and by what name. */
export const memberKey: Bytes = storeKey(owner, 'member');

/** In a store that holds a backup: the range that it is a copy of. */
export const backupKey: Bytes = storeKey(owner, 'backup');

export const guardRows: KeyRange = prefixRange(storeKey(owner, 'guard'));

/**
 * The guard of a range in its store: whether reads and writes are served. Each call of a front end
 * demands the version that it knows.
 */
export function guardKey(range: number): Bytes {
  return storeKey(owner, 'guard', range);
}

/** The dirty rows of a range, one for each commit during a move: the keys that it wrote. */
export function dirtyRows(range: number): KeyRange {
  return prefixRange(storeKey(owner, 'dirty', range));
}

/** `frontEnd` and `count` make the key unique. */
export function dirtyKey(range: number, frontEnd: string, count: number): Bytes {
  return storeKey(owner, 'dirty', range, frontEnd, count);
}

/** At the target of a move: the key at which copying continues. */
export function progressKey(range: number): Bytes {
  return storeKey(owner, 'progress', range);
}

export const loadRows: KeyRange = prefixRange(storeKey(owner, 'load'));

/** Catalogue: the loads that one process has measured recently. */
export function loadKey(process: string): Bytes {
  return storeKey(owner, 'load', process);
}

/** Catalogue: how far a comparison of the ranges with the stores has come. */
export const verificationKey: Bytes = storeKey(owner, 'verification');

/** Catalogue: the process that plans operations for the whole key space. */
export const balancerKey: Bytes = storeKey(owner, 'balancer');
