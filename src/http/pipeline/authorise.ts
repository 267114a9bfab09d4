import type { Exchange } from '../exchange/exchange.js';
import type { Routed } from '../exchange/service.js';
import { unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type {
  Access,
  EachAccess,
  GrantedAccess,
  Needed,
  ProtectedAccess,
} from '../exchange/access.js';
import type {
  AccountSasCaller,
  AnonymousCaller,
  BearerCaller,
  Caller,
  ContainerSasCaller,
} from '../exchange/caller.js';
import { permissionsOfLetters, type Permission } from '../../model/services/permission.js';
import {
  byService,
  containerIdentity,
  containerNounOf,
  serviceNames,
  services,
} from '../../model/services/services.js';

/** Fifth stage: checks that the caller may do what the request asks for. Throws as its parts do. */
export function authoriseExchange(exchange: Exchange, { operation, request }: Routed): void {
  const { caller } = exchange;
  checkContainer(caller, request.container);
  authorise(caller, operation.access, request.container);
  if (request.furtherAccess !== undefined) {
    authorise(caller, request.furtherAccess, request.container);
  }
  checkEndpoint(exchange, operation.access);
}

/**
 * The only authorisation check of operations.
 *
 * @param container that of the operation; undefined when it has none
 * @throws {StorageError} `AuthorizationFailure` when no credential of the kind can grant it, and
 * for another container; `AuthorizationResourceTypeMismatch`; `AuthorizationPermissionMismatch`;
 * for the bearer of a token also `ResourceNotFound`
 */
export function authorise(caller: Caller, access: Access, container: string | undefined): void {
  if (access.kind === 'public' || caller.kind === 'owner') return;
  switch (caller.kind) {
    case 'anonymous':
      return authoriseAnonymous(caller, access);
    case 'bearer':
      return authoriseBearer(caller, access);
    case 'container-sas':
    case 'account-sas':
      return authoriseSas(caller, access, container);
    default:
      return unreachable(caller);
  }
}

/** Public containers hold what needs no credential (blob-service §4.7). */
function authoriseAnonymous(
  { publicLevel, refusal }: AnonymousCaller,
  access: ProtectedAccess,
): void {
  const needed = access.kind === 'granted' ? access.publicAt : undefined;
  const isOpen = publicLevel === 'container' || publicLevel === needed;
  if (needed === undefined || publicLevel === undefined || !isOpen) {
    throw refusal?.() ?? new StorageError('AuthenticationFailed');
  }
}

function authoriseSas(
  caller: ContainerSasCaller | AccountSasCaller,
  access: ProtectedAccess,
  container: string | undefined,
): void {
  if (access.kind === 'credential') return;
  if (access.kind === 'owner') throw notBySignature();
  switch (caller.kind) {
    case 'container-sas':
      if (!isOfContainers(caller, access)) throw notBySignature();
      if (access.kind === 'granted' && !isFor(caller, container)) throw otherContainer();
      break;
    case 'account-sas':
      checkResourceType(caller, access);
      break;
    default:
      unreachable(caller);
  }
  checkPermissions(caller.permissions, access);
}

const ofContainers = byService((service) => {
  const { permissions, scopes } = services[service].signature;
  return { permissions: permissionsOfLetters(permissions), scopes };
});

/**
 * The operations that a container signature can grant at all (table-service §8.3, queue-service
 * §4.3, blob-service §4.3).
 */
function isOfContainers(
  { service, isForObject }: ContainerSasCaller,
  access: GrantedAccess | EachAccess,
): boolean {
  const { scope, permissions } = access;
  const signed = ofContainers[service];
  if (access.kind === 'granted' && access.byAccountOnly === true) return false;
  if (isForObject === true && scope !== 'object') return false;
  return signed.scopes.includes(scope) && permissions.every((each) => signed.permissions.has(each));
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

function authoriseBearer(caller: BearerCaller, access: ProtectedAccess): void {
  if (access.kind === 'credential') {
    if (access.byToken) return;
    throw notByToken();
  }
  if (access.kind === 'owner') {
    if (access.byRole !== undefined) return authoriseBearer(caller, access.byRole);
    if (access.tellsTokens === true) throw notByToken();
    throw new StorageError('ResourceNotFound', { shape: 'front-door-xml' });
  }
  const held = caller.permissions[access.scope];
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
 * A signature that names its container is invalid for any other (table-service §8.3).
 *
 * @param container the container in the address of the request
 * @throws {StorageError} `AuthenticationFailed`
 */
export function checkContainer(caller: Caller, container: string | undefined): void {
  if (caller.kind !== 'container-sas' || container === undefined) return;
  if (isFor(caller, container)) return;
  const { container: kind, signature } = services[caller.service];
  const field = signature.containerField === undefined ? '' : ` (${signature.containerField})`;
  throw authenticationFailed(
    `The signature is for the ${kind.noun} '${caller.container}'${field}, the request for ` +
      `'${container}'.`,
  );
}

function isFor(caller: ContainerSasCaller, container: string | undefined): boolean {
  if (container === undefined) return false;
  return containerIdentity(caller.service, container) === caller.container;
}

function notByToken(): StorageError {
  return new StorageError('AuthorizationFailure', {
    details: explained('No token allows the operation; use a key of the account.'),
  });
}

function notBySignature(): StorageError {
  return new StorageError('AuthorizationFailure', {
    details: explained('No signature of this kind allows the operation; use a key of the account.'),
  });
}

const containerNouns = serviceNames.map(containerNounOf).join(' or ');

function otherContainer(): StorageError {
  return new StorageError('AuthorizationFailure', {
    details: explained(`The signature is for another ${containerNouns}.`),
  });
}

function explained(detail: string): StorageError['details'] {
  return [['AuthenticationErrorDetail', detail]];
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The secondary endpoint is read-only (queue-service §1.1). Throws `InsufficientAccountPermissions`
 * for any change.
 */
function checkEndpoint({ secondary, method }: Exchange, access: Access): void {
  if (!secondary) return;
  // A get of messages changes them.
  const takes = access.kind === 'granted' && access.permissions.includes('process');
  if (readingMethods.has(method) && !takes) return;
  throw new StorageError('InsufficientAccountPermissions', {
    message:
      'Write operations are not allowed. The secondary endpoint only reads: ask the primary.',
  });
}
