import type { Permission, Scope } from '../../model/services/permission.js';

/** The resource that an operation accesses and the permission that it needs. */
export type Access = { readonly kind: 'public' } | ProtectedAccess;

export type ProtectedAccess = OwnerAccess | GrantedAccess | EachAccess | CredentialAccess;

/**
 * Needs a key of the account, or a token with the permission `byRole`. Without `byRole`, tokens
 * cannot use the operation (table-service §3.14).
 */
export interface OwnerAccess {
  readonly kind: 'owner';
  readonly byRole?: GrantedAccess;
  /**
   * Bearers of tokens are told that they cannot use the operation. Absent: the resource is not
   * found.
   */
  readonly tellsTokens?: true;
}

/** Every key and every signature suffices, whatever it permits (blob-service §4.3). */
export interface CredentialAccess {
  readonly kind: 'credential';
  /** Tokens suffice as well. */
  readonly byToken: boolean;
}

/** How much of a container needs no credential: its blobs, or its list and properties as well. */
export type PublicLevel = 'blob' | 'container';

export interface GrantedAccess extends Needed {
  readonly kind: 'granted';
  /** True when one of `permissions` suffices. */
  readonly needs: 'all' | 'any';
  /** A permission that suffices for the bearer of a token. */
  readonly orByRole?: Permission;
  /** Signatures for one container cannot grant it, only those for the account. */
  readonly byAccountOnly?: true;
  /** The least level of a container at which no credential is needed. Absent: one always is. */
  readonly publicAt?: PublicLevel;
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
