/**
 * The key space under every service: the contract of an engine, the encoding of keys, and
 * transactions over the contract. Published as `tabularium/kv`, for authors of engines and for
 * programs that store other data in the same way.
 *
 * @packageDocumentation
 */
export type {
  Add,
  Candidate,
  Check,
  CommitBatch,
  CommitResult,
  Entry,
  KeyRange,
  Put,
  RangeOptions,
  RangePage,
  Store,
  Decision,
} from './store.js';
export { keyBytesMax } from './store.js';
export type { SnapshotStore, StoreSnapshot } from './snapshots.js';
export { canSnapshot } from './snapshots.js';
export { assertBatch, assertKey, assertRangeOptions } from './limits.js';
export { decodeCounter, encodeCounter } from './counter.js';
export {
  CommitUnknownError,
  GuardError,
  StoreBusyError,
  StoreClosedError,
  StoreDamagedError,
  StoreFailedError,
  StoreUnavailableError,
  StoreWriteError,
  TransactionConflictError,
} from './errors.js';
export type { Guard, Guarded, GuardedBatch, GuardedRangeOptions } from './guards.js';
export { guardRefusal } from './guards.js';
export type { Ingestion } from './ingestion.js';
export type { InstantVersions } from './instant-versions.js';
export { hasInstantVersions } from './instant-versions.js';
export type { MemberStore } from './member-store.js';
export { canBeMember } from './member-store.js';
export type { RangeSample } from './sample.js';
export { sampleByReading } from './sample.js';
export type { ServedStore, StoreEvents } from './served-store.js';
export type { TupleElement } from './tuple.js';
export {
  appendNumber,
  appendString,
  appendTuple,
  decodeTuple,
  elementEnd,
  encodeTuple,
  keyAfter,
  prefixRange,
  stringAt,
  tupleRange,
} from './tuple.js';
export {
  isStoreKey,
  partitionPrefix,
  partitionPrefixLength,
  storeKey,
} from './partition-prefix.js';
export type { TransactOptions, Transaction, TransactionResult } from './transact.js';
export { transact } from './transact.js';
