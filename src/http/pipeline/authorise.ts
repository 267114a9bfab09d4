import { unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Access, EachAccess, GrantedAccess, Needed } from '../exchange/access.js';
import type {
  AccountSasCaller,
  BearerCaller,
  Caller,
  QueueSasCaller,
  TableSasCaller,
} from '../exchange/caller.js';
import type { Permission } from '../exchange/permission.js';

/**
 * The one place that decides whether a caller may do what an operation does.
 *
 * @param container the table or queue that the operation is about; undefined when it is about none
 * @throws {StorageError} `AuthorizationFailure` for what no credential of the kind can allow, and
 *   for another container; `AuthorizationResourceTypeMismatch`; `AuthorizationPermissionMismatch`;
 *   for the bearer of a token also `ResourceNotFound`
 */
export function authorise(caller: Caller, access: Access, container: string | undefined): void {
  if (access.kind === 'public' || caller.kind === 'owner') return;
  switch (caller.kind) {
    case 'anonymous':
      throw new StorageError('AuthenticationFailed');
    case 'bearer':
      return authoriseBearer(caller, access);
    case 'table-sas':
    case 'queue-sas':
    case 'account-sas':
      return authoriseSas(caller, access, container);
    default:
      return unreachable(caller);
  }
}

type SasCaller = TableSasCaller | QueueSasCaller | AccountSasCaller;

function authoriseSas(caller: SasCaller, access: Access, container: string | undefined): void {
  if (access.kind !== 'granted' && access.kind !== 'each') throw notBySignature();
  switch (caller.kind) {
    case 'table-sas':
      if (access.scope !== 'object') throw notBySignature();
      if (access.kind === 'granted' && !isTableOf(caller, container)) throw otherContainer();
      break;
    case 'queue-sas':
      if (!isOfQueues(access)) throw notBySignature();
      if (caller.queue !== container) throw otherContainer();
      break;
    case 'account-sas':
      checkResourceType(caller, access);
      break;
    default:
      unreachable(caller);
  }
  checkPermissions(caller.permissions, access);
}

const queuePermissions: ReadonlySet<Permission> = new Set(['read', 'add', 'update', 'process']);

/** What the letters of a signature for a queue can mean (queue-service §4.3). */
function isOfQueues({ scope, permissions }: Needed): boolean {
  return scope !== 'service' && permissions.every((each) => queuePermissions.has(each));
}

function checkResourceType({ resourceTypes }: AccountSasCaller, { scope, orScope }: Needed): void {
  if (resourceTypes.has(scope) || (orScope !== undefined && resourceTypes.has(orScope))) return;
  const wanted = orScope === undefined ? scope : `${scope} or ${orScope}`;
  throw new StorageError('AuthorizationResourceTypeMismatch', {
    details: explained(`The operation needs ${wanted} among the resource types (srt).`),
  });
}

function checkPermissions(
  granted: ReadonlySet<Permission>,
  access: GrantedAccess | EachAccess,
): void {
  if (permits(granted, access)) return;
  const wanted = access.permissions.join(access.needs === 'all' ? ' and ' : ' or ');
  throw new StorageError('AuthorizationPermissionMismatch', {
    details: explained(`The operation needs the permission ${wanted}; the signature lacks it.`),
  });
}

function permits(
  granted: ReadonlySet<Permission>,
  { permissions, needs }: GrantedAccess | EachAccess,
): boolean {
  const has = (permission: Permission): boolean => granted.has(permission);
  return needs === 'all' ? permissions.every(has) : permissions.some(has);
}

/** Tables do not know operations of owners for tokens (table-service §3.14). */
function authoriseBearer(caller: BearerCaller, access: Access): void {
  const { permissions, service } = caller;
  if (access.kind === 'owner' && access.byRole !== undefined) {
    return authoriseBearer(caller, access.byRole);
  }
  if (access.kind !== 'granted' && access.kind !== 'each') {
    throw service === 'table'
      ? new StorageError('ResourceNotFound', { shape: 'front-door-xml' })
      : new StorageError('AuthorizationFailure', {
          details: explained('No token allows the operation; use a key of the account.'),
        });
  }
  const held = permissions[access.scope];
  if (permits(held, access)) return;
  const orByRole = access.kind === 'granted' ? access.orByRole : undefined;
  if (orByRole !== undefined && held.has(orByRole)) return;
  const { permissions: needed, needs, scope } = access;
  const wanted = needed.join(needs === 'all' ? ' and ' : ' or ');
  throw new StorageError('AuthorizationPermissionMismatch', {
    details: explained(
      `The operation needs the permission ${wanted} on a ${scope}; no role or scope of the token ` +
        'gives it.',
    ),
  });
}

/**
 * A signature for one table proves nothing about another (table-service §8.3).
 *
 * @param container what the address of the request names
 * @throws {StorageError} `AuthenticationFailed`
 */
export function checkContainer(caller: Caller, container: string | undefined): void {
  if (caller.kind !== 'table-sas' || container === undefined) return;
  if (isTableOf(caller, container)) return;
  throw authenticationFailed(
    `The signature is for the table '${caller.table}' (tn), the request for '${container}'.`,
  );
}

function isTableOf(caller: TableSasCaller, container: string | undefined): boolean {
  return container !== undefined && container.toLowerCase() === caller.table;
}

function notBySignature(): StorageError {
  return new StorageError('AuthorizationFailure', {
    details: explained('No signature of this kind allows the operation; use a key of the account.'),
  });
}

function otherContainer(): StorageError {
  return new StorageError('AuthorizationFailure', {
    details: explained('The signature is for another table or queue.'),
  });
}

function explained(detail: string): StorageError['details'] {
  return [['AuthenticationErrorDetail', detail]];
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The secondary endpoint only reads (queue-service §1.1). Throws
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
      'Write operations are not allowed. The secondary endpoint only reads: ask the primary.',
  });
}
