import { checkTags, type Tags } from '../../model/blobs/tags.js';
import type { BlobContext } from './blob-context.js';
import {
  changeBlob,
  checkWrite,
  existing,
  keysOf,
  leaseKept,
  pastMicros,
  putRecord,
  readPast,
  readRecord,
  refuseIncremental,
} from './blob-state.js';
import { checkWriteConditions } from './conditions.js';
import { putTagHints } from './tag-hints.js';
import type { Access, SnapshotAddress } from './types.js';
import { putPast } from './versions.js';

/** Get Blob Tags (blob-service §15.4), of a blob, a snapshot or a version. */
export async function getTags(
  context: BlobContext,
  address: SnapshotAddress,
  access: Access,
): Promise<Tags> {
  const keys = await keysOf(context, address);
  const { record, isBlob } = await readRecord(context, keys, address, access);
  if (isBlob) refuseIncremental(record);
  return record.tags;
}

/** Set Blob Tags (blob-service §15.4), of a blob or a version: replaces all. The ETag stays. */
export async function setTags(
  context: BlobContext,
  address: SnapshotAddress,
  tags: Tags,
  access: Access,
): Promise<void> {
  checkTags(tags);
  const keys = await keysOf(context, address);
  await putTagHints(context, keys, tags);
  await changeBlob(context, keys, async (state, changes) => {
    const micros = pastMicros(state.record, address);
    if (micros !== undefined) {
      const past = await readPast(context, keys, address, changes);
      checkWriteConditions(access.conditions ?? {}, past, 'change');
      putPast(state, changes, { micros, record: { ...past, tags } });
      return () => undefined;
    }
    const record = existing(state.record);
    checkWrite(state, access, 'change');
    putRecord(state, changes, { ...record, tags, lease: leaseKept(state) });
    return () => undefined;
  });
}
