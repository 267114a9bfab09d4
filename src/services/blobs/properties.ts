import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { LeaseAction } from '../../model/blobs/lease.js';
import type { ContentHeaders } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { checkMetadata } from '../containers/metadata.js';
import type { BlobContext } from './blob-context.js';
import type { BlobDraft, BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  existing,
  keysOf,
  leaseKept,
  putRecord,
  refuseIncremental,
} from './blob-state.js';
import { checkWriteConditions } from './conditions.js';
import { changeLease } from './lease.js';
import { checkChangeable } from './protection.js';
import type { Access, BlobAddress, LeaseOutcome, Written } from './types.js';
import { beginVersion } from './versions.js';

/**
 * Changes the record of a blob that exists, and its ETag, as a write that needs its lease. `change`
 * may throw, and may be called several times. `makesVersion`: where versions are kept, the blob
 * stays as one as it was.
 */
export async function changeRecord(
  context: BlobContext,
  address: BlobAddress,
  access: Access,
  change: (record: BlobRecord) => BlobDraft,
  { makesVersion = false }: { readonly makesVersion?: boolean } = {},
): Promise<Written> {
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const before = existing(state.record);
    checkWrite(state, access, 'change');
    const record = makesVersion ? await beginVersion(context, state, changes, before) : before;
    // The change removes what the blob tells of its last copy (blob-service §11.1).
    const changed = change({ ...record, copy: undefined });
    const lease = leaseKept(state);
    return putRecord(state, changes, { ...changed, modifiedMicros: 'commit', lease });
  });
}

/**
 * Set Blob Properties (blob-service §15.1): replaces all of them; absent ones are cleared. Without
 * any, all stay, and only the ETag changes.
 */
export function setHeaders(
  context: BlobContext,
  address: BlobAddress,
  headers: ContentHeaders | undefined,
  access: Access,
): Promise<Written> {
  return changeRecord(context, address, access, (record) =>
    headers === undefined ? record : { ...record, headers },
  );
}

/**
 * Set Blob Metadata (blob-service §15.2): replaces all of it. A protected blob keeps its own, also
 * where it would stay as a version (blob-service §15.5).
 */
export function setMetadata(
  context: BlobContext,
  address: BlobAddress,
  metadata: Metadata,
  access: Access,
): Promise<Written> {
  checkMetadata(metadata);
  const change = (record: BlobRecord): BlobDraft => {
    checkChangeable(record);
    return { ...record, metadata };
  };
  return changeRecord(context, address, access, change, { makesVersion: true });
}

/**
 * Lease Blob (blob-service §10). The ETag stays. Throws `PendingCopyOperation` while the blob is
 * copied to (blob-service §10.4); `OperationNotAllowedOnIncrementalCopyBlob` (blob-service §14).
 */
export async function leaseBlob(
  context: BlobContext,
  address: BlobAddress,
  action: LeaseAction,
  conditions: BlobConditions,
): Promise<LeaseOutcome> {
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const record = existing(state.record);
    if (record.copy?.status === 'pending') throw new StorageError('PendingCopyOperation');
    refuseIncremental(record);
    checkWriteConditions(conditions, record, 'change');
    const { nowMicros } = state;
    const newId = () => context.randomness.uuid();
    const { lease, id, remainingSeconds } = changeLease(record.lease, action, { nowMicros, newId });
    const written = putRecord(state, changes, { ...record, lease });
    return (version) => ({
      ...written(version),
      ...(id !== undefined && { leaseId: id }),
      ...(remainingSeconds !== undefined && { remainingSeconds }),
    });
  });
}
