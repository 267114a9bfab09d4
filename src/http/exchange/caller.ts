import { unreachable } from '../../base/invariant.js';
import type { ServiceName } from '../../model/services/services.js';
import type { SasBounds } from '../../wire/auth/sas/sas-scope.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import type { PublicLevel } from './access.js';
import type { Permission, Scope } from '../../model/services/permission.js';

/** How the caller was authenticated; `none` also when no credential was valid. */
export type AuthKind =
  | 'none'
  | 'shared-key'
  | 'shared-key-lite'
  | 'service-sas'
  | 'account-sas'
  | 'user-delegation-sas'
  | 'bearer';

/** The bearer of a signature for one container (table-service §8.3, queue-service §4.3). */
export interface ContainerSasCaller extends SasBounds {
  readonly kind: 'container-sas';
  readonly authKind: 'service-sas' | 'user-delegation-sas';
  readonly service: ServiceName;
  readonly permissions: ReadonlySet<Permission>;
  /** The identity of the container: see `containerIdentity`. */
  readonly container: string;
}

/** The bearer of an account signature that covers this service. */
export interface AccountSasCaller {
  readonly kind: 'account-sas';
  readonly authKind: 'account-sas';
  readonly permissions: ReadonlySet<Permission>;
  readonly resourceTypes: ReadonlySet<Scope>;
}

/** The permissions of a caller, by scope. */
export type ScopedPermissions = Readonly<Record<Scope, ReadonlySet<Permission>>>;

/** The bearer of an access token (table-service §8.5, queue-service §4.6). */
export interface BearerCaller {
  readonly kind: 'bearer';
  readonly authKind: 'bearer';
  readonly permissions: ScopedPermissions;
  /** The issuer of the token. */
  readonly issuer: string;
  /** The user and the tenant of the token, if it has these claims. */
  readonly objectId?: string | undefined;
  readonly tenantId?: string | undefined;
  /** The program that got the token, the sign-in name of the user, and what the token is for. */
  readonly applicationId?: string | undefined;
  readonly userPrincipalName?: string | undefined;
  readonly audience?: string | undefined;
}

/** A sender without a credential. */
export interface AnonymousCaller {
  readonly kind: 'anonymous';
  /** The level of the addressed container. Absent: nothing is public. */
  readonly publicLevel?: PublicLevel;
  /** The answer to a request for more. Absent: `AuthenticationFailed`. */
  readonly refusal?: () => StorageError;
}

/** The authenticated sender of a request. */
export type Caller =
  | AnonymousCaller
  /** The holder of an account key: may do everything. */
  | { readonly kind: 'owner'; readonly authKind: 'shared-key' | 'shared-key-lite' }
  | ContainerSasCaller
  | AccountSasCaller
  | BearerCaller;

/** Whether an authorised caller has a permission in a scope. */
export function isPermitted(caller: Caller, scope: Scope, permission: Permission): boolean {
  switch (caller.kind) {
    case 'owner':
      return true;
    case 'anonymous':
      return false;
    case 'bearer':
      return caller.permissions[scope].has(permission);
    case 'container-sas':
    case 'account-sas':
      return caller.permissions.has(permission);
    default:
      return unreachable(caller);
  }
}

export function authKindOf(caller: Caller): AuthKind {
  return caller.kind === 'anonymous' ? 'none' : caller.authKind;
}
