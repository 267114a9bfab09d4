import type { Access, GrantedAccess } from '../exchange/access.js';
import type { Permission } from '../../model/services/permission.js';

export const publicAccess: Access = { kind: 'public' };

/** Shared access signatures cannot grant this. */
export const ownerAccess: Access = { kind: 'owner' };

/** The key of the account, or a token whose roles grant the given access. */
export function ownerAccessOr(byRole: GrantedAccess | undefined): Access {
  return byRole === undefined ? ownerAccess : { kind: 'owner', byRole };
}

/** The key alone: callers with a signature or token are told that they cannot use the operation. */
export const keyAccess: Access = { kind: 'owner', tellsTokens: true };

export function serviceAccess(...permissions: readonly Permission[]): GrantedAccess {
  return { kind: 'granted', scope: 'service', permissions, needs: 'all' };
}

/** Access to containers: tables, queues, containers of blobs. */
export function containerAccess(...permissions: readonly Permission[]): GrantedAccess {
  return { kind: 'granted', scope: 'container', permissions, needs: 'all' };
}

/** Access to what is in a container: entities, messages, blobs. */
export function objectAccess(...permissions: readonly Permission[]): GrantedAccess {
  return { kind: 'granted', scope: 'object', permissions, needs: 'all' };
}

/**
 * Deleting a message needs the permission to process messages; for a role, the permission to delete
 * is enough.
 */
export const deleteMessageAccess: Access = {
  kind: 'granted',
  scope: 'object',
  permissions: ['process'],
  needs: 'all',
  orByRole: 'delete',
};

/** Creating a container needs one of two permissions. */
export const createContainerAccess: GrantedAccess = {
  kind: 'granted',
  scope: 'container',
  permissions: ['create', 'write'],
  needs: 'any',
};
