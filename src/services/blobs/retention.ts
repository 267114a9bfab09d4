import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { BlobState } from './blob-state.js';
import type { SoftDeletion } from '../containers/soft-deleted-containers.js';
import { accountOfKey, blobNameOfKey, containerOfKey, dueHintKey, type BlobKeys } from './keys.js';
import type { DeletionInfo } from './types.js';

/** A former state of a blob: a snapshot, a version or a deleted blob, with a record of its own. */
export interface PastRecord {
  readonly micros: number;
  readonly record: BlobRecord;
}

const microsPerDay = 24 * 60 * 60 * 1_000_000;

/** A soft deletion at this time, which becomes permanent after `days`. */
export function softDeletionFor(days: number, nowMicros: number): SoftDeletion {
  return { micros: nowMicros, purgedMicros: nowMicros + days * microsPerDay };
}

/** The deletion as lists show it: a part of a day that remains counts as a day. */
export function deletionInfo(
  { micros, purgedMicros }: SoftDeletion,
  nowMicros: number,
): DeletionInfo {
  const remainingDays = Math.max(0, Math.ceil((purgedMicros - nowMicros) / microsPerDay));
  return { timeMicros: micros, remainingDays };
}

/** The times of hints are multiples of this, so that a blob that is often overwritten has few. */
const hintStepMicros = 60 * 1_000_000;

/**
 * The mark for the record of a blob that is soft-deleted now; undefined when the account does not
 * soft-delete blobs (blob-service §16.3). Before it resolves it stores the hint by which the sweep
 * finds the blob.
 */
export async function deletionMark(
  context: Pick<BlobContext, 'store' | 'retention'>,
  { keys, nowMicros }: Pick<BlobState, 'keys' | 'nowMicros'>,
): Promise<BlobRecord['deleted']> {
  const policy = await context.retention(accountOfKey(keys.base));
  if (policy?.enabled !== true || policy.days === undefined) return undefined;
  const deletion = softDeletionFor(policy.days, nowMicros);
  await putPurgeHint(context, keys, deletion.purgedMicros);
  return deletion;
}

async function putPurgeHint(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  purgedMicros: number,
): Promise<void> {
  const container = containerOfKey(keys.base);
  const micros = Math.ceil(purgedMicros / hintStepMicros) * hintStepMicros;
  const key = dueHintKey(container, micros, blobNameOfKey(keys.base, container));
  // An existing hint need not be renewed: the sweep deletes it only when it is due.
  if ((await store.get(key)) !== undefined) return;
  await store.commit({ checks: [], puts: [{ key, value: Buffer.alloc(0) }], deletes: [] });
}

/**
 * The record of a snapshot or a version, made from that of the blob: it has no lease and no
 * uncommitted blocks, and no later record shares its page map.
 */
export function asPast(record: BlobRecord): BlobRecord {
  const page = record.page && { ...record.page, sharedGeneration: 0 };
  return { ...record, page, lease: undefined, stage: undefined };
}

/** The record of a soft-deleted blob. */
export function asDeleted(record: BlobRecord, deleted: BlobRecord['deleted']): BlobRecord {
  return { ...asPast(record), deleted };
}

/**
 * The same for a snapshot or a version, or for a record that a write has replaced. Its deletion is
 * not earlier than the time in its name, so that `wasBlob` can tell it from a deleted blob.
 */
export function asDeletedPast(
  { micros, record }: PastRecord,
  deleted: NonNullable<BlobRecord['deleted']>,
): PastRecord {
  const marked = { ...deleted, micros: Math.max(deleted.micros, micros) };
  return { micros, record: asDeleted(record, marked) };
}

/**
 * True for a deleted blob, false for a deleted snapshot or version. The time in the key of a
 * deleted blob is that at which another blob took its name, so it is later than the deletion.
 */
export function wasBlob({ micros, record }: PastRecord): boolean {
  return record.deleted !== undefined && micros > record.deleted.micros;
}
