import type { BlobConditions } from '../../model/blobs/conditions.js';
import {
  immutabilityOf,
  type Immutability,
  type ImmutabilityPolicy,
} from '../../model/blobs/immutability.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import {
  changeBlob,
  existing,
  keysOf,
  pastMicros,
  putRecord,
  readPast,
  refuseIncremental,
} from './blob-state.js';
import { checkWriteConditions } from './conditions.js';
import type { SnapshotAddress } from './types.js';
import { putPast } from './versions.js';

/** How a request changes the immutability of a blob. May throw, and may be called several times. */
type Change = (before: Immutability | undefined) => Immutability | undefined;

/**
 * Changes the immutability of a blob, a snapshot or a version (blob-service §15.5). The ETag stays,
 * and a lease does not matter. Returns the immutability afterwards.
 */
async function change(
  context: BlobContext,
  address: SnapshotAddress,
  conditions: BlobConditions,
  changed: Change,
): Promise<Immutability | undefined> {
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const micros = pastMicros(state.record, address);
    const record =
      micros === undefined
        ? existing(state.record)
        : await readPast(context, keys, address, changes);
    if (micros === undefined) refuseIncremental(record);
    checkWriteConditions(conditions, record, 'change');
    const immutability = changed(record.immutability);
    const after: BlobRecord = { ...record, immutability };
    if (micros === undefined) putRecord(state, changes, after);
    else putPast(state, changes, { micros, record: after });
    return () => immutability;
  });
}

/**
 * Set Blob Immutability Policy (blob-service §15.5). Throws `BlobImmutableDueToPolicy` for one that
 * would shorten or unlock a locked policy.
 */
export function setImmutabilityPolicy(
  context: BlobContext,
  address: SnapshotAddress,
  policy: ImmutabilityPolicy,
  conditions: BlobConditions,
): Promise<Immutability | undefined> {
  return change(context, address, conditions, (before) => {
    checkExtends(before?.policy, policy);
    return immutabilityOf(policy, before?.hasLegalHold ?? false);
  });
}

function checkExtends(before: ImmutabilityPolicy | undefined, policy: ImmutabilityPolicy): void {
  if (before?.mode !== 'locked') return;
  if (policy.mode === 'locked' && policy.untilSeconds >= before.untilSeconds) return;
  throw new StorageError('BlobImmutableDueToPolicy', {
    message: 'The immutability policy of the blob is locked: it can be extended, and stays locked.',
  });
}

/**
 * Delete Blob Immutability Policy (blob-service §15.5); done as well where there is none. Throws
 * `ImmutabilityPolicyDeleteOnLockedPolicy`.
 */
export function deleteImmutabilityPolicy(
  context: BlobContext,
  address: SnapshotAddress,
  conditions: BlobConditions,
): Promise<Immutability | undefined> {
  return change(context, address, conditions, (before) => {
    if (before?.policy?.mode === 'locked') {
      throw new StorageError('ImmutabilityPolicyDeleteOnLockedPolicy');
    }
    return immutabilityOf(undefined, before?.hasLegalHold ?? false);
  });
}

/** Set Blob Legal Hold (blob-service §15.5): sets it or takes it away. */
export function setLegalHold(
  context: BlobContext,
  address: SnapshotAddress,
  hasLegalHold: boolean,
  conditions: BlobConditions,
): Promise<Immutability | undefined> {
  return change(context, address, conditions, (before) =>
    immutabilityOf(before?.policy, hasLegalHold),
  );
}
