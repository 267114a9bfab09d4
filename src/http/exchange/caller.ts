import type { EntityRange } from '../../model/edm/entity-range.js';
import type { ServiceName } from '../../model/services/services.js';
import type { Permission, Scope } from '../../model/services/permission.js';

/** How the caller was known; `none` also when nothing that was sent proved who it is. */
export type AuthKind =
  | 'none'
  | 'shared-key'
  | 'shared-key-lite'
  | 'service-sas'
  | 'account-sas'
  | 'user-delegation-sas'
  | 'bearer';

/** Holds a signature for one container (table-service §8.3, queue-service §4.3). */
export interface ContainerSasCaller {
  readonly kind: 'container-sas';
  readonly authKind: 'service-sas' | 'user-delegation-sas';
  readonly service: ServiceName;
  readonly permissions: ReadonlySet<Permission>;
  /** Its identity: see `containerIdentity`. */
  readonly container: string;
  /** Absent: all that the container holds. */
  readonly range?: EntityRange;
}

/** Holds a signature for the account that is good for this service. */
export interface AccountSasCaller {
  readonly kind: 'account-sas';
  readonly authKind: 'account-sas';
  readonly permissions: ReadonlySet<Permission>;
  readonly resourceTypes: ReadonlySet<Scope>;
}

/** What somebody may do, by what an operation touches. */
export type ScopedPermissions = Readonly<Record<Scope, ReadonlySet<Permission>>>;

/** Holds an access token (table-service §8.5, queue-service §4.6). */
export interface BearerCaller {
  readonly kind: 'bearer';
  readonly authKind: 'bearer';
  readonly permissions: ScopedPermissions;
  /** Who made the token. */
  readonly issuer: string;
  /** Whose token it is, and in which tenant, as far as it says. */
  readonly objectId?: string | undefined;
  readonly tenantId?: string | undefined;
}

/** Who sends the request, as far as the credential proves it. */
export type Caller =
  | { readonly kind: 'anonymous' }
  /** Holds a key of the account: may do everything. */
  | { readonly kind: 'owner'; readonly authKind: 'shared-key' | 'shared-key-lite' }
  | ContainerSasCaller
  | AccountSasCaller
  | BearerCaller;

export function authKindOf(caller: Caller): AuthKind {
  return caller.kind === 'anonymous' ? 'none' : caller.authKind;
}
