import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobDraft } from './blob-record.js';

// What a policy or a legal hold forbids (blob-service §15.5).

type ProtectedBlob = Pick<BlobDraft, 'immutability'>;

/**
 * Refuses to delete a blob, a snapshot or a version while it is protected. Throws
 * `BlobImmutableDueToLegalHold`, `BlobImmutableDueToPolicy`.
 */
export function checkDeletable({ immutability }: ProtectedBlob, nowMicros: number): void {
  if (immutability === undefined) return;
  if (immutability.hasLegalHold) throw new StorageError('BlobImmutableDueToLegalHold');
  const { policy } = immutability;
  if (policy !== undefined && policy.untilSeconds * 1_000_000 > nowMicros) {
    throw new StorageError('BlobImmutableDueToPolicy');
  }
}

/**
 * Refuses to change a blob in place. A blob can be deleted when its policy has ended, but is not
 * changed as long as it has the policy. Throws as `checkDeletable`.
 */
export function checkChangeable(blob: ProtectedBlob): void {
  checkDeletable(blob, -Infinity);
}
