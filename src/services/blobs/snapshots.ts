import type { Metadata } from '../../model/resources/metadata.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkMetadata } from '../containers/metadata.js';
import type { BlobContext } from './blob-context.js';
import { encodeBlobRecord, type CommitTime } from './blob-record.js';
import { changeBlob, existing, keysOf, putRecord, refuseIncremental } from './blob-state.js';
import { checkWriteConditions } from './conditions.js';
import { checkLease } from './lease.js';
import { shareContent } from './shared-content.js';
import type { Access, BlobAddress, Written } from './types.js';
import { asVersion, keepsVersion, newMomentMicros, newVersionMicros, putPast } from './versions.js';

/** A snapshot of a blob. */
export interface TakenSnapshot extends Written {
  /** The time that identifies it: later than those of all earlier snapshots of the blob. */
  readonly snapshotMicros: number;
}

/**
 * Snapshot Blob (blob-service §16.1): the blob as it is, to be read later. Takes one commit,
 * however large the blob is, and the bytes are not stored again. A lease does not stand in the way,
 * but a lease id that is sent must match. `metadata`: replaces that of the snapshot, which has an
 * ETag of its own then. Where versions are kept, the blob becomes another version.
 */
export async function snapshotBlob(
  context: BlobContext,
  address: BlobAddress,
  { metadata }: { readonly metadata?: Metadata | undefined },
  { leaseId, conditions = {} }: Access,
): Promise<TakenSnapshot> {
  if (metadata !== undefined) checkMetadata(metadata);
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const record = existing(state.record);
    const { nowMicros } = state;
    checkLease(record.lease, { id: leaseId, use: 'read' }, { holder: 'blob', nowMicros });
    checkWriteConditions(conditions, record, 'change');
    if (record.copy?.status === 'pending') throw new StorageError('PendingCopyOperation');
    refuseIncremental(record);
    if (record.tier?.tier === 'Archive') throw new StorageError('BlobArchived');
    const isKept = keepsVersion(context, state, record);
    const sharing = { record, others: isKept ? 2 : 1 };
    const { past, current } = await shareContent(context, state, changes, sharing);
    const version = isKept ? await asVersion(context, state, past) : undefined;
    if (version !== undefined) putPast(state, changes, version);
    const first = await newMomentMicros(context, state);
    const snapshotMicros = Math.max(first, (version?.micros ?? -1) + 1);
    const modifiedMicros: CommitTime = metadata === undefined ? record.modifiedMicros : 'commit';
    // The policy and the legal hold of a blob do not protect its snapshots.
    const own = { versionMicros: undefined, immutability: undefined };
    const draft = { ...past, ...own, metadata: metadata ?? record.metadata };
    changes.put(keys.version(snapshotMicros), encodeBlobRecord({ ...draft, modifiedMicros }));
    const taken = { micros: snapshotMicros, record: past };
    const versionMicros = await newVersionMicros(context, state, taken);
    putRecord(state, changes, { ...current, versionMicros });
    return (commit) => ({
      snapshotMicros,
      modifiedMicros: modifiedMicros === 'commit' ? commit : modifiedMicros,
      ...(versionMicros !== undefined && { versionMicros }),
    });
  });
}
