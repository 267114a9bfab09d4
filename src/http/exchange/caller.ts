import type { EntityRange } from '../../model/edm/entity-range.js';
import type { ServiceName } from '../../model/services/services.js';
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
export interface ContainerSasCaller {
  readonly kind: 'container-sas';
  readonly authKind: 'service-sas' | 'user-delegation-sas';
  readonly service: ServiceName;
  readonly permissions: ReadonlySet<Permission>;
  /** The identity of the container: see `containerIdentity`. */
  readonly container: string;
  /** Absent: the whole container. */
  readonly range?: EntityRange;
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
}

/** The authenticated sender of a request. */
export type Caller =
  | { readonly kind: 'anonymous' }
  /** The holder of an account key: may do everything. */
  | { readonly kind: 'owner'; readonly authKind: 'shared-key' | 'shared-key-lite' }
  | ContainerSasCaller
  | AccountSasCaller
  | BearerCaller;

export function authKindOf(caller: Caller): AuthKind {
  return caller.kind === 'anonymous' ? 'none' : caller.authKind;
}
