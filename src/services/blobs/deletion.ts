import { equalBytes } from '../../base/bytes.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Entry } from '../../kv/store.js';
import type { BlobContext } from './blob-context.js';
import { decodeBlobRecord, type BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  keysOf,
  putRecord,
  readVersion,
  type BlobState,
} from './blob-state.js';
import type { Changes } from './changes.js';
import { releaseContents } from './contents.js';
import type { BlobKeys } from './keys.js';
import { dropStage } from './stages.js';
import type { Access, DeleteOptions, SnapshotAddress } from './types.js';
import { snapshotGenerations } from './unseen-pages.js';

/** Snapshots that one deletion takes along; more are refused with `ServerBusy`. */
const snapshotsAtOnceMax = 10_000;

/**
 * Delete Blob (blob-service §16.2): the blob, also an uncommitted one; its snapshots with it, or
 * alone. In one commit, whatever its size; the space is freed later.
 */
export async function deleteBlob(
  context: BlobContext,
  address: SnapshotAddress,
  { snapshots, ...access }: DeleteOptions,
): Promise<void> {
  const keys = await keysOf(context, address);
  const { snapshotMicros } = address;
  if (snapshotMicros !== undefined) {
    await deleteSnapshot(context, keys, snapshotMicros, access);
    return;
  }
  await changeBlob(context, keys, async (state, changes) => {
    const { record } = state;
    if (record === undefined) throw new StorageError('BlobNotFound');
    checkWrite(state, access, 'change');
    const versions = await versionsOf(context, state);
    if (versions.length > 0 && snapshots === undefined) throw new StorageError('SnapshotsPresent');
    const given = versions.map((entry) => releaseVersion(changes, entry));
    if (snapshots !== 'only') {
      await dropStage(context, keys, changes, record);
      changes.delete(keys.base);
      given.push(record);
    } else if (record.page !== undefined) {
      putRecord(state, changes, { ...record, page: { ...record.page, sharedGeneration: 0 } });
    }
    await releaseContents(context, keys, changes, given);
    context.onGarbage();
    return () => undefined;
  });
}

/** A snapshot alone. It has no lease, and that of its blob does not protect it. */
function deleteSnapshot(
  context: BlobContext,
  keys: BlobKeys,
  snapshotMicros: number,
  access: Access,
): Promise<void> {
  return changeBlob(context, keys, async (state, changes) => {
    const snapshot = await readVersion(context, keys, snapshotMicros, changes);
    checkWrite({ ...state, record: snapshot }, access, 'change');
    changes.delete(keys.version(snapshotMicros));
    await releaseContents(context, keys, changes, [snapshot]);
    await unshare(context, state, changes, snapshot);
    context.onGarbage();
    return () => undefined;
  });
}

/** Tells a page blob what is its own when the last of its snapshots goes. */
async function unshare(
  { store }: BlobContext,
  state: BlobState,
  changes: Changes,
  { content, page: gone }: BlobRecord,
): Promise<void> {
  const { keys, record } = state;
  if (content === undefined || gone === undefined || record?.page === undefined) return;
  const { generation } = gone;
  const isOwn = record.content !== undefined && equalBytes(record.content.id, content.id);
  if (!isOwn || record.page.sharedGeneration !== generation) return;
  const generations = await snapshotGenerations(store, keys, content.id);
  const others = generations.filter((other) => other !== generation);
  const page = { ...record.page, sharedGeneration: others.at(-1) ?? 0 };
  putRecord(state, changes, { ...record, page });
}

async function versionsOf({ store }: BlobContext, { keys }: BlobState): Promise<readonly Entry[]> {
  const page = await store.range(keys.versions(), {
    limit: snapshotsAtOnceMax,
    bytesMax: Infinity,
  });
  if (page.more) throw new StorageError('ServerBusy');
  return page.entries;
}

function releaseVersion(changes: Changes, entry: Entry) {
  changes.checkRead(entry.key, entry);
  changes.delete(entry.key);
  return decodeBlobRecord(entry.value, entry.version);
}
