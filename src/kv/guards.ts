import type { Bytes } from '../base/bytes.js';
import { GuardError } from './errors.js';
import type { CommitBatch, RangeOptions } from './store.js';

/**
 * A key of the store (`storeKey`) and the version that it has for as long as the caller may do what
 * it does: whoever sees to ranges writes the key, and all who do not know of it are refused.
 */
export interface Guard {
  readonly key: Bytes;
  readonly version: number;
}

/** A call that is carried out only while its guard stands, which is read in the same snapshot. */
export interface Guarded {
  readonly guard?: Guard;
}

export interface GuardedBatch extends CommitBatch, Guarded {}

export interface GuardedRangeOptions extends RangeOptions, Guarded {}

/** Why a call is not carried out, given the version at the guard's key. */
export function guardRefusal(guard: Guard, actual: number | 'absent'): GuardError | undefined {
  return actual === guard.version ? undefined : new GuardError(actual);
}
