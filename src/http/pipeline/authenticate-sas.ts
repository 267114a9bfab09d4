import type { Clock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import { authenticationFailed } from '../../model/errors/authentication-failed.js';
import type {
  AccountSas,
  QueueSas,
  Sas,
  SasFields,
  SasService,
  TableSas,
  UserDelegationQueueSas,
} from '../../wire/auth/sas/fields.js';
import { verifySasSignature } from '../../wire/auth/sas/sas-signature.js';
import {
  checkSasAddress,
  checkSasProtocol,
  checkSasWindow,
  sasWindow,
} from '../../wire/auth/sas/terms.js';
import {
  delegatedKeys,
  delegationServiceOfQueues,
} from '../../wire/auth/sas/user-delegation-key.js';
import type { KeyHolder } from '../../wire/auth/shared-key/shared-key.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import type { EntityRange } from '../../services/tables/entity-range.js';
import { tableIdentity } from '../../services/tables/table-name.js';
import type { Caller } from '../exchange/caller.js';
import type { Permission, Scope } from '../exchange/permission.js';
import type { Exchange } from '../exchange/exchange.js';
import type { SignedContainers } from '../exchange/service.js';

export interface SasContext {
  readonly signatures: SignedContainers;
  readonly clock: Clock;
  /** Whose tokens are good; undefined when nobody's are. */
  readonly bearer: { readonly issuer: string } | undefined;
}

/** The letter of `ss`. */
const serviceLetters: Readonly<Record<SasService, string>> = { table: 't', queue: 'q' };

/** The letters of `sp`; others mean nothing to tables and queues and permit nothing. */
const permissionLetters: ReadonlyMap<string, Permission> = new Map([
  ['r', 'read'],
  ['w', 'write'],
  ['d', 'delete'],
  ['l', 'list'],
  ['a', 'add'],
  ['c', 'create'],
  ['u', 'update'],
  ['p', 'process'],
]);

/** The letters of `srt`. */
const scopeLetters: ReadonlyMap<string, Scope> = new Map([
  ['s', 'service'],
  ['c', 'container'],
  ['o', 'object'],
]);

/**
 * Who holds a shared access signature, after every check that does not depend on the operation, in
 * the order of queue-service §4.3: signature, time, protocol, address, service. A stored
 * policy is looked up in the store for each request, so that changing it is effective at once in
 * every process.
 *
 * @throws {StorageError} `AuthenticationFailed`, `AuthorizationProtocolMismatch`,
 *   `AuthorizationSourceIPMismatch`, `AuthorizationServiceMismatch`
 */
export function authenticateSas(
  sas: Sas,
  exchange: Exchange,
  account: KeyHolder,
  context: SasContext,
): Caller | Promise<Caller> {
  switch (sas.kind) {
    case 'account-sas':
      return accountCaller(sas, exchange, account, context);
    case 'table-sas':
      return tableCaller(sas, exchange, account, context);
    case 'queue-sas':
      return queueCaller(sas, exchange, account, context);
    case 'user-delegation-queue-sas':
      return delegatedCaller(sas, exchange, account, context);
    default:
      return unreachable(sas);
  }
}

function accountCaller(
  sas: AccountSas,
  exchange: Exchange,
  account: KeyHolder,
  { signatures, clock }: SasContext,
): Caller {
  verifySasSignature(sas, account, undefined);
  checkTerms(sas, exchange, clock);
  if (!sas.services.includes(serviceLetters[signatures.service])) {
    throw new StorageError('AuthorizationServiceMismatch');
  }
  const permissions = meaningsOf(sas.permissions ?? '', permissionLetters);
  const resourceTypes = meaningsOf(sas.resourceTypes, scopeLetters);
  return { kind: 'account-sas', authKind: 'account-sas', permissions, resourceTypes };
}

function tableCaller(
  sas: TableSas,
  exchange: Exchange,
  account: KeyHolder,
  context: SasContext,
): Caller | Promise<Caller> {
  verifySasSignature(sas, account, undefined);
  const table = tableIdentity(sas.table);
  const range = rangeOf(sas);
  return withTerms(sas, { exchange, account, container: table, context }, (letters) => ({
    kind: 'table-sas',
    authKind: 'service-sas',
    permissions: meaningsOf(letters, permissionLetters),
    table,
    ...(range === undefined ? {} : { range }),
  }));
}

function rangeOf(sas: TableSas): EntityRange | undefined {
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = sas;
  if (startPartitionKey === undefined && endPartitionKey === undefined) return undefined;
  return {
    ...(startPartitionKey === undefined ? {} : { startPartitionKey }),
    ...(startRowKey === undefined ? {} : { startRowKey }),
    ...(endPartitionKey === undefined ? {} : { endPartitionKey }),
    ...(endRowKey === undefined ? {} : { endRowKey }),
  };
}

function queueCaller(
  sas: QueueSas,
  exchange: Exchange,
  account: KeyHolder,
  context: SasContext,
): Caller | Promise<Caller> {
  const queue = context.signatures.containerOf(exchange);
  if (queue === undefined) {
    throw authenticationFailed('The signature is for a queue; the request addresses none.');
  }
  verifySasSignature(sas, account, queue);
  return withTerms(sas, { exchange, account, container: queue, context }, (letters) => ({
    kind: 'queue-sas',
    authKind: 'service-sas',
    permissions: meaningsOf(letters, permissionLetters),
    queue,
  }));
}

/** Signed with a key that the bearer of a token has got (queue-service §4.5). */
function delegatedCaller(
  sas: UserDelegationQueueSas,
  exchange: Exchange,
  account: KeyHolder,
  { signatures, clock, bearer }: SasContext,
): Caller {
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
  if (delegationKey.service !== delegationServiceOfQueues) {
    throw authenticationFailed(`sks must be ${delegationServiceOfQueues}, for queues.`);
  }
  const queue = signatures.containerOf(exchange);
  if (queue === undefined) {
    throw authenticationFailed('The signature is for a queue; the request addresses none.');
  }
  verifySasSignature(sas, delegatedKeys(account, bearer.issuer, delegationKey), queue);
  checkSasWindow(sasWindow(delegationKey), clock.nowMicros());
  checkTerms(sas, exchange, clock);
  const permissions = meaningsOf(sas.permissions ?? '', permissionLetters);
  return { kind: 'queue-sas', authKind: 'user-delegation-sas', permissions, queue };
}

/** A signature that names a stored policy takes a read of the store, others take none. */
function withTerms(
  sas: TableSas | QueueSas,
  place: {
    readonly exchange: Exchange;
    readonly account: KeyHolder;
    readonly container: string;
    readonly context: SasContext;
  },
  callerWith: (permissions: string) => Caller,
): Caller | Promise<Caller> {
  const { exchange, account, container, context } = place;
  const { signatures, clock } = context;
  const permitted = (terms: SasFields): Caller => {
    checkTerms(terms, exchange, clock);
    return callerWith(terms.permissions ?? '');
  };
  if (sas.identifier === undefined) return permitted(sas);
  return signatures
    .storedPolicies(account.name, container)
    .then((policies) => permitted(completed(sas, policies)));
}

/** The fields of a signature and of the policy that it names, each given in one of the two. */
function completed(
  sas: TableSas | QueueSas,
  policies: readonly SignedIdentifier[],
): TableSas | QueueSas {
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

function meaningsOf<T>(text: string, meanings: ReadonlyMap<string, T>): ReadonlySet<T> {
  const found = new Set<T>();
  for (const letter of text) {
    const meaning = meanings.get(letter);
    if (meaning !== undefined) found.add(meaning);
  }
  return found;
}
