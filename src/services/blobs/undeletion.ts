import type { Candidate, Decision } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, encodeBlobRecord, peekBlobRecord } from './blob-record.js';
import { changeBlob, committedOf, keysOf, putRecord } from './blob-state.js';
import { lastGeneration } from './deletion.js';
import type { BlobKeys } from './keys.js';
import { putTagHints } from './tag-hints.js';
import type { BlobAddress } from './types.js';

/** Snapshots that one commit restores. */
const snapshotsPerCommit = 100;
const bytesPerCommit = 1 << 20;

/**
 * Undelete Blob (blob-service §16.3): the blob, if it is deleted and kept, and all of its deleted
 * snapshots are there again, with the ETags that they had. The blob comes first; more than
 * `snapshotsPerCommit` snapshots take several commits. Throws `BlobNotFound` when the blob is
 * neither there nor kept.
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
    const record = deleted ?? committedOf(state.record);
    if (record === undefined) throw new StorageError('BlobNotFound');
    const limits = { limit: snapshotsPerCommit, bytesMax: bytesPerCommit };
    const page = await context.store.range(keys.versions(), { ...limits, filter: takeDeleted });
    for (const entry of page.entries) {
      const snapshot = decodeBlobRecord(entry.value, entry.version);
      changes.checkRead(entry.key, entry);
      changes.put(entry.key, encodeBlobRecord({ ...snapshot, deleted: undefined }));
    }
    // A search that met the deleted blob may have removed its hints.
    if (deleted !== undefined) await putTagHints(context, keys, deleted.tags);
    // Also a blob that was there is written anew: whoever deletes it without snapshots notices.
    if (deleted !== undefined || page.entries.length > 0) {
      const sharedGeneration = await lastGeneration(context, keys, record);
      const pages = record.page && { ...record.page, sharedGeneration };
      putRecord(state, changes, { ...record, page: pages, deleted: undefined });
    }
    return () => page.more && page.entries.length > 0;
  });
}

function takeDeleted({ value }: Candidate): Decision {
  return peekBlobRecord(value).isDeleted ? 'take' : 'skip';
}
