import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { Immutability, ImmutabilityPolicy } from '../../model/blobs/immutability.js';
import type { SnapshotAddress } from '../../services/blobs/types.js';
import { readConditions } from '../../wire/blobs/conditions.js';
import {
  answeredHold,
  answeredPolicy,
  legalHoldHeader,
  neededPolicyHeaders,
} from '../../wire/blobs/immutability-headers.js';
import { objectAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { snapshotOf } from './blob.js';
import type { BlobOperation, BlobRequest } from './request.js';

interface Target {
  readonly address: SnapshotAddress;
  readonly conditions: BlobConditions;
}

/** A blob, a snapshot or a version. A lease does not matter. */
function targetOf(request: BlobRequest): Target {
  const conditions = readConditions(request.header, 'write', request.version);
  return { address: snapshotOf(request), conditions };
}

const protectAccess = objectAccess('protect');

/** `PUT /container/blob?comp=immutabilityPolicies` (blob-service §15.5). */
export const setImmutabilityPolicy: BlobOperation<
  Target & { readonly policy: ImmutabilityPolicy },
  Immutability | undefined
> = {
  access: protectAccess,
  bodyBytesMax: 0,

  parse(request) {
    const nowMicros = request.backend.clock.nowMicros();
    return { ...targetOf(request), policy: neededPolicyHeaders(request.header, nowMicros) };
  },

  run({ address, policy, conditions }, { backend }) {
    return backend.blobs.setImmutabilityPolicy(address, policy, conditions);
  },

  render(_, { policy }) {
    return { status: 200, headers: answeredPolicy(policy) };
  },
};

/** `DELETE /container/blob?comp=immutabilityPolicies` (blob-service §15.5). */
export const deleteImmutabilityPolicy: BlobOperation<Target, Immutability | undefined> = {
  access: protectAccess,
  bodyBytesMax: 0,

  parse: targetOf,

  run({ address, conditions }, { backend }) {
    return backend.blobs.deleteImmutabilityPolicy(address, conditions);
  },

  render() {
    return emptyReply(200);
  },
};

/** `PUT /container/blob?comp=legalhold` (blob-service §15.5). */
export const setLegalHold: BlobOperation<
  Target & { readonly hasLegalHold: boolean },
  Immutability | undefined
> = {
  access: protectAccess,
  bodyBytesMax: 0,

  parse(request) {
    return { ...targetOf(request), hasLegalHold: legalHoldHeader(request.header) };
  },

  run({ address, hasLegalHold, conditions }, { backend }) {
    return backend.blobs.setLegalHold(address, hasLegalHold, conditions);
  },

  render(_, { hasLegalHold }) {
    return { status: 200, headers: answeredHold(hasLegalHold) };
  },
};
