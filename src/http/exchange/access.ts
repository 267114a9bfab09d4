import type { Permission, Scope } from '../../model/services/permission.js';

/** The resource that an operation accesses and the permission that it needs. */
export type Access = { readonly kind: 'public' } | ProtectedAccess;

export type ProtectedAccess =
  /**
   * Needs a key of the account, or a token with the permission `byRole`. Without `byRole`, tokens
   * cannot use the operation (table-service §3.14).
   */
  { readonly kind: 'owner'; readonly byRole?: GrantedAccess } | GrantedAccess | EachAccess;

export interface GrantedAccess extends Needed {
  readonly kind: 'granted';
  /** True when one of `permissions` suffices. */
  readonly needs: 'all' | 'any';
  /** A permission that suffices for the bearer of a token. */
  readonly orByRole?: Permission;
}

/**
 * The access of a request that contains several operations, each authorised by itself. It needs any
 * of their permissions.
 */
export interface EachAccess extends Needed {
  readonly kind: 'each';
  readonly needs: 'any';
}

export interface Needed {
  readonly scope: Scope;
  /** An alternative resource type for account signatures. */
  readonly orScope?: Scope;
  readonly permissions: readonly Permission[];
}
