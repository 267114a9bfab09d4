import type { Candidate, Decision } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, encodeBlobRecord, peekBlobRecord } from './blob-record.js';
import { changeBlob, committedOf, keysOf, putRecord } from './blob-state.js';
import { lastGeneration } from './deletion.js';
import type { Changes } from './changes.js';
import type { BlobKeys } from './keys.js';
import { wasBlob, type PastRecord } from './retention.js';
import { dropStage } from './stages.js';
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
  let more = true;
  while (more) more = await restore(context, keys);
}

/** Returns whether there may be more to restore. */
function restore(context: BlobContext, keys: BlobKeys): Promise<boolean> {
  return changeBlob(context, keys, async (state, changes) => {
    const { deleted } = state;
    const there = deleted ?? committedOf(state.record);
    const ended = there === undefined ? await endedBlob(context, keys, changes) : undefined;
    const record = there ?? ended?.record;
    if (record === undefined && !(await hasVersions(context, keys))) {
      throw new StorageError('BlobNotFound');
    }
    const limits = { limit: snapshotsPerCommit, bytesMax: bytesPerCommit };
    const page = await context.store.range(keys.versions(), {
      ...limits,
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
      await dropStage(context, keys, changes, state.record);
      context.onGarbage();
    }
    const gone = ended === undefined ? [] : [ended.record];
    const back = deleted ?? ended?.record;
    // A search that met the deleted blob may have removed its hints.
    if (back !== undefined) await putTagHints(context, keys, back.tags);
    // The blob is rewritten even when it exists, so that a concurrent deletion without its
    // snapshots fails.
    if (record !== undefined && (back !== undefined || page.entries.length > 0)) {
      const sharedGeneration = await lastGeneration(context, keys, record, gone);
      const pages = record.page && { ...record.page, sharedGeneration };
      putRecord(state, changes, { ...record, page: pages, deleted: undefined });
    }
    return () => page.more && page.entries.length > 0;
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
  const limits = { limit: 1, bytesMax: Infinity, reverse: true, filter: takeEnded };
  const [last] = (await store.range(keys.versions(), limits)).entries;
  if (last === undefined) return undefined;
  const record = decodeBlobRecord(last.value, last.version);
  const past = { micros: keys.microsOf(last.key), record };
  if (record.versionMicros !== undefined || !wasBlob(past)) return undefined;
  changes.checkRead(last.key, last);
  return past;
}

/** Versions as well: what was deleted before the last of them does not come back in its place. */
function takeEnded({ value }: Candidate): Decision {
  const { isDeleted, isVersion } = peekBlobRecord(value);
  return isDeleted || isVersion ? 'take' : 'skip';
}

function takeDeleted({ value }: Candidate): Decision {
  return peekBlobRecord(value).isDeleted ? 'take' : 'skip';
}

function takeDeletedVersion({ value }: Candidate): Decision {
  const { isDeleted, isVersion } = peekBlobRecord(value);
  return isDeleted && isVersion ? 'take' : 'skip';
}

async function hasVersions({ store }: BlobContext, keys: BlobKeys): Promise<boolean> {
  const limits = { limit: 1, bytesMax: 0, filter: takeVersion };
  return (await store.range(keys.versions(), limits)).entries.length > 0;
}

function takeVersion({ value }: Candidate): Decision {
  return peekBlobRecord(value).isVersion ? 'take' : 'skip';
}
