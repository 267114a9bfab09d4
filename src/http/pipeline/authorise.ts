import { StorageError } from '../../wire/errors/storage-error.js';
import type { AuthKind } from './record.js';

/** Who sends the request, as far as the credential proves it. */
export type Caller =
  | { readonly kind: 'anonymous' }
  /** Holds a key of the account: may do everything. */
  | { readonly kind: 'owner'; readonly authKind: Exclude<AuthKind, 'none'> };

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
    };

/** The one place that decides whether a caller may do what an operation does. */
export function authorise(caller: Caller, access: Access): void {
  if (access.kind === 'public' || caller.kind === 'owner') return;
  throw new StorageError('AuthenticationFailed');
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
  return caller.kind === 'owner' ? caller.authKind : 'none';
}
