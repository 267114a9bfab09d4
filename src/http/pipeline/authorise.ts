import { StorageError } from '../../wire/errors/storage-error.js';
import type { AuthKind } from './record.js';

/** What somebody may do, by what an operation touches. */
export interface ScopedPermissions {
  readonly service: ReadonlySet<Permission>;
  readonly container: ReadonlySet<Permission>;
  readonly object: ReadonlySet<Permission>;
}

/** Who sends the request, as far as the credential proves it. */
export type Caller =
  | { readonly kind: 'anonymous' }
  /** Holds a key of the account: may do everything. */
  | { readonly kind: 'owner'; readonly authKind: Exclude<AuthKind, 'none'> }
  | {
      readonly kind: 'bearer';
      readonly authKind: 'bearer';
      /** The service that is asked. */
      readonly service: string;
      readonly permissions: ScopedPermissions;
    };

export type Permission =
  'read' | 'write' | 'delete' | 'list' | 'add' | 'create' | 'update' | 'process';

/** What an operation touches and what it needs to be allowed. */
export type Access =
  | { readonly kind: 'public' }
  /** Nothing less than a key of the account will do. */
  | { readonly kind: 'owner' }
  | {
      readonly kind: 'granted';
      readonly scope: 'service' | 'container' | 'object';
      readonly permissions: readonly Permission[];
      /** Whether one of `permissions` is enough. */
      readonly needs: 'all' | 'any';
      /** What is enough for the bearer of a token as well. */
      readonly orByRole?: Permission;
    };

/** The one place that decides whether a caller may do what an operation does. */
export function authorise(caller: Caller, access: Access): void {
  if (access.kind === 'public' || caller.kind === 'owner') return;
  if (caller.kind === 'bearer') return authoriseBearer(caller, access);
  throw new StorageError('AuthenticationFailed');
}

type Bearer = Extract<Caller, { readonly kind: 'bearer' }>;

/** Tables do not know operations of owners for tokens (spec table-service §3.14). */
function authoriseBearer({ permissions, service }: Bearer, access: Access): void {
  if (access.kind !== 'granted') {
    throw service === 'table'
      ? new StorageError('ResourceNotFound', { shape: 'front-door-xml' })
      : new StorageError('AuthorizationFailure');
  }
  const held = permissions[access.scope];
  const has = (permission: Permission): boolean => held.has(permission);
  const { permissions: needed, needs, orByRole } = access;
  if (needs === 'all' ? needed.every(has) : needed.some(has)) return;
  if (orByRole !== undefined && has(orByRole)) return;
  throw new StorageError('AuthorizationPermissionMismatch');
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The secondary endpoint only reads (spec queue-service §1.1). Throws
 * `InsufficientAccountPermissions` for what changes anything.
 */
export function checkEndpoint(
  { secondary, method }: { readonly secondary: boolean; readonly method: string },
  access: Access,
): void {
  if (!secondary) return;
  // Getting messages takes them.
  const takes = access.kind === 'granted' && access.permissions.includes('process');
  if (readingMethods.has(method) && !takes) return;
  throw new StorageError('InsufficientAccountPermissions', {
    message:
      'The account being accessed does not have sufficient permissions to execute this operation. ' +
      'The secondary endpoint only reads: ask the primary.',
  });
}

export function authKindOf(caller: Caller): AuthKind {
  return caller.kind === 'anonymous' ? 'none' : caller.authKind;
}
