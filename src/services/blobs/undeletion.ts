import type { Bytes } from '../../base/bytes.js';
import { filteredPage, firstFiltered } from '../../kv/filtered-entries.js';
import type { Candidate } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, encodeBlobRecord, peekBlobRecord } from './blob-record.js';
import { changeBlob, committedOf, keysOf, putRecord } from './blob-state.js';
import { lastGeneration } from './deletion.js';
import type { Changes } from './changes.js';
import type { BlobKeys } from './keys.js';
import { wasBlob, type PastRecord } from './retention.js';
import { dropBlockStage } from './block-stages.js';
import { putTagHints } from './tag-hints.js';
import type { BlobAddress } from './types.js';

/** Snapshots that one commit restores. */
const snapshotsPerCommit = 100;
const bytesPerCommit = 1 << 20;

/**
 * Undelete Blob (blob-service §16.3): restores the blob, if it is soft-deleted, and all of its
 * soft-deleted snapshots and versions, with their former ETags. They replace blocks that were put
 * under the name since then, also when such blocks are gone again. The blob comes first; more than
 * `snapshotsPerCommit` of them take several commits. When only versions are left, these are
 * restored. Throws `BlobNotFound` when there is neither the blob nor anything soft-deleted but
 * snapshots.
 */
export async function undeleteBlob(context: BlobContext, address: BlobAddress): Promise<void> {
  const keys = await keysOf(context, address);
  let next: Bytes | undefined = keys.versions().start;
  while (next !== undefined) next = await restore(context, keys, next);
}

/**
 * Restores the next records from a key on. Returns the key behind them; undefined when none are
 * left.
 */
function restore(context: BlobContext, keys: BlobKeys, from: Bytes): Promise<Bytes | undefined> {
  return changeBlob(context, keys, async (state, changes) => {
    const { deleted } = state;
    const there = deleted ?? committedOf(state.record);
    const ended = there === undefined ? await endedBlob(context, keys, changes) : undefined;
    const record = there ?? ended?.record;
    if (record === undefined && !(await hasVersions(context, keys))) {
      throw new StorageError('BlobNotFound');
    }
    const back = deleted ?? ended?.record;
    const past = keys.versions();
    // Otherwise the blob was deleted once more, with snapshots that were restored before.
    const rest = back === undefined ? { ...past, start: from } : past;
    const page = await filteredPage(context.store, rest, {
      limit: snapshotsPerCommit,
      bytesMax: bytesPerCommit,
      filter: record === undefined ? takeDeletedVersion : takeDeleted,
    });
    for (const entry of page.entries) {
      if (ended !== undefined && keys.microsOf(entry.key) === ended.micros) continue;
      const snapshot = decodeBlobRecord(entry.value, entry.version);
      changes.checkRead(entry.key, entry);
      changes.put(entry.key, encodeBlobRecord({ ...snapshot, deleted: undefined }));
    }
    if (ended !== undefined) {
      changes.delete(keys.version(ended.micros));
      await dropBlockStage(context, keys, changes, state.record);
      context.onGarbage();
    }
    const gone = ended === undefined ? [] : [ended.record];
    // A search that met the deleted blob may have removed its hints.
    if (back !== undefined) await putTagHints(context, keys, back.tags);
    // The blob is rewritten even when it exists, so that a concurrent deletion without its
    // snapshots fails.
    if (back !== undefined) {
      const sharedGeneration = await lastGeneration(context, keys, back, gone);
      const pages = back.page && { ...back.page, sharedGeneration };
      putRecord(state, changes, { ...back, page: pages, deleted: undefined });
    } else if (record !== undefined && page.entries.length > 0) putRecord(state, changes, record);
    return () => page.next;
  });
}

/**
 * The soft-deleted blob whose name uncommitted blocks took, which may be gone again; undefined when
 * there is none. The commit of `changes` demands that it stays.
 */
async function endedBlob(
  { store }: BlobContext,
  keys: BlobKeys,
  changes: Changes,
): Promise<PastRecord | undefined> {
  const order = { reverse: true, filter: takeEnded };
  const last = await firstFiltered(store, keys.versions(), order);
  if (last === undefined) return undefined;
  const record = decodeBlobRecord(last.value, last.version);
  const past = { micros: keys.microsOf(last.key), record };
  if (record.versionMicros !== undefined || !wasBlob(past)) return undefined;
  changes.checkRead(last.key, last);
  return past;
}

/**
 * Versions count as well: a blob that was deleted before the last version must not take its place.
 */
function takeEnded({ value }: Candidate): 'take' | 'skip' {
  const { isDeleted, isVersion } = peekBlobRecord(value);
  return isDeleted || isVersion ? 'take' : 'skip';
}

function takeDeleted({ value }: Candidate): 'take' | 'skip' {
  return peekBlobRecord(value).isDeleted ? 'take' : 'skip';
}

function takeDeletedVersion({ value }: Candidate): 'take' | 'skip' {
  const { isDeleted, isVersion } = peekBlobRecord(value);
  return isDeleted && isVersion ? 'take' : 'skip';
}

async function hasVersions({ store }: BlobContext, keys: BlobKeys): Promise<boolean> {
  return (await firstFiltered(store, keys.versions(), { filter: takeVersion })) !== undefined;
}

function takeVersion({ value }: Candidate): 'take' | 'skip' {
  return peekBlobRecord(value).isVersion ? 'take' : 'skip';
}
