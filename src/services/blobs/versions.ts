import type { BlobContext } from './blob-context.js';
import { encodeBlobRecord, type BlobDraft, type BlobRecord } from './blob-record.js';
import { committedOf, type BlobState } from './blob-state.js';
import type { Changes } from './changes.js';
import { accountOfKey } from './keys.js';
import { checkChangeable } from './protection.js';
import { asDeletedPast, asPast, deletionMark, type PastRecord } from './retention.js';
import { shareContent } from './shared-content.js';

/**
 * Whether a replaced or deleted blob stays as a version: where the account keeps versions, and when
 * it already is one (blob-service §16.4).
 */
export function keepsVersion(
  context: Pick<BlobContext, 'versioning'>,
  { keys }: Pick<BlobState, 'keys'>,
  record: BlobRecord,
): boolean {
  return record.versionMicros !== undefined || context.versioning(accountOfKey(keys.base));
}

/** The outcome for a blob that a commit replaces, and for its replacement. */
export interface Replaced {
  /**
   * Its record was kept, with its reference to the content. False: nothing was kept, and the caller
   * removes that reference.
   */
  readonly isKept: boolean;
  /** The id of the version that the commit makes. Absent: the account keeps no versions. */
  readonly versionMicros: number | undefined;
}

/**
 * Refuses to replace a blob that a policy or a legal hold protects, unless it stays as a version
 * (blob-service §15.5). Throws as `checkChangeable`.
 */
export function checkReplaceable(
  context: Pick<BlobContext, 'versioning'>,
  state: Pick<BlobState, 'keys' | 'record'>,
): void {
  const record = committedOf(state.record);
  if (record !== undefined && !keepsVersion(context, state, record)) checkChangeable(record);
}

/**
 * Keeps the replaced blob: as a version, where versions are kept; or as a deleted snapshot, if the
 * account soft-deletes blobs, or if it is a soft-deleted blob whose name is used again. Throws as
 * `checkReplaceable`.
 */
export async function keepReplaced(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
): Promise<Replaced> {
  checkReplaceable(context, state);
  const past = await pastOf(context, state);
  if (past !== undefined) putPast(state, changes, past);
  const versionMicros = await newVersionMicros(context, state, past);
  return { isKept: past !== undefined, versionMicros };
}

async function pastOf(context: BlobContext, state: BlobState): Promise<PastRecord | undefined> {
  const { deleted } = state;
  if (deleted !== undefined) {
    return { micros: await newMomentMicros(context, state), record: asPast(deleted) };
  }
  const record = committedOf(state.record);
  if (record === undefined) return undefined;
  if (keepsVersion(context, state, record)) return asVersion(context, state, record);
  const mark = await deletionMark(context, state);
  if (mark === undefined) return undefined;
  return asDeletedPast({ micros: await newMomentMicros(context, state), record }, mark);
}

/**
 * The record of a blob as a former version. A blob that was written before its account kept
 * versions gets the time of its creation as the id, or a later one where that is taken.
 */
export async function asVersion(
  context: Pick<BlobContext, 'store'>,
  state: Pick<BlobState, 'keys'>,
  record: BlobRecord,
): Promise<PastRecord> {
  const micros = record.versionMicros ?? (await lateId(context, state, record));
  return { micros, record: { ...asPast(record), versionMicros: micros } };
}

async function lateId(
  context: Pick<BlobContext, 'store'>,
  state: Pick<BlobState, 'keys'>,
  { createdMicros, modifiedMicros }: BlobRecord,
): Promise<number> {
  const last = await lastMomentMicros(context, state);
  return createdMicros > last ? createdMicros : Math.max(modifiedMicros, last + 1);
}

export function putPast(
  { keys }: Pick<BlobState, 'keys'>,
  changes: Changes,
  { micros, record }: { readonly micros: number; readonly record: BlobDraft },
): void {
  changes.put(keys.version(micros), encodeBlobRecord(record));
}

/**
 * Makes a commit keep the present blob as a version, where versions are kept. Returns the record to
 * change instead, which shares the content.
 */
export async function beginVersion(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  record: BlobRecord,
): Promise<BlobRecord> {
  if (!keepsVersion(context, state, record)) return record;
  const { past, current } = await shareContent(context, state, changes, { record, others: 1 });
  const version = await asVersion(context, state, past);
  putPast(state, changes, version);
  return { ...current, versionMicros: await newVersionMicros(context, state, version) };
}

/** The id of the version that a commit makes; undefined where the account keeps none. */
export async function newVersionMicros(
  context: Pick<BlobContext, 'store' | 'versioning'>,
  state: BlobState,
  past: PastRecord | undefined,
): Promise<number | undefined> {
  if (!context.versioning(accountOfKey(state.keys.base))) return undefined;
  const micros = await newMomentMicros(context, state);
  return past === undefined ? micros : Math.max(micros, past.micros + 1);
}

/**
 * The time of a new snapshot or version: later than those of all others, soft-deleted ones and that
 * of the blob itself included, and later than the deletion of a soft-deleted blob (`wasBlob`).
 */
export async function newMomentMicros(
  context: Pick<BlobContext, 'store'>,
  { keys, record, deleted, nowMicros }: BlobState,
): Promise<number> {
  const last = await lastMomentMicros(context, { keys });
  const ends = [last, record?.versionMicros ?? -1, deleted?.deleted?.micros ?? -1];
  return Math.max(nowMicros, 1 + Math.max(...ends));
}

/** The time of the last snapshot or version beside the blob; -1 when there is none. */
async function lastMomentMicros(
  { store }: Pick<BlobContext, 'store'>,
  { keys }: Pick<BlobState, 'keys'>,
): Promise<number> {
  const { entries } = await store.range(keys.versions(), { limit: 1, bytesMax: 0, reverse: true });
  const [last] = entries;
  return last === undefined ? -1 : keys.microsOf(last.key);
}
