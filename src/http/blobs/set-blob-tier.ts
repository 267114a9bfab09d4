import type { AccessTier } from '../../model/blobs/properties.js';
import { missingHeader } from '../../model/errors/query-errors.js';
import type { TierOutcome } from '../../services/blobs/tiers.js';
import type { Access, SnapshotAddress } from '../../services/blobs/types.js';
import { accessTierHeader, rehydratePriorityHeader } from '../../wire/blobs/tier-headers.js';
import { objectAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { snapshotOf, taggedAccessOf } from './blob.js';
import type { BlobOperation } from './request.js';

interface Input {
  readonly address: SnapshotAddress;
  readonly access: Access;
  readonly tier: AccessTier;
}

/** `PUT /container/blob?comp=tier` (blob-service §15.3). */
export const setBlobTier: BlobOperation<Input, TierOutcome> = {
  access: objectAccess('write'),
  bodyBytesMax: 0,

  parse(request) {
    const { header, version } = request;
    const tier = accessTierHeader(header, version);
    if (tier === undefined) throw missingHeader('x-ms-access-tier');
    // Checked alone: a blob comes back from the archive at once.
    rehydratePriorityHeader(header);
    return { address: snapshotOf(request), access: taggedAccessOf(request, 'write'), tier };
  },

  run({ address, access, tier }, { backend }) {
    return backend.blobs.setTier(address, tier, access);
  },

  /** 202 as in the cloud, where coming back takes hours. */
  render(outcome) {
    return emptyReply(outcome === 'rehydrated' ? 202 : 200);
  },
};
