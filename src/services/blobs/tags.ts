import { checkTags, type Tags } from '../../model/blobs/tags.js';
import type { BlobContext } from './blob-context.js';
import {
  changeBlob,
  checkWrite,
  existing,
  keysOf,
  leaseKept,
  putRecord,
  readRecord,
} from './blob-state.js';
import { putTagHints } from './tag-hints.js';
import type { Access, BlobAddress, SnapshotAddress } from './types.js';

/** Get Blob Tags (blob-service §15.4), of a blob or a snapshot. */
export async function getTags(
  context: BlobContext,
  address: SnapshotAddress,
  access: Access,
): Promise<Tags> {
  const keys = await keysOf(context, address);
  return (await readRecord(context, keys, address, access)).tags;
}

/** Set Blob Tags (blob-service §15.4): replaces all of them. The ETag stays. */
export async function setTags(
  context: BlobContext,
  address: BlobAddress,
  tags: Tags,
  access: Access,
): Promise<void> {
  checkTags(tags);
  const keys = await keysOf(context, address);
  await putTagHints(context, keys, tags);
  await changeBlob(context, keys, async (state, changes) => {
    const record = existing(state.record);
    checkWrite(state, access, 'change');
    putRecord(state, changes, { ...record, tags, lease: leaseKept(state) });
    return () => undefined;
  });
}
