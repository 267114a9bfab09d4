import { equalBytes } from '../../base/bytes.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Candidate, Decision, Entry } from '../../kv/store.js';
import type { BlobContext } from './blob-context.js';
import {
  decodeBlobRecord,
  encodeBlobRecord,
  peekBlobRecord,
  type BlobRecord,
} from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  keysOf,
  putRecord,
  readVersion,
  recordOf,
  type BlobState,
} from './blob-state.js';
import type { Changes } from './changes.js';
import { releaseContents } from './contents.js';
import { accountOfKey, type BlobKeys } from './keys.js';
import { asDeleted, deletionMark } from './retention.js';
import { dropStage } from './stages.js';
import type { Access, DeleteOptions, SnapshotAddress } from './types.js';
import { snapshotGenerations } from './unseen-pages.js';

/** Snapshots that one deletion takes along; more are refused with `ServerBusy`. */
const snapshotsAtOnceMax = 10_000;

/** The outcome of Delete Blob. */
export interface Deletion {
  /** False: it is kept for a time, and can be restored. */
  readonly isPermanent: boolean;
}

/**
 * Delete Blob (blob-service §16.2): the blob, also an uncommitted one; its snapshots with it, or
 * alone. In one commit, whatever its size; the space is freed later. An account with a retention
 * keeps what is deleted, uncommitted blocks aside.
 */
export async function deleteBlob(
  context: BlobContext,
  address: SnapshotAddress,
  { snapshots, permanently = false, ...access }: DeleteOptions,
): Promise<Deletion> {
  const keys = await keysOf(context, address);
  const { snapshotMicros } = address;
  if (permanently) return endRetention(context, keys, snapshotMicros, access);
  if (snapshotMicros !== undefined) return deleteSnapshot(context, keys, snapshotMicros, access);
  return changeBlob<Deletion>(context, keys, async (state, changes) => {
    const { record } = state;
    if (record === undefined) throw new StorageError('BlobNotFound');
    checkWrite(state, access, 'change');
    const versions = await versionsOf(context, state);
    if (versions.length > 0 && snapshots === undefined) throw new StorageError('SnapshotsPresent');
    const mark = record.state === 'committed' ? await deletionMark(context, state) : undefined;
    if (snapshots !== 'only') await dropStage(context, keys, changes, record);
    if (mark !== undefined) {
      for (const entry of versions) markVersion(changes, entry, mark);
      if (snapshots !== 'only') putRecord(state, changes, asDeleted(record, mark));
      context.onGarbage();
      return () => ({ isPermanent: false });
    }
    const given = versions.map((entry) => releaseVersion(changes, entry));
    if (snapshots !== 'only') {
      changes.delete(keys.base);
      given.push(record);
    } else if (record.page !== undefined) {
      const sharedGeneration = await lastGeneration(context, keys, record, given);
      putRecord(state, changes, { ...record, page: { ...record.page, sharedGeneration } });
    }
    await releaseContents(context, keys, changes, given);
    context.onGarbage();
    return () => ({ isPermanent: true });
  });
}

/** A snapshot alone. It has no lease, and that of its blob does not protect it. */
function deleteSnapshot(
  context: BlobContext,
  keys: BlobKeys,
  micros: number,
  access: Access,
): Promise<Deletion> {
  return changeBlob<Deletion>(context, keys, async (state, changes) => {
    const record = await readVersion(context, keys, micros, changes);
    checkWrite({ ...state, record }, access, 'change');
    const mark = await deletionMark(context, state);
    if (mark !== undefined) {
      changes.put(keys.version(micros), encodeBlobRecord(asDeleted(record, mark)));
      return () => ({ isPermanent: false });
    }
    await dropVersion(context, state, changes, { micros, record });
    context.onGarbage();
    return () => ({ isPermanent: true });
  });
}

/** Deletes a deleted snapshot before its time is over (blob-service §16.2). */
async function endRetention(
  context: BlobContext,
  keys: BlobKeys,
  micros: number | undefined,
  access: Access,
): Promise<Deletion> {
  const policy = await context.retention(accountOfKey(keys.base));
  return changeBlob(context, keys, async (state, changes) => {
    const { record: blob, deleted } = state;
    if (micros === undefined) {
      if (blob === undefined && deleted === undefined) throw new StorageError('BlobNotFound');
      throw notEnded('Only a deleted snapshot can be deleted permanently.');
    }
    const key = keys.version(Math.max(0, micros));
    const entry = await context.store.get(key);
    const record = recordOf(entry);
    if (record === undefined) throw new StorageError('BlobNotFound');
    if (record.deleted === undefined) throw new StorageError('BlobSnapshotNotSoftDeleted');
    if (policy?.allowPermanentDelete !== true) {
      throw notEnded('The properties of the service do not allow permanent deletion.');
    }
    checkWrite({ ...state, record: { ...record, deleted: undefined } }, access, 'change');
    changes.checkRead(key, entry);
    await dropVersion(context, state, changes, { micros, record });
    context.onGarbage();
    return () => ({ isPermanent: true });
  });
}

function notEnded(message: string): StorageError {
  return new StorageError('BlobSnapshotNotSoftDeleted', { message });
}

/** Deletes a snapshot for good, deleted before or not. */
export async function dropVersion(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  { micros, record }: { readonly micros: number; readonly record: BlobRecord },
): Promise<void> {
  changes.delete(state.keys.version(micros));
  await releaseContents(context, state.keys, changes, [record]);
  await unshare(context, state, changes, record);
}

/** Tells a page blob what is its own when the last of its snapshots goes. */
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

/** The last generation that snapshots see of a page blob, `gone` aside; 0 when there is none. */
export async function lastGeneration(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  record: BlobRecord,
  gone: readonly BlobRecord[] = [],
): Promise<number> {
  if (record.content === undefined || record.page === undefined) return 0;
  const generations = await snapshotGenerations(store, keys, record.content.id);
  const left = new Set(generations);
  for (const snapshot of gone) {
    if (isOfOneContent(record, snapshot)) left.delete(snapshot.page?.generation ?? 0);
  }
  return Math.max(0, ...left);
}

function isOfOneContent({ content: left }: BlobRecord, { content: right }: BlobRecord): boolean {
  return left !== undefined && right !== undefined && equalBytes(left.id, right.id);
}

/** The snapshots that are not deleted. */
async function versionsOf({ store }: BlobContext, { keys }: BlobState): Promise<readonly Entry[]> {
  const page = await store.range(keys.versions(), {
    limit: snapshotsAtOnceMax,
    bytesMax: Infinity,
    filter: takeLive,
  });
  if (page.more) throw new StorageError('ServerBusy');
  return page.entries;
}

function takeLive({ value }: Candidate): Decision {
  return peekBlobRecord(value).isDeleted ? 'skip' : 'take';
}

function markVersion(changes: Changes, entry: Entry, mark: BlobRecord['deleted']): void {
  const record = decodeBlobRecord(entry.value, entry.version);
  changes.checkRead(entry.key, entry);
  changes.put(entry.key, encodeBlobRecord(asDeleted(record, mark)));
}

function releaseVersion(changes: Changes, entry: Entry) {
  changes.checkRead(entry.key, entry);
  changes.delete(entry.key);
  return decodeBlobRecord(entry.value, entry.version);
}
