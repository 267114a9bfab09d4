import { invariant } from '../../base/invariant.js';
import type { PublicAccess } from '../../model/blobs/properties.js';
import { invalidHeader } from '../../model/errors/query-errors.js';
import type { Permission } from '../../model/services/permission.js';
import type { Access, ContainerAddress } from '../../services/blobs/types.js';
import type { BlobConditions } from '../../model/blobs/conditions.js';
import { readConditions } from '../../wire/blobs/conditions.js';
import { leaseIdOf } from '../../wire/blobs/lease-headers.js';
import type { GrantedAccess, PublicLevel } from '../exchange/access.js';
import { containerAccess } from '../operations/access.js';
import type { BlobRequest } from './request.js';

// What operations of containers have in common (blob-service §7).

/** The access of an operation that no signature for one container grants. */
export function accountOnly(...permissions: readonly Permission[]): GrantedAccess {
  return { ...containerAccess(...permissions), byAccountOnly: true };
}

/**
 * The access of a read that no signature for one container grants, and that needs no credential in
 * a container of this public level.
 */
export function publicRead(publicAt: PublicLevel): GrantedAccess {
  return { ...accountOnly('read'), publicAt };
}

/** The addressed container. Its name is not validated. */
export function containerOf({ account, container }: BlobRequest): ContainerAddress {
  invariant(container !== undefined, 'routed as an operation of a container');
  return { account, container };
}

type DateCondition = 'if-modified-since' | 'if-unmodified-since';

/** The conditions of a container; other headers of conditions are ignored (blob-service §9.5). */
export function containerConditions(
  { header, version }: BlobRequest,
  ...names: readonly DateCondition[]
): BlobConditions {
  const taken = (name: string) => (names.some((each) => each === name) ? header(name) : undefined);
  return readConditions(taken, 'write', version);
}

/** The lease id and the conditions of a request. */
export function containerAccessOf(
  request: BlobRequest,
  ...names: readonly DateCondition[]
): Access {
  const leaseId = leaseIdOf(request.header);
  const conditions = containerConditions(request, ...names);
  return leaseId === undefined ? { conditions } : { leaseId, conditions };
}

/** Without the header the container is private. */
export function publicAccessOf({ header }: BlobRequest): PublicAccess {
  const text = header('x-ms-blob-public-access');
  if (text === undefined || text === '') return 'none';
  const level = text.toLowerCase();
  if (level === 'blob' || level === 'container') return level;
  throw invalidHeader('x-ms-blob-public-access', text);
}

export function publicAccessHeaders(publicAccess: PublicAccess): string[] {
  return publicAccess === 'none' ? [] : ['x-ms-blob-public-access', publicAccess];
}

/** The only scope there is: that of the account (blob-service §7). */
export const accountEncryptionScope = '$account-encryption-key';

/** Refuses encryption scopes, which this server does not have. Throws `InvalidHeaderValue`. */
export function refuseEncryptionScope({ header }: BlobRequest): void {
  const scope = header('x-ms-default-encryption-scope');
  if (scope === undefined || scope === accountEncryptionScope) return;
  throw invalidHeader('x-ms-default-encryption-scope', scope);
}
