import { unreachable } from '../../base/invariant.js';
import type { Permission } from '../../model/services/permission.js';
import { serviceNames, services, type ServiceName } from '../../model/services/services.js';
import type { ScopedPermissions } from '../exchange/caller.js';

/** The rights of a role or a scope. */
export const tokenRights = ['read', 'write', 'delete'] as const;
export type TokenRight = (typeof tokenRights)[number];

/** Rights by the name of a role or a scope, for all services alike. */
export type RightsByName = ReadonlyMap<string, readonly TokenRight[]>;

/** The names that a token carries. */
export interface TokenNames {
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
}

interface Role {
  readonly service: ServiceName;
  readonly rights: readonly TokenRight[];
  /** Permissions for messages and blobs beside the role's rights. */
  readonly objects?: readonly Permission[];
  /** Permissions for containers beside the role's rights. */
  readonly containers?: readonly Permission[];
}

const all: readonly TokenRight[] = tokenRights;

/** Roles by the text after `Storage Table Data`. */
type NamedRoles = Readonly<Record<string, Omit<Role, 'service'>>>;

const commonRoles: NamedRoles = { Reader: { rights: ['read'] }, Contributor: { rights: all } };

/** Further roles of a service. */
const ownRoles: Readonly<Record<ServiceName, NamedRoles>> = {
  table: {},
  queue: {
    'Message Processor': { rights: [], objects: ['read', 'process'] },
    'Message Sender': { rights: [], objects: ['add'] },
  },
  blob: {
    Owner: {
      rights: all,
      objects: ['tag', 'find', 'delete-version', 'permanent-delete', 'protect', 'move', 'execute'],
      containers: ['find'],
    },
  },
};

/** The built-in data roles of the cloud service. */
const builtInRoles: ReadonlyMap<string, Role> = new Map(
  serviceNames.flatMap((service) =>
    Object.entries({ ...commonRoles, ...ownRoles[service] }).map(([name, role]): [string, Role] => [
      `Storage ${services[service].title} Data ${name}`,
      { service, ...role },
    ]),
  ),
);

/** A scope that delegates all that the roles of the user allow, and no more. */
const impersonation = 'user_impersonation';

class Granted implements ScopedPermissions {
  readonly service = new Set<Permission>();
  readonly container = new Set<Permission>();
  readonly object = new Set<Permission>();

  get scopes(): readonly Set<Permission>[] {
    return [this.service, this.container, this.object];
  }
}

/**
 * The permissions of a token's roles and scopes on a service. Roles grant. Without roles, scopes
 * grant; beside roles, scopes limit what the roles grant. Unknown names grant nothing.
 *
 * @param configured overrides the built-in meaning of a name
 */
export function permissionsOf(
  { roles, scopes }: TokenNames,
  service: ServiceName,
  configured: RightsByName,
): ScopedPermissions {
  const byRoles = new Granted();
  for (const name of roles) grantRole(byRoles, name, service, configured);
  if (scopes.length === 0 || (roles.length > 0 && scopes.includes(impersonation))) return byRoles;
  const byScopes = new Granted();
  for (const name of scopes) grantRights(byScopes, configured.get(name) ?? scopeRights(name));
  return roles.length === 0 ? byScopes : intersection(byRoles, byScopes);
}

function grantRole(
  to: Granted,
  name: string,
  service: ServiceName,
  configured: RightsByName,
): void {
  const rights = configured.get(name);
  if (rights !== undefined) {
    grantRights(to, rights);
    return;
  }
  const role = builtInRoles.get(name);
  if (role?.service !== service) return;
  grantRights(to, role.rights);
  for (const permission of role.objects ?? []) to.object.add(permission);
  for (const permission of role.containers ?? []) to.container.add(permission);
}

function scopeRights(name: string): readonly TokenRight[] {
  return tokenRights.filter((right) => right === name);
}

function grantRights(to: Granted, rights: readonly TokenRight[]): void {
  for (const granted of to.scopes) {
    for (const permission of rights.flatMap(permissionsOfRight)) granted.add(permission);
  }
  // Dequeueing a message reads it and hides it from others.
  if (to.object.has('read') && to.object.has('delete')) to.object.add('process');
}

function permissionsOfRight(right: TokenRight): readonly Permission[] {
  switch (right) {
    case 'read':
      return ['read', 'list'];
    case 'write':
      return ['write', 'create', 'add', 'update'];
    case 'delete':
      return ['delete'];
    default:
      return unreachable(right);
  }
}

function intersection(left: ScopedPermissions, right: ScopedPermissions): ScopedPermissions {
  const both = (scope: keyof ScopedPermissions): ReadonlySet<Permission> =>
    new Set([...left[scope]].filter((permission) => right[scope].has(permission)));
  return { service: both('service'), container: both('container'), object: both('object') };
}
