import type { Permission, Scope } from '../../model/services/permission.js';

/** What an operation touches and what it needs to be allowed. */
export type Access = { readonly kind: 'public' } | ProtectedAccess;

export type ProtectedAccess =
  /**
   * Nothing less than a key of the account will do, or a token as `byRole` says. Without that there
   * is no such operation for tokens (table-service §3.14).
   */
  { readonly kind: 'owner'; readonly byRole?: GrantedAccess } | GrantedAccess | EachAccess;

export interface GrantedAccess extends Needed {
  readonly kind: 'granted';
  /** Whether one of `permissions` is enough. */
  readonly needs: 'all' | 'any';
  /** What is enough for the bearer of a token as well. */
  readonly orByRole?: Permission;
}

/**
 * Of what carries operations that are each judged on their own, against what they are about. It is
 * open to whoever may do any of these at all.
 */
export interface EachAccess extends Needed {
  readonly kind: 'each';
  readonly needs: 'any';
}

export interface Needed {
  readonly scope: Scope;
  /** What a signature for an account may name as the resource type instead. */
  readonly orScope?: Scope;
  readonly permissions: readonly Permission[];
}
