import { generateTableSas, type NamedKeyCredential, type SasIPRange } from '@azure/data-tables';
import { systemClock, type Clock } from '../../../base/clock.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { ValueError } from '../../rows/model-error.js';
import { keyScopeOf, type KeyScope, type ScopeOf } from './key-scope.js';

/** What a token allows. `read` is queries and point reads, `update` merges and replaces. */
export type SasPermission = 'read' | 'add' | 'update' | 'delete';

/** What the token itself says. */
export interface OwnTerms {
  readonly permissions: readonly SasPermission[];
  /** From now, cut to whole seconds. */
  readonly lifetimeMs: number;
}

/** What a stored access policy of the table says, which can be changed and revoked later. */
export interface PolicyTerms {
  readonly policy: string;
}

/** What a token allows and for how long: its own terms or those of a stored policy. */
export type SasTerms = OwnTerms | PolicyTerms;

/** Where tokens are made: beside the account key. */
export interface SasSettings {
  /** The table's name. */
  readonly table: string;
  readonly credential: NamedKeyCredential;
  /** `https` alone, unless said otherwise. */
  readonly protocol?: 'https' | 'https,http';
  /** Addresses that may use the token. */
  readonly ipRange?: SasIPRange;
  /** The machine's clock when absent. */
  readonly clock?: Clock;
}

/** Whose rows, which terms, and what tokens are made with. */
export type SasOptions<D extends AnyDefinition> = SasSettings & ScopeOf<D> & SasTerms;

/** A token and what it reaches. */
export interface UserSas {
  /** A query string without `?`, for `AzureSASCredential`. Whoever has it has what it allows. */
  readonly token: string;
  readonly scope: KeyScope;
  /**
   * Undefined when a stored policy decides. Microseconds since 1970, by the clock it was made by.
   */
  readonly expiresAtMicros: number | undefined;
}

/**
 * A token for the entities of a definition that begin with given keys: a user's own partition, or a
 * range of rows of it, read-only or not, for a limited time. Sends nothing. It cannot be taken back
 * before it expires, unless it is made by a stored policy or the account key is changed. Throws
 * `ValueError` for a scope or terms that a token cannot have.
 *
 * The token begins at once: a start time would refuse clients of a service whose clock is behind.
 */
export function sasFor<D extends AnyDefinition>(definition: D, options: SasOptions<D>): UserSas {
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
