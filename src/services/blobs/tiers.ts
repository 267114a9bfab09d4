import { unreachable } from '../../base/invariant.js';
import type { AccessTier, BlobKind, BlobTier, PremiumTier } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  existing,
  keysOf,
  leaseKept,
  pastMicros,
  putRecord,
  readPast,
} from './blob-state.js';
import { checkWriteConditions } from './conditions.js';
import type { Access, SnapshotAddress } from './types.js';
import { putPast } from './versions.js';

/**
 * The outcome of setting a tier: `rehydrated` when the blob was in the archive and is not any more.
 */
export type TierOutcome = 'set' | 'rehydrated';

/**
 * Set Blob Tier (blob-service §15.3), of a blob, a snapshot or a version. The ETag stays. A blob
 * comes back from the archive at once, whatever its priority. Throws
 * `AccessTierNotSupportedForBlobType`, `CannotChangeToLowerTier`,
 * `BlobTierInadequateForContentLength`.
 */
export async function setTier(
  context: BlobContext,
  address: SnapshotAddress,
  tier: AccessTier,
  access: Access,
): Promise<TierOutcome> {
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const { nowMicros } = state;
    const micros = pastMicros(state.record, address);
    if (micros === undefined) {
      const record = existing(state.record);
      checkWrite(state, access, 'change');
      const changed = withTier(record, tier, nowMicros);
      putRecord(state, changes, { ...changed, lease: leaseKept(state) });
      return () => outcomeOf(record, tier);
    }
    const record = await readPast(context, keys, address, changes);
    checkWriteConditions(access.conditions ?? {}, record, 'change');
    putPast(state, changes, { micros, record: withTier(record, tier, nowMicros) });
    return () => outcomeOf(record, tier);
  });
}

function outcomeOf({ tier: before }: BlobRecord, tier: AccessTier): TierOutcome {
  return before?.tier === 'Archive' && tier !== 'Archive' ? 'rehydrated' : 'set';
}

function withTier(record: BlobRecord, tier: AccessTier, nowMicros: number): BlobRecord {
  checkTierOfKind(record.kind, tier);
  if (record.kind === 'page') checkPremium(record, tier);
  return { ...record, tier: { tier, changedMicros: nowMicros } };
}

/**
 * Refuses a tier that blobs of the kind cannot have: block blobs have the four tiers from hot to
 * archive, page blobs those of premium accounts, append blobs none (blob-service §15.3).
 */
export function checkTierOfKind(kind: BlobKind, tier: AccessTier): void {
  if (!isFor(kind, tier)) throw new StorageError('AccessTierNotSupportedForBlobType');
}

/**
 * Refuses a tier that a write gives a blob of a kind and a size: as `checkTierOfKind`, and
 * `BlobTierInadequateForContentLength` for one that holds less. A blob that is written anew may
 * have a lower tier than the one before.
 */
export function checkGivenTier(kind: BlobKind, given: BlobTier | undefined, bytes: number): void {
  if (given === undefined) return;
  checkTierOfKind(kind, given.tier);
  if (kind === 'page') checkCapacity(given.tier, bytes);
}

function isFor(kind: BlobKind, tier: AccessTier): boolean {
  switch (kind) {
    case 'block':
      return premiumGibibytes(tier) === undefined;
    case 'page':
      return premiumGibibytes(tier) !== undefined;
    case 'append':
      return false;
    default:
      return unreachable(kind);
  }
}

const gibibyte = 2 ** 30;

/** The capacity of page blobs of a tier. */
const capacities: Readonly<Record<PremiumTier, number>> = {
  P4: 32,
  P6: 64,
  P10: 128,
  P15: 256,
  P20: 512,
  P30: 1024,
  P40: 2048,
  P50: 4095,
  P60: 8192,
  P70: 16_384,
  P80: 32_768,
};

function premiumGibibytes(tier: AccessTier): number | undefined {
  return tier in capacities ? capacities[tier as PremiumTier] : undefined;
}

/** A page blob only goes up, and to a tier that holds it. */
function checkPremium({ tier: before, bytes }: BlobRecord, tier: AccessTier): void {
  if (before !== undefined && capacityOf(tier) < capacityOf(before.tier)) {
    throw new StorageError('CannotChangeToLowerTier');
  }
  checkCapacity(tier, bytes);
}

function checkCapacity(tier: AccessTier, bytes: number): void {
  if (bytes > capacityOf(tier) * gibibyte) {
    throw new StorageError('BlobTierInadequateForContentLength');
  }
}

function capacityOf(tier: AccessTier): number {
  return premiumGibibytes(tier) ?? 0;
}
