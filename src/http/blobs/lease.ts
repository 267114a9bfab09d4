import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { LeaseAction } from '../../model/blobs/lease.js';
import type { Scope } from '../../model/services/permission.js';
import type { LeaseOutcome } from '../../services/blobs/types.js';
import { leaseActionName, readLeaseAction } from '../../wire/blobs/lease-headers.js';
import type { GrantedAccess } from '../exchange/access.js';
import { routeTo } from '../operations/route.js';
import type { BlobOperation, BlobRequest } from './request.js';
import type { BlobRoute, RoutedBlobRequest } from './blob-route.js';
import { modifiedHeaders } from '../../wire/blobs/modified-headers.js';

type LeaseKind = LeaseAction['kind'];

interface Input {
  readonly action: LeaseAction;
  readonly conditions: BlobConditions;
}

/** The kind of resource that a lease is for: containers or blobs. */
export interface Leased {
  /** The noun in the names of the operations: `Container`, `Blob`. */
  readonly noun: string;
  readonly target: Pick<BlobRoute, 'resource' | 'restype' | 'comp'>;
  readonly scope: Scope;
  readonly byAccountOnly?: true;
  conditionsOf(request: BlobRequest): BlobConditions;
  run(action: LeaseAction, conditions: BlobConditions, request: BlobRequest): Promise<LeaseOutcome>;
}

const statuses: Readonly<Record<LeaseKind, number>> = {
  acquire: 201,
  renew: 200,
  change: 200,
  release: 200,
  break: 202,
};

/** The last one also gets requests with any other action, and refuses them. */
const kinds: readonly LeaseKind[] = ['renew', 'release', 'change', 'break', 'acquire'];

/** `PUT …comp=lease`: an operation for each action (blob-service §10.1). */
export function leaseRoutes(leased: Leased): readonly BlobRoute[] {
  return kinds.map((kind) => {
    const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}${leased.noun}Lease`;
    const isOfKind = ({ header }: RoutedBlobRequest) => leaseActionName(header) === kind;
    const when = kind === 'acquire' ? {} : { when: isOfKind };
    return routeTo(
      name,
      { methods: ['PUT'], ...leased.target, ...when },
      operationOf(leased, kind),
    );
  });
}

function operationOf(leased: Leased, kind: LeaseKind): BlobOperation<Input, LeaseOutcome> {
  return {
    access: accessOf(leased, kind),
    bodyBytesMax: 0,

    parse(request) {
      const action = readLeaseAction(request.header);
      return { action, conditions: leased.conditionsOf(request) };
    },

    run({ action, conditions }, request) {
      return leased.run(action, conditions, request);
    },

    render({ modifiedMicros, leaseId, remainingSeconds }, { action }) {
      const headers = modifiedHeaders(modifiedMicros);
      if (leaseId !== undefined) headers.push('x-ms-lease-id', leaseId);
      if (remainingSeconds !== undefined) headers.push('x-ms-lease-time', String(remainingSeconds));
      return { status: statuses[action.kind], headers };
    },
  };
}

/** The permission to delete also allows breaking a lease (blob-service §4.3). */
function accessOf({ scope, byAccountOnly }: Leased, kind: LeaseKind): GrantedAccess {
  return {
    kind: 'granted',
    scope,
    permissions: kind === 'break' ? ['write', 'delete'] : ['write'],
    needs: 'any',
    ...(byAccountOnly === undefined ? {} : { byAccountOnly }),
  };
}
