import type { Bytes } from '../base/bytes.js';
import { storeKey, storeService } from '../kv/partition-prefix.js';
import type { KeyRange } from '../kv/store.js';
import { prefixRange, tupleRange } from '../kv/tuple.js';

// What the partition layer keeps, all of it under keys of a store. The catalogue is in the home
// store; guards, dirty rows and progress are in the store whose range they are about.

const owner = 'partition';

/** Every key of a store. Data have keys below it. */
export const storeKeys = tupleRange([storeService]);

/** The keys of the partition layer, which callers of the composed store do not see. */
export const layerKeys = prefixRange(storeKey(owner));

/** Catalogue: the version of the map, and the next free id. */
export const mapKey: Bytes = storeKey(owner, 'map');

export const rangeRows: KeyRange = prefixRange(storeKey(owner, 'range'));

/** Catalogue: a range, where it is, and which operation works on it. */
export function rangeKey(id: number): Bytes {
  return storeKey(owner, 'range', id);
}

/** Catalogue: the ids of the ranges that took the place of one that was split or merged. */
export function heirsKey(id: number): Bytes {
  return storeKey(owner, 'heirs', id);
}

export const operationRows: KeyRange = prefixRange(storeKey(owner, 'operation'));

/** Catalogue: an operation that is not over. */
export function operationKey(id: number): Bytes {
  return storeKey(owner, 'operation', id);
}

export const storeRows: KeyRange = prefixRange(storeKey(owner, 'store'));

/** Catalogue: a store of the key space. */
export function storeRowKey(name: string): Bytes {
  return storeKey(owner, 'store', name);
}

/** In each store: which key space it belongs to, and by what name. */
export const memberKey: Bytes = storeKey(owner, 'member');

/** In a store that is no member: the copy of which range it is. */
export const backupKey: Bytes = storeKey(owner, 'backup');

export const guardRows: KeyRange = prefixRange(storeKey(owner, 'guard'));

/** What a store does with a range. Its version is in every call of a front end. */
export function guardKey(range: number): Bytes {
  return storeKey(owner, 'guard', range);
}

/** The keys that were written in a range while a move copies it, a row for each commit. */
export function dirtyRows(range: number): KeyRange {
  return prefixRange(storeKey(owner, 'dirty', range));
}

/** `frontEnd` and `count` make the key unique. */
export function dirtyKey(range: number, frontEnd: string, count: number): Bytes {
  return storeKey(owner, 'dirty', range, frontEnd, count);
}

/** At the target of a move: where the copy goes on. */
export function progressKey(range: number): Bytes {
  return storeKey(owner, 'progress', range);
}

export const loadRows: KeyRange = prefixRange(storeKey(owner, 'load'));

/** Catalogue: what one process has measured of late. */
export function loadKey(process: string): Bytes {
  return storeKey(owner, 'load', process);
}

/** Catalogue: the process that plans for all. */
export const balancerKey: Bytes = storeKey(owner, 'balancer');
