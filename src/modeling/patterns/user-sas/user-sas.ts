import { generateTableSas, type NamedKeyCredential, type SasIPRange } from '@azure/data-tables';
import { systemClock, type Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { ValueError } from '../../rows/model-error.js';
import { keyScopeOf, type KeyScope, type ScopeOf } from './key-scope.js';

/**
 * The permissions of a token. `read` covers queries and point reads, `update` merges and replaces.
 */
export type SasPermission = 'read' | 'add' | 'update' | 'delete';

/** Terms in the token itself. */
export interface OwnTerms {
  readonly permissions: readonly SasPermission[];
  /** From now, rounded down to whole seconds. */
  readonly lifetimeMs: number;
}

/** Terms in a stored access policy of the table, which can be changed and revoked later. */
export interface PolicyTerms {
  readonly policy: string;
}

/** The permissions and the lifetime of a token. */
export type SasTerms = OwnTerms | PolicyTerms;

/** The settings with which tokens are made. Keep them with the account key. */
export interface SasSettings {
  /** The table's name. */
  readonly table: string;
  readonly credential: NamedKeyCredential;
  /** Default `https`. */
  readonly protocol?: 'https' | 'https,http';
  /** Addresses that may use the token. */
  readonly ipRange?: SasIPRange;
  /** The system's clock when absent. */
  readonly clock?: Clock;
}

/** The rows and terms of a token, and the settings with which it is made. */
export type SasOptions<D extends AnyDefinition> = SasSettings & ScopeOf<D> & SasTerms;

/** A token and the keys that it can access. */
export interface UserSas {
  /** A query string without `?`, for `AzureSASCredential`. Every holder of the token can use it. */
  readonly token: string;
  readonly scope: KeyScope;
  /** Microseconds since 1970, by the clock that made it. Undefined when a stored policy decides. */
  readonly expiresAtMicros: number | undefined;
}

/**
 * Makes a token for the entities of a definition whose keys begin with given values: a user's own
 * partition, or a range of its rows, read-only or not, for a limited time. Sends nothing. It cannot
 * be revoked before it expires, except by its stored policy or a change of the account key. Throws
 * `ValueError` for a scope or terms that a token cannot have.
 *
 * The token has no start time, which would refuse clients while the service's clock is behind.
 */
export function userSasOf<D extends AnyDefinition>(definition: D, options: SasOptions<D>): UserSas {
  const { table, credential, protocol = 'https', ipRange, clock = systemClock } = options;
  const scope = keyScopeOf(definition, options);
  const common = { ...scope, protocol, ...(ipRange === undefined ? {} : { ipRange }) } as const;
  if ('policy' in options) {
    const token = generateTableSas(table, credential, { ...common, identifier: options.policy });
    return { token, scope, expiresAtMicros: undefined };
  }
  const expiresAtMicros = expiryOf(options.lifetimeMs, clock);
  const token = generateTableSas(table, credential, {
    ...common,
    permissions: permissionsOf(options.permissions),
    expiresOn: new Date(expiresAtMicros / 1000),
  });
  return { token, scope, expiresAtMicros };
}

function expiryOf(lifetimeMs: number, clock: Clock): number {
  const seconds = Math.floor((clock.nowMicros() + lifetimeMs * 1000) / 1_000_000);
  if (Number.isFinite(lifetimeMs) && seconds * 1_000_000 > clock.nowMicros()) {
    return seconds * 1_000_000;
  }
  throw new ValueError(`a token of ${lifetimeMs} ms would have expired before it is used`);
}

function permissionsOf(permissions: readonly SasPermission[]) {
  if (permissions.length === 0) throw new ValueError('a token without permissions allows nothing');
  const has = (permission: SasPermission) => permissions.includes(permission);
  return {
    query: has('read'),
    add: has('add'),
    update: has('update'),
    delete: has('delete'),
  };
}
