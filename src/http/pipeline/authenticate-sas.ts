import type { Clock } from '../../base/clock.js';
import { invariant, unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import type { AccountSas, Sas, SasFields } from '../../wire/auth/sas/fields.js';
import {
  sasScope,
  type SasBounds,
  type ServiceSas,
  type UserDelegationSas,
} from '../../wire/auth/sas/sas-scope.js';
import { verifySasSignature } from '../../wire/auth/sas/sas-signature.js';
import type { SignedAddress } from '../../wire/auth/sas/string-to-sign-sas.js';
import {
  checkSasAddress,
  checkSasProtocol,
  checkSasWindow,
  sasWindow,
} from '../../wire/auth/sas/terms.js';
import { delegatedKeys } from '../../wire/auth/sas/user-delegation-key.js';
import type { KeyHolder } from '../../wire/auth/shared-key/shared-key.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { permissionsOfLetters, scopesOfLetters } from '../../model/services/permission.js';
import { containerIdentity, services, type ServiceName } from '../../model/services/services.js';
import type { Caller } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import type { SignedContainers } from '../exchange/service.js';

export interface SasContext {
  /** The addressed service. */
  readonly service: ServiceName;
  readonly signatures: SignedContainers;
  readonly clock: Clock;
  /** The trusted token issuer; undefined when tokens are not accepted. */
  readonly bearer: { readonly issuer: string } | undefined;
}

/**
 * Authenticates the bearer of a shared access signature with every check that does not depend on
 * the operation, in the order of queue-service §4.3: signature, time, protocol, address, service. A
 * stored policy is read from the store for each request, so that a change takes effect at once in
 * every process.
 *
 * @throws {StorageError} `AuthenticationFailed`, `AuthorizationProtocolMismatch`,
 * `AuthorizationSourceIPMismatch`, `AuthorizationServiceMismatch`
 */
export function authenticateSas(
  sas: Sas,
  exchange: Exchange,
  account: KeyHolder,
  context: SasContext,
): Caller | Promise<Caller> {
  const scope = sasScope(sas);
  switch (scope.kind) {
    case 'account':
      return accountCaller(scope.sas, exchange, account, context);
    case 'service': {
      const { container, bounds } = scope;
      const address = container === undefined ? addressed(exchange, context) : { container };
      return containerCaller(scope.sas, { exchange, account, address, bounds, context });
    }
    case 'user-delegation': {
      const address = addressed(exchange, context);
      const { bounds } = scope;
      return delegatedCaller(scope.sas, { exchange, account, address, bounds, context });
    }
    default:
      return unreachable(scope);
  }
}

function accountCaller(
  sas: AccountSas,
  exchange: Exchange,
  account: KeyHolder,
  { service, clock }: SasContext,
): Caller {
  verifySasSignature(sas, account, undefined);
  checkTerms(sas, exchange, clock);
  if (!sas.services.includes(services[service].signature.letter)) {
    throw new StorageError('AuthorizationServiceMismatch');
  }
  const permissions = permissionsOfLetters(sas.permissions ?? '');
  const resourceTypes = scopesOfLetters(sas.resourceTypes);
  return { kind: 'account-sas', authKind: 'account-sas', permissions, resourceTypes };
}

/** The address and account that a signature is checked against. */
interface SignedResource {
  readonly exchange: Exchange;
  readonly account: KeyHolder;
  /** The container named by the signature, or else what the URL names. */
  readonly address: SignedAddress;
  readonly bounds: SasBounds;
  readonly context: SasContext;
}

/** Reads the store only for a signature that names a stored policy. */
function containerCaller(
  sas: ServiceSas,
  { exchange, account, address, bounds, context }: SignedResource,
): Caller | Promise<Caller> {
  const { service, signatures, clock } = context;
  verifySasSignature(sas, account, address);
  const identity = containerIdentity(service, address.container);
  const permitted = (terms: SasFields): Caller => {
    checkTerms(terms, exchange, clock);
    return {
      kind: 'container-sas',
      authKind: 'service-sas',
      service,
      permissions: permissionsOfLetters(terms.permissions ?? ''),
      container: identity,
      ...bounds,
    };
  };
  if (sas.identifier === undefined) return permitted(sas);
  return signatures
    .storedPolicies(account.name, identity)
    .then((policies) => permitted(completed(sas, policies)));
}

function addressed(exchange: Exchange, { service, signatures }: SasContext): SignedAddress {
  const address = signatures.addressOf(exchange);
  if (address !== undefined) return address;
  const { noun } = services[service].container;
  throw authenticationFailed(`The signature is for a ${noun}; the request addresses none.`);
}

/**
 * A signature made with a user delegation key (queue-service §4.5, blob-service §4.5). It allows no
 * more than the token allowed with which the key was requested.
 */
function delegatedCaller(
  sas: UserDelegationSas,
  { exchange, account, address, bounds, context }: SignedResource,
): Caller {
  const { service, clock, bearer } = context;
  if (bearer === undefined) {
    throw authenticationFailed(
      'The server trusts no issuer of tokens, and so no keys that are given for tokens. Start it ' +
        'with --oauth to have them.',
    );
  }
  const { delegationKey, delegatedUserObjectId } = sas;
  if (delegatedUserObjectId !== undefined || delegationKey.delegatedTenantId !== undefined) {
    throw authenticationFailed('Signatures for one other user (sduoid, skdutid) are not accepted.');
  }
  const { letter } = services[service].signature;
  if (delegationKey.service !== letter) {
    throw authenticationFailed(`sks must be ${letter}, for ${services[service].plural}.`);
  }
  const keys = (grants: string) => delegatedKeys(account, bearer.issuer, delegationKey, grants);
  const grants = verifiedGrants(service, (each) => verifySasSignature(sas, keys(each), address));
  checkSasWindow(sasWindow(delegationKey), clock.nowMicros());
  checkTerms(sas, exchange, clock);
  const granted = permissionsOfLetters(grants);
  const signed = permissionsOfLetters(sas.permissions ?? '');
  return {
    kind: 'container-sas',
    authKind: 'user-delegation-sas',
    service,
    permissions: new Set([...signed].filter((permission) => granted.has(permission))),
    container: containerIdentity(service, address.container),
    ...bounds,
  };
}

/** The permissions of the key that made a signature. Throws when none of the possible keys did. */
function verifiedGrants(service: ServiceName, verify: (grants: string) => void): string {
  const [first, ...others] = services[service].signature.delegable;
  for (const grants of others) {
    try {
      verify(grants);
      return grants;
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
  }
  invariant(first !== undefined, 'a service says what may be delegated');
  verify(first);
  return first;
}

/**
 * The fields of a signature, completed by the policy that it names; each field comes from one of
 * the two.
 */
function completed<S extends ServiceSas>(sas: S, policies: readonly SignedIdentifier[]): S {
  const policy = policies.find(({ id }) => id === sas.identifier);
  if (policy === undefined) {
    throw authenticationFailed('No stored access policy has the id that si names.');
  }
  const start = eitherOf('st', sas.start, policy.start);
  const expiry = eitherOf('se', sas.expiry, policy.expiry);
  const permissions = eitherOf('sp', sas.permissions, policy.permission);
  if (expiry === undefined) throw missing('se');
  if (permissions === undefined) throw missing('sp');
  return { ...sas, start, expiry, permissions };
}

function eitherOf(
  name: string,
  signed: string | undefined,
  stored: string | undefined,
): string | undefined {
  if (signed === undefined || stored === undefined) return signed ?? stored;
  throw authenticationFailed(
    `${name} is in the signature and in its stored access policy; leave it out of one.`,
  );
}

function missing(name: string): StorageError {
  return authenticationFailed(
    `Neither the signature nor its stored access policy has ${name}; put it into one.`,
  );
}

function checkTerms(sas: SasFields, exchange: Exchange, clock: Clock): void {
  checkSasWindow(sasWindow(sas), clock.nowMicros());
  checkSasProtocol(sas, exchange.protocol === 'https');
  checkSasAddress(sas, exchange.request.socket.remoteAddress ?? '');
}
