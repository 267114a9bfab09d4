import { equalBytes } from '../../base/bytes.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { filteredEntries, firstFiltered } from '../../kv/filtered-entries.js';
import type { Candidate, Entry } from '../../kv/store.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, peekBlobRecord, type BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkAccess,
  committedOf,
  findPast,
  keysOf,
  pastMicros,
  putRecord,
  readPast,
  type BlobState,
} from './blob-state.js';
import type { Changes } from './changes.js';
import { releaseContents } from './contents.js';
import { accountOfKey, type BlobKeys } from './keys.js';
import { checkDeletable } from './protection.js';
import { asDeleted, asDeletedPast, deletionMark, type PastRecord } from './retention.js';
import { dropBlockStage } from './block-stages.js';
import type { Access, DeleteOptions, BlobStateSelector, SnapshotAddress } from './types.js';
import { snapshotGenerations } from './unseen-pages.js';
import { asVersion, keepsVersion, putPast } from './versions.js';

/** Snapshots that one deletion takes along, by one commit; more are refused with `ServerBusy`. */
const snapshotsAtOnceMax = 10_000;

/** The outcome of Delete Blob. */
export interface Deletion {
  /** False: it is kept for a time, and can be restored. */
  readonly isPermanent: boolean;
}

/**
 * Delete Blob (blob-service §16.2): the blob, also an uncommitted one; its snapshots with it, or
 * alone. In one commit, whatever its size; the space is freed later. An account with a retention
 * keeps what is deleted, uncommitted blocks aside; in one with versions the blob stays as one.
 * Nothing is deleted where a policy or a legal hold protects the blob or one of the snapshots
 * (blob-service §15.5).
 */
export async function deleteBlob(
  context: BlobContext,
  address: SnapshotAddress,
  { snapshots, permanently = false, ...access }: DeleteOptions,
): Promise<Deletion> {
  const keys = await keysOf(context, address);
  if (permanently) return endRetention(context, keys, address, access);
  const { snapshotMicros, versionMicros } = address;
  if ((snapshotMicros ?? versionMicros) !== undefined) {
    return deletePast(context, keys, address, access);
  }
  return changeBlob<Deletion>(context, keys, async (state, changes) => {
    const { record } = state;
    if (record === undefined) throw new StorageError('BlobNotFound');
    checkAccess(state, access, 'change');
    if (snapshots === undefined && (await hasSnapshots(context, state))) {
      throw new StorageError('SnapshotsPresent');
    }
    const snapshotsThere = snapshots === undefined ? [] : await snapshotsOf(context, state);
    const { nowMicros } = state;
    const isBlobDeleted = snapshots !== 'only';
    if (isBlobDeleted) checkDeletable(record, nowMicros);
    for (const entry of snapshotsThere) {
      if (peekBlobRecord(entry.value).isKept) checkDeletable(recordIn(entry), nowMicros);
    }
    const isCommitted = record.state === 'committed';
    const mark = isCommitted ? await deletionMark(context, state) : undefined;
    if (isBlobDeleted) await dropBlockStage(context, keys, changes, record);
    const becomesVersion = isBlobDeleted && isCommitted && keepsVersion(context, state, record);
    if (becomesVersion) {
      changes.delete(keys.base);
      putPast(state, changes, await asVersion(context, state, record));
    }
    if (mark !== undefined) {
      for (const entry of snapshotsThere) markPast(keys, changes, entry, mark);
      if (isBlobDeleted && !becomesVersion) putRecord(state, changes, asDeleted(record, mark));
      context.onGarbage();
      return () => ({ isPermanent: false });
    }
    const given = snapshotsThere.map((entry) => releasePast(changes, entry));
    if (isBlobDeleted && !becomesVersion) {
      changes.delete(keys.base);
      given.push(record);
    } else if (!isBlobDeleted && record.page !== undefined) {
      const sharedGeneration = await lastGeneration(context, keys, record, given);
      putRecord(state, changes, { ...record, page: { ...record.page, sharedGeneration } });
    }
    await releaseContents(context, keys, changes, given);
    context.onGarbage();
    return () => ({ isPermanent: !becomesVersion });
  });
}

/**
 * Deletes a single snapshot or version. It has no lease, and that of its blob does not protect it.
 * Throws `OperationNotAllowedOnRootBlob` for the version that is the blob itself.
 */
function deletePast(
  context: BlobContext,
  keys: BlobKeys,
  selector: BlobStateSelector,
  access: Access,
): Promise<Deletion> {
  return changeBlob<Deletion>(context, keys, async (state, changes) => {
    const micros = pastMicros(committedOf(state.record), selector);
    if (micros === undefined) throw new StorageError('OperationNotAllowedOnRootBlob');
    const record = await readPast(context, keys, selector, changes);
    checkAccess({ ...state, record }, access, 'change');
    checkDeletable(record, state.nowMicros);
    const mark = await deletionMark(context, state);
    if (mark !== undefined) {
      putPast(state, changes, asDeletedPast({ micros, record }, mark));
      return () => ({ isPermanent: false });
    }
    await dropPast(context, state, changes, { micros, record });
    context.onGarbage();
    return () => ({ isPermanent: true });
  });
}

