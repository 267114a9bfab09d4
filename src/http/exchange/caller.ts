import type { EntityRange } from '../../services/tables/entity-range.js';
import type { Permission, Scope } from './permission.js';

/** How the caller was known; `none` also when nothing that was sent proved who it is. */
export type AuthKind =
  | 'none'
  | 'shared-key'
  | 'shared-key-lite'
  | 'service-sas'
  | 'account-sas'
  | 'user-delegation-sas'
  | 'bearer';

/** Holds a signature for one table (table-service §8.3). */
export interface TableSasCaller {
  readonly kind: 'table-sas';
  readonly authKind: 'service-sas';
  readonly permissions: ReadonlySet<Permission>;
  /** In lower case. */
  readonly table: string;
  /** Absent: all entities. */
  readonly range?: EntityRange;
}

/** Holds a signature for one queue (queue-service §4.3). */
export interface QueueSasCaller {
  readonly kind: 'queue-sas';
  readonly authKind: 'service-sas' | 'user-delegation-sas';
  readonly permissions: ReadonlySet<Permission>;
  readonly queue: string;
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
  /** The service that is asked. */
  readonly service: string;
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
  | TableSasCaller
  | QueueSasCaller
  | AccountSasCaller
  | BearerCaller;

export function authKindOf(caller: Caller): AuthKind {
  return caller.kind === 'anonymous' ? 'none' : caller.authKind;
}
