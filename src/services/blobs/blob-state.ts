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
import type { Access, BlobAddress, BlobStateSelector, Written } from './types.js';

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
  /**
   * The record, also of an uncommitted blob. Undefined when there is none, or only a deleted one.
   */
  readonly record: BlobRecord | undefined;
  /** The record of a soft-deleted blob (blob-service §16.3). A write moves it to another key. */
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

/** As `changeBlob`, but without turns: for changes that mostly leave the record as it is. */
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

/** The record of a blob that clients can see: neither deleted, nor with uncommitted blocks only. */
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
 * Refuses a write that the lease or the conditions do not allow (`checkAccess`), and a write to the
 * target of an incremental copy.
 */
export function checkWrite(state: BlobState, access: Access, use: ConditionUse): void {
  checkAccess(state, access, use);
  refuseIncremental(state.record);
}

/**
 * Only incremental copies change the target of an incremental copy, and only its snapshots can be
 * read (blob-service §14). Throws `OperationNotAllowedOnIncrementalCopyBlob`.
 */
export function refuseIncremental(record: BlobRecord | undefined): void {
  if (record?.copy?.incremental === undefined) return;
  throw new StorageError('OperationNotAllowedOnIncrementalCopyBlob');
}

/**
 * Refuses what the lease, a pending copy or the conditions do not allow, in this order
 * (blob-service §9.5, §17.1). `conditions` are about a blob that clients see, the lease about any.
 */
export function checkAccess(
  { record, nowMicros }: BlobState,
  { leaseId, conditions = {} }: Access,
  use: ConditionUse,
): void {
  if (record === undefined && leaseId !== undefined) {
    throw new StorageError(leaseNotPresent('blob'));
  }
  checkLease(record?.lease, { id: leaseId, use: 'write' }, { holder: 'blob', nowMicros });
  if (record?.copy?.status === 'pending') throw new StorageError('PendingCopyOperation');
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
  const { modifiedMicros, versionMicros } = draft;
  return (version) => ({
    modifiedMicros: modifiedMicros === 'commit' ? version : modifiedMicros,
    ...(versionMicros !== undefined && { versionMicros }),
  });
}

/**
 * The time of the snapshot or former version that a request addresses; undefined for the blob
 * itself, which may be addressed by its version. `record`: that of the blob.
 */
export function pastMicros(
  record: BlobRecord | undefined,
  { snapshotMicros, versionMicros }: BlobStateSelector,
): number | undefined {
  if (snapshotMicros !== undefined) return snapshotMicros;
  return versionMicros === record?.versionMicros ? undefined : versionMicros;
}

/**
 * The entry of a snapshot or former version, deleted or not; undefined when there is none of this
 * time. The commit of `changes` demands that the entry stays as it is.
 */
export async function findPast(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  { snapshotMicros, versionMicros }: BlobStateSelector,
  changes?: Changes,
): Promise<BlobRecord | undefined> {
  const micros = snapshotMicros ?? versionMicros ?? -1;
  if (micros < 0) return undefined;
  const key = keys.version(micros);
  const entry = await store.get(key);
  const record = recordOf(entry);
  if (record?.versionMicros !== versionMicros) return undefined;
  changes?.checkRead(key, entry);
  return record;
}

/**
 * The entry of a snapshot or former version that is not deleted. Throws `BlobNotFound` when there
 * is none. The commit of `changes` demands that it stays.
 */
export async function readPast(
  context: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  selector: BlobStateSelector,
  changes?: Changes,
): Promise<BlobRecord> {
  return existing(await findPast(context, keys, selector, changes));
}

/** A record that was found for a request. */
export interface FoundRecord {
  readonly record: BlobRecord;
  /** Whether it is the record of the blob itself, not of a snapshot or former version. */
  readonly isBlob: boolean;
  /** The version of the entry of the blob itself. */
  readonly entryVersion?: number;
}

/** The record that an address is about. Throws `BlobNotFound`. */
export async function findRecord(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  selector: BlobStateSelector,
): Promise<FoundRecord> {
  // Reads the blob first: a write moves its old record to the key of a version.
  const entry = selector.snapshotMicros === undefined ? await store.get(keys.base) : undefined;
  const blob = committedOf(recordOf(entry));
  if (pastMicros(blob, selector) !== undefined) {
    return { record: await readPast({ store }, keys, selector), isBlob: false };
  }
  const record = existing(blob);
  return { record, isBlob: true, ...(entry !== undefined && { entryVersion: entry.version }) };
}

/** As `findRecord`. Throws when the lease or the conditions do not allow the read. */
export async function readRecord(
  { store, clock }: BlobContext,
  keys: BlobKeys,
  selector: BlobStateSelector,
  { leaseId, conditions = {} }: Access,
): Promise<FoundRecord> {
  const found = await findRecord({ store }, keys, selector);
  const { record } = found;
  const nowMicros = clock.nowMicros();
  checkLease(record.lease, { id: leaseId, use: 'read' }, { holder: 'blob', nowMicros });
  checkReadConditions(conditions, record);
  return found;
}
