import type { Access, GrantedAccess } from '../exchange/access.js';
import type { Permission } from '../../model/services/permission.js';

export const publicAccess: Access = { kind: 'public' };

/** What no shared access signature can allow. */
export const ownerAccess: Access = { kind: 'owner' };

/** The same, or a token whose roles give what is said. */
export function ownerAccessOr(byRole: GrantedAccess | undefined): Access {
  return byRole === undefined ? ownerAccess : { kind: 'owner', byRole };
}

export function serviceAccess(...permissions: readonly Permission[]): GrantedAccess {
  return { kind: 'granted', scope: 'service', permissions, needs: 'all' };
}

/** A container is a table or a queue. */
export function containerAccess(...permissions: readonly Permission[]): GrantedAccess {
  return { kind: 'granted', scope: 'container', permissions, needs: 'all' };
}

/** An object is an entity or a message. */
export function objectAccess(...permissions: readonly Permission[]): GrantedAccess {
  return { kind: 'granted', scope: 'object', permissions, needs: 'all' };
}

/** Whoever takes messages deletes them; a role may allow deleting alone. */
export const deleteMessageAccess: Access = {
  kind: 'granted',
  scope: 'object',
  permissions: ['process'],
  needs: 'all',
  orByRole: 'delete',
};

/** Making a container takes one of two permissions. */
export const createContainerAccess: Access = {
  kind: 'granted',
  scope: 'container',
  permissions: ['create', 'write'],
  needs: 'any',
};
