import type { Bytes } from '../base/bytes.js';
import { GuardError } from './errors.js';
import type { CommitBatch, RangeOptions } from './store.js';

/**
 * A key of the store (`storeKey`) and the version that it must have for the caller to proceed. The
 * owner of a range writes the key; callers that do not know the new version are refused.
 */
export interface Guard {
  readonly key: Bytes;
  readonly version: number;
}

/**
 * A call that is carried out only while its guard holds. The guard is read in the same snapshot.
 */
export interface Guarded {
  readonly guard?: Guard;
}

export interface GuardedBatch extends CommitBatch, Guarded {}

export interface GuardedRangeOptions extends RangeOptions, Guarded {}

/** Why a call is refused, given the version at the guard's key; undefined when it is not. */
export function guardRefusal(guard: Guard, actual: number | 'absent'): GuardError | undefined {
  return actual === guard.version ? undefined : new GuardError(actual);
}
