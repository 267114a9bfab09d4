import { filteredEntries } from '../../kv/filtered-entries.js';
import type { Candidate } from '../../kv/store.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, peekBlobRecord } from './blob-record.js';
import { changeBlob, recordOf } from './blob-state.js';
import { releaseContents } from './contents.js';
import { dropPast } from './deletion.js';
import type { BlobKeys } from './keys.js';

const bytesPerRead = 1 << 20;

/**
 * Deletes soft-deleted snapshots of a blob, then the blob itself, whose retention is over. Their
 * contents become garbage. Up to `entriesMax` snapshots, each by a commit.
 */
export async function purgeDeleted(
  context: BlobContext,
  keys: BlobKeys,
  entriesMax: number,
): Promise<Reclaimed> {
  const { store, clock } = context;
  const nowMicros = clock.nowMicros();
  const filter = (candidate: Candidate) => (isOver(candidate, nowMicros) ? 'take' : 'skip');
  const limits = { limit: entriesMax, bytesMax: bytesPerRead, filter };
  let deleted = 0;
  for await (const { key } of filteredEntries(store, keys.versions(), limits)) {
    if (deleted === entriesMax) return { deleted, more: true };
    await purgeVersion(context, keys, keys.microsOf(key));
    deleted += 1;
  }
  if (await purgeBase(context, keys)) deleted += 1;
  if (deleted > 0) context.onGarbage();
  return { deleted, more: false };
}

function isOver({ value, valueLength, version }: Candidate, nowMicros: number): boolean {
  if (!peekBlobRecord(value).isDeleted) return false;
  const { deleted } = decodeBlobRecord(value.subarray(0, valueLength), version);
  return deleted !== undefined && deleted.purgedMicros <= nowMicros;
}

/** It may have been restored since it was found. */
function purgeVersion(context: BlobContext, keys: BlobKeys, micros: number): Promise<void> {
  return changeBlob(context, keys, async (state, changes) => {
    const entry = await context.store.get(keys.version(micros));
    const record = recordOf(entry);
    changes.checkRead(keys.version(micros), entry);
    if (record?.deleted !== undefined && record.deleted.purgedMicros <= state.nowMicros) {
      await dropPast(context, state, changes, { micros, record });
    }
    return () => undefined;
  });
}

function purgeBase(context: BlobContext, keys: BlobKeys): Promise<boolean> {
  return changeBlob(context, keys, async ({ deleted: record, nowMicros }, changes) => {
    if (record?.deleted === undefined || record.deleted.purgedMicros > nowMicros) {
      return () => false;
    }
    changes.delete(keys.base);
    await releaseContents(context, keys, changes, [record]);
    return () => true;
  });
}