/**
 * Deletes a soft-deleted snapshot or version permanently before its retention ends (blob-service
 * §16.2).
 */
async function endRetention(
  context: BlobContext,
  keys: BlobKeys,
  selector: BlobStateSelector,
  access: Access,
): Promise<Deletion> {
  const policy = await context.retention(accountOfKey(keys.base));
  return changeBlob(context, keys, async (state, changes) => {
    const { record: blob, deleted } = state;
    const micros = pastMicros(committedOf(blob), selector);
    if (micros === undefined) {
      if (blob === undefined && deleted === undefined) throw new StorageError('BlobNotFound');
      throw notEnded('Only a deleted snapshot or version can be deleted permanently.');
    }
    const record = await findPast(context, keys, selector, changes);
    if (record === undefined) throw new StorageError('BlobNotFound');
    if (record.deleted === undefined) throw new StorageError('BlobSnapshotNotSoftDeleted');
    if (policy?.allowPermanentDelete !== true) {
      throw notEnded('The properties of the service do not allow permanent deletion.');
    }
    checkAccess({ ...state, record: { ...record, deleted: undefined } }, access, 'change');
    await dropPast(context, state, changes, { micros, record });
    context.onGarbage();
    return () => ({ isPermanent: true });
  });
}

function notEnded(message: string): StorageError {
  return new StorageError('BlobSnapshotNotSoftDeleted', { message });
}

/** Deletes a snapshot or a version permanently, also a soft-deleted one. */
export async function dropPast(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  { micros, record }: PastRecord,
): Promise<void> {
  changes.delete(state.keys.version(micros));
  await releaseContents(context, state.keys, changes, [record]);
  await unshare(context, state, changes, record);
}

/** Lowers the shared generation of a page blob when the last record that shares it is deleted. */
async function unshare(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  gone: BlobRecord,
): Promise<void> {
  const { keys, record } = state;
  if (record?.page === undefined || !isOfOneContent(record, gone)) return;
  if (record.page.sharedGeneration !== gone.page?.generation) return;
  const sharedGeneration = await lastGeneration(context, keys, record, [gone]);
  putRecord(state, changes, { ...record, page: { ...record.page, sharedGeneration } });
}

/**
 * The last generation of a page blob that a record other than `gone` sees; 0 when there is none.
 */
export async function lastGeneration(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  record: BlobRecord,
  gone: readonly BlobRecord[] = [],
): Promise<number> {
  if (record.content === undefined || record.page === undefined) return 0;
  const generations = await snapshotGenerations(store, keys, record.content.id);
  for (const past of gone) {
    // A snapshot and a version may have the same.
    const at = isOfOneContent(record, past) ? generations.indexOf(past.page?.generation ?? 0) : -1;
    if (at >= 0) generations.splice(at, 1);
  }
  return generations.reduce((last, generation) => Math.max(last, generation), 0);
}

function isOfOneContent({ content: left }: BlobRecord, { content: right }: BlobRecord): boolean {
  return left !== undefined && right !== undefined && equalBytes(left.id, right.id);
}

/** The snapshots that are not deleted. One that is taken meanwhile changes the blob's record. */
async function snapshotsOf({ store }: BlobContext, { keys }: BlobState): Promise<readonly Entry[]> {
  const snapshots: Entry[] = [];
  const limits = { limit: snapshotsAtOnceMax, bytesMax: Infinity, filter: takeLive };
  for await (const snapshot of filteredEntries(store, keys.versions(), limits)) {
    if (snapshots.length === snapshotsAtOnceMax) throw tooManySnapshots();
    snapshots.push(snapshot);
  }
  return snapshots;
}

function tooManySnapshots(): StorageError {
  const message =
    `The blob has more than ${snapshotsAtOnceMax} snapshots, too many for one request. ` +
    'Delete some of them by themselves, then repeat it.';
  return new StorageError('ServerBusy', { message });
}

/** Whether there are any. One that is taken meanwhile changes the blob's record. */
async function hasSnapshots({ store }: BlobContext, { keys }: BlobState): Promise<boolean> {
  return (await firstFiltered(store, keys.versions(), { filter: takeLive })) !== undefined;
}

function takeLive({ value }: Candidate): 'take' | 'skip' {
  const { isDeleted, isVersion } = peekBlobRecord(value);
  return isDeleted || isVersion ? 'skip' : 'take';
}

function markPast(
  keys: BlobKeys,
  changes: Changes,
  entry: Entry,
  mark: NonNullable<BlobRecord['deleted']>,
): void {
  const record = recordIn(entry);
  changes.checkRead(entry.key, entry);
  putPast({ keys }, changes, asDeletedPast({ micros: keys.microsOf(entry.key), record }, mark));
}

function releasePast(changes: Changes, entry: Entry) {
  changes.checkRead(entry.key, entry);
  changes.delete(entry.key);
  return recordIn(entry);
}

function recordIn({ value, version }: Entry): BlobRecord {
  return decodeBlobRecord(value, version);
}
