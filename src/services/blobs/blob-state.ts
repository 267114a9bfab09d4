import { nameOfBytes } from '../../base/bytes.js';
import type { Entry } from '../../kv/store.js';
import { invariant } from '../../base/invariant.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import {
  decodeBlobRecord,
  encodeBlobRecord,
  type BlobDraft,
  type BlobRecord,
} from './blob-record.js';
import type { Changes } from './changes.js';
import { commitChanges } from './changes.js';
import { checkReadConditions, checkWriteConditions, type ConditionUse } from './conditions.js';
import { BlobKeys } from './keys.js';
import { checkLease, leaseAfterWrite, leaseNotPresent, type StoredLease } from './lease.js';
import type { Access, BlobAddress, SnapshotAddress, Written } from './types.js';

/** The keys of a blob. Throws `ContainerNotFound`. */
export async function keysOf(
  { containers }: Pick<BlobContext, 'containers'>,
  { account, container, blob }: BlobAddress,
): Promise<BlobKeys> {
  invariant(blob !== '', 'a blob has a name');
  const prefix = await containers.prefixOf(account, container);
  if (prefix === undefined) throw new StorageError('ContainerNotFound');
  return new BlobKeys(prefix, blob);
}

/** What a change of a blob starts from. */
export interface BlobState {
  readonly keys: BlobKeys;
  /** Also of an uncommitted blob. Undefined for one that is deleted, kept or not. */
  readonly record: BlobRecord | undefined;
  /** The record of a deleted blob that is kept (blob-service §16.3). A write moves it. */
  readonly deleted: BlobRecord | undefined;
  readonly nowMicros: number;
}

type ChangePlan<T> = (state: BlobState, changes: Changes) => Promise<(version: number) => T>;

/**
 * Changes a blob by one commit that checks that its record is as it was read. `plan` may throw, and
 * may be called several times. Changes by this process take turns: at the same time all but one of
 * them would conflict, again and again.
 */
export function changeBlob<T>(
  context: BlobContext,
  keys: BlobKeys,
  plan: ChangePlan<T>,
): Promise<T> {
  const name = nameOfBytes(keys.base);
  return context.turns.run(name, () => changeBlobBeside(context, keys, plan));
}

/** The same beside other changes, for one that mostly leaves the record as it is. */
export function changeBlobBeside<T>(
  context: BlobContext,
  keys: BlobKeys,
  plan: ChangePlan<T>,
): Promise<T> {
  return commitChanges(context, async (changes) => {
    const state = await readState(context, keys, changes);
    return plan(state, changes);
  });
}

/** The blob as it is now; the commit of `changes` demands that it still is. */
export async function readState(
  { store, clock }: BlobContext,
  keys: BlobKeys,
  changes?: Changes,
): Promise<BlobState> {
  const entry = await store.get(keys.base);
  changes?.checkRead(keys.base, entry);
  const found = recordOf(entry);
  const isDeleted = found?.deleted !== undefined;
  const [record, deleted] = isDeleted ? [undefined, found] : [found, undefined];
  return { keys, record, deleted, nowMicros: clock.nowMicros() };
}

export function recordOf(entry: Entry | undefined): BlobRecord | undefined {
  return entry === undefined ? undefined : decodeBlobRecord(entry.value, entry.version);
}

/**
 * The record of a blob that exists for its clients: one with uncommitted blocks only does not, and
 * none that is deleted.
 */
export function committedOf(record: BlobRecord | undefined): BlobRecord | undefined {
  return record?.state === 'committed' && record.deleted === undefined ? record : undefined;
}

/** Throws `BlobNotFound`. */
export function existing(record: BlobRecord | undefined): BlobRecord {
  const committed = committedOf(record);
  if (committed === undefined) throw new StorageError('BlobNotFound');
  return committed;
}

/**
 * Refuses a write that the lease or the conditions do not allow, in this order (blob-service §9.5).
 * `conditions` are about a blob that exists for clients, the lease about any.
 */
export function checkWrite(
  { record, nowMicros }: BlobState,
  { leaseId, conditions = {} }: Access,
  use: ConditionUse,
): void {
  if (record === undefined && leaseId !== undefined) {
    throw new StorageError(leaseNotPresent('blob'));
  }
  checkLease(record?.lease, { id: leaseId, use: 'write' }, { holder: 'blob', nowMicros });
  checkWriteConditions(conditions, committedOf(record), use);
}

/** The lease that the record of a blob has after a write that `checkWrite` allowed. */
export function leaseKept({ record, nowMicros }: BlobState): StoredLease | undefined {
  return leaseAfterWrite(record?.lease, nowMicros);
}

/** Puts the record, and returns what a write returns: the time that the ETag shows. */
export function putRecord(
  { keys }: Pick<BlobState, 'keys'>,
  changes: Changes,
  draft: BlobDraft,
): (version: number) => Written {
  changes.put(keys.base, encodeBlobRecord(draft));
  const { modifiedMicros } = draft;
  return (version) => ({ modifiedMicros: modifiedMicros === 'commit' ? version : modifiedMicros });
}

/** The record of a snapshot; the commit of `changes` demands that it stays. Throws `BlobNotFound`. */
export async function readVersion(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  snapshotMicros: number,
  changes?: Changes,
): Promise<BlobRecord> {
  if (snapshotMicros < 0) throw new StorageError('BlobNotFound');
  const key = keys.version(snapshotMicros);
  const entry = await store.get(key);
  const record = existing(recordOf(entry));
  changes?.checkRead(key, entry);
  return record;
}

/** The record of a blob or a snapshot that may be read now. Throws `BlobNotFound`. */
export async function readRecord(
  { store, clock }: BlobContext,
  keys: BlobKeys,
  { snapshotMicros }: Pick<SnapshotAddress, 'snapshotMicros'>,
  { leaseId, conditions = {} }: Access,
): Promise<BlobRecord> {
  const record =
    snapshotMicros === undefined
      ? existing(recordOf(await store.get(keys.base)))
      : await readVersion({ store }, keys, snapshotMicros);
  const nowMicros = clock.nowMicros();
  checkLease(record.lease, { id: leaseId, use: 'read' }, { holder: 'blob', nowMicros });
  checkReadConditions(conditions, record);
  return record;
}
