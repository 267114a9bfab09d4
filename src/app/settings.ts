import { systemClock, type Clock } from '../base/clock.js';
import { forwardClock, type ForwardClock } from '../base/forward-clock.js';
import { systemRandomness, type Randomness } from '../base/randomness.js';
import { systemTimers, type Timers } from '../base/async/timers.js';
import { defaultLimits, type HttpLimits } from '../http/pipeline/limits.js';
import { silentLogger, type Logger } from '../http/exchange/logger.js';
import type { RequestObserver } from '../http/exchange/record.js';
import { byService, serviceNames, type ServiceName } from '../model/services/services.js';
import { developmentAccount, type AccountSettings } from '../services/accounts/directory.js';
import type { SeedData } from './seed/seed-data.js';
import { allowedHostsOf } from './allowed-hosts.js';
import { BlobProtection } from './blob-protection.js';
import type { SourceRules } from '../http/sources/source-hosts.js';
import { sourceRulesOf } from './options/copy-sources.js';
import { oauthSettingsOf, type OAuthSettings } from './options/oauth-settings.js';
import type { AccountOptions } from './options/accounts.js';
import { blockBytesOf } from './options/blobs.js';
import { addressesOf } from '../engines/postgres/hosts.js';
import { checkOptions } from './options/check.js';
import type { MemberOptions } from './options/stores.js';
import type { ServerOptions } from './options/table.js';
import { ServerOptionsError, wrongOption } from './options/server-options-error.js';
import { tlsChoiceOf, type TlsChoice } from './options/tls-settings.js';
import { strictnessOf, type Strictness } from './strictness.js';

export type StorageChoice =
  | { readonly kind: 'memory' }
  | { readonly kind: 'directory'; readonly directory: string }
  | PostgresChoice;

/** A database, and a directory for the bytes of large blobs. */
export interface PostgresChoice {
  readonly kind: 'postgres';
  readonly url: string;
  readonly schema: string;
  readonly onLostCommits: 'refuse' | 'accept';
  /** Undefined: the form that the database is set to. */
  readonly commitForm: 'function' | 'transaction' | undefined;
  /** Standbys that the secondary endpoints read. */
  readonly replicas: string | undefined;
  readonly directory: string;
}

export type MemberChoices = Readonly<Record<string, StorageChoice>>;

/** Where one service listens, and within which bounds. */
export interface ListenerSettings {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly limits: HttpLimits;
}

/** Options with every default filled in. */
export interface ServerSettings {
  readonly storage: StorageChoice;
  /** Stores beside the home store, by name; undefined: all data are in one store. */
  readonly stores: MemberChoices | undefined;
  readonly balancer: 'off' | 'advise' | 'on';
  readonly listeners: Readonly<Record<ServiceName, ListenerSettings>>;
  /** Beside the hosts that are always allowed. */
  readonly allowedHosts: readonly string[];
  /** Undefined: plain http. */
  readonly tls: TlsChoice | undefined;
  readonly accounts: readonly AccountSettings[];
  readonly durability: 'durable' | 'relaxed';
  /** Applies to a process that shares its data with no worker. */
  readonly journal: 'on' | 'off';
  readonly blobProtection: BlobProtection;
  /** Bytes of one block that clients may send. */
  readonly blockBytesMax: number;
  readonly init: SeedData;
  readonly observers: readonly RequestObserver[];
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
  readonly checkClockSkew: boolean;
  readonly oauth: OAuthSettings | undefined;
  /** Undefined: blobs are copied inside of the server alone. */
  readonly copySources: SourceRules | undefined;
  readonly strictness: Strictness;
  /** Undefined: no control API. */
  readonly controlPort: number | undefined;
  readonly clock: Clock;
  /**
   * The clock of stored times. Never steps back; may be ahead of `clock` after that was set back.
   */
  readonly storageClock: ForwardClock;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

/**
 * Validates options and applies defaults. Throws `ServerOptionsError`, and `SeedError` for an
 * `init` of another shape.
 */
export function settingsOf(options: ServerOptions): ServerSettings {
  checkOptions(options);
  const strictness = strictnessOf(options);
  const clock = options.clock ?? systemClock;
  const listeners = listenersOf(options);
  return {
    storage: storageOf(options),
    stores: storesOf(options),
    balancer: balancerOf(options),
    listeners,
    allowedHosts: allowedHostsOf(
      options.allowHosts ?? [],
      serviceNames.map((service) => listeners[service].host),
    ),
    tls: options.tls && tlsChoiceOf(options.tls),
    accounts: accountsOf(options.accounts ?? [developmentAccount]),
    durability: options.durability ?? 'durable',
    journal: journalOf(options),
    blobProtection: new BlobProtection(options),
    blockBytesMax: blockBytesOf(options),
    init: options.init ?? {},
    observers: options.observers ?? [],
    logger: options.logger ?? silentLogger,
    onFatal: options.onFatal ?? (() => undefined),
    checkClockSkew: (options.checkClockSkew ?? true) && !strictness.rules.ignoresClock,
    strictness,
    controlPort: options.controlPort,
    oauth: options.oauth && oauthSettingsOf(options.oauth),
    copySources: options.copySources && sourceRulesOf(options.copySources),
    clock,
    storageClock: forwardClock(clock),
    timers: options.timers ?? systemTimers,
    randomness: options.randomness ?? systemRandomness,
  };
}

function storageOf(options: ServerOptions): StorageChoice {
  const { location, inMemory } = options;
  refuseWithoutDatabase(options);
  if (inMemory === true && (options.engine === 'postgres' || options.postgresUrl !== undefined)) {
    throw wrongOption(['inMemory'], "excludes engine 'postgres': give one of them");
  }
  if (inMemory === true && location !== undefined) {
    throw wrongOption(['location'], 'excludes inMemory: true: give one of them');
  }
  if (inMemory === true) return { kind: 'memory' };
  if (location === undefined || location === '') {
    throw new ServerOptionsError(
      'say where to keep data: location (a data directory) or inMemory: true',
    );
  }
  if (location.includes('\0')) throw wrongOption(['location'], 'must be the path of a directory');
  return postgresOf(options, location) ?? { kind: 'directory', directory: location };
}

/** The name of the store that `location` or `postgresUrl` says. */
export const homeName = 'home';

function storesOf({
  stores,
  location,
  inMemory,
  postgresReplicas,
}: ServerOptions): MemberChoices | undefined {
  if (stores === undefined) return undefined;
  if (postgresReplicas !== undefined) {
    const problem = 'shows one database, and stores has the data in several: leave one of them out';
    throw wrongOption(['postgresReplicas'], problem);
  }
  const members = Object.entries(stores).map(([name, member]) => {
    const path = ['stores', name];
    if (name === homeName) throw wrongOption(path, 'is the name of the home store: take another');
    return [name, memberOf(member, path, { inMemory: inMemory === true, location })] as const;
  });
  return Object.freeze(Object.fromEntries(members));
}

/** Throws `ServerOptionsError` for one that has nothing to balance. */
function balancerOf({ balancer, stores }: ServerOptions): 'off' | 'advise' | 'on' {
  if (stores === undefined && balancer !== undefined && balancer !== 'off') {
    const problem =
      'is for data in several stores: give stores ({} when there is none yet), or off';
    throw wrongOption(['balancer'], problem);
  }
  return balancer ?? 'advise';
}

/** What nobody means as a directory. It may have a password. */
const urlForm = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Throws `ServerOptionsError`. */
export function memberOf(
  member: MemberOptions,
  path: readonly string[],
  home: { readonly inMemory: boolean; readonly location: string | undefined },
): StorageChoice {
  const given = [member.location, member.postgresUrl, member.inMemory === true || undefined];
  if (given.filter((each) => each !== undefined).length !== 1) {
    throw wrongOption(path, 'needs one of location, postgresUrl and inMemory: true');
  }
  const isLost = member.inMemory === true;
  if (isLost !== home.inMemory) {
    throw wrongOption(path, 'must be in memory when the home store is, and only then');
  }
  if (member.postgresSchema !== undefined && member.postgresUrl === undefined) {
    throw wrongOption([...path, 'postgresSchema'], 'is for a postgresUrl: leave it out');
  }
  if (member.location !== undefined && urlForm.test(member.location)) {
    const advice = 'is a URL: give a data directory, or a PostgreSQL database as postgresUrl';
    throw wrongOption([...path, 'location'], advice);
  }
  if (member.location !== undefined && member.location === home.location) {
    throw wrongOption([...path, 'location'], 'is that of the home store: give another directory');
  }
  const { location = home.location ?? '' } = member;
  return storageOf(isLost ? { inMemory: true } : { ...member, location });
}

const databaseOptions = [
  'postgresSchema',
  'postgresReplicas',
  'postgresCommits',
  'onLostCommits',
] as const;

/** Throws `ServerOptionsError` for an option of a database where there is none. */
function refuseWithoutDatabase(options: ServerOptions): void {
  if (options.engine === 'postgres' || options.postgresUrl !== undefined) return;
  const name = databaseOptions.find((each) => options[each] !== undefined);
  if (name === undefined) return;
  throw wrongOption([name], "is for engine 'postgres': leave it out, or give postgresUrl");
}

/** PostgreSQL would cut a longer name off. */
const schemaBytesMax = 63;

/** Undefined: the engine is another one. Throws `ServerOptionsError`. */
function postgresOf(options: ServerOptions, directory: string): PostgresChoice | undefined {
  const { engine, postgresUrl: url, postgresSchema, onLostCommits } = options;
  const { postgresCommits, postgresReplicas } = options;
  if (url === undefined) {
    if (engine !== 'postgres') return undefined;
    throw wrongOption(['postgresUrl'], "is needed with engine 'postgres': give the database");
  }
  if (engine === 'lmdb') {
    throw wrongOption(['postgresUrl'], "is for engine 'postgres': leave one of them out");
  }
  if (addressesOf(url) === undefined) {
    throw wrongOption(['postgresUrl'], 'must be like postgres://user:password@host:5432/name');
  }
  const schema = postgresSchema ?? 'tabularium';
  if (Buffer.byteLength(schema) > schemaBytesMax) {
    throw wrongOption(['postgresSchema'], `may have ${schemaBytesMax} bytes at most`);
  }
  if (postgresReplicas !== undefined && addressesOf(postgresReplicas) === undefined) {
    throw wrongOption(['postgresReplicas'], 'must be like postgres://user:password@host:5432/name');
  }
  return {
    kind: 'postgres',
    url,
    schema,
    onLostCommits: onLostCommits ?? 'refuse',
    commitForm: postgresCommits,
    replicas: postgresReplicas,
    directory,
  };
}

/** Whether one process that owns its data keeps a journal. Throws `ServerOptionsError`. */
export function journalOf(options: ServerOptions): 'on' | 'off' {
  const { journal, durability, inMemory, engine, postgresUrl } = options;
  if (inMemory === true) {
    if (journal !== 'on') return 'off';
    const problem = 'is for a data directory, and inMemory keeps none: leave one of them out';
    throw wrongOption(['journal'], problem);
  }
  if (engine === 'postgres' || postgresUrl !== undefined) {
    if (journal !== 'on') return 'off';
    throw wrongOption(['journal'], "is for engine 'lmdb': leave one of them out");
  }
  if (durability !== 'relaxed') return journal ?? 'on';
  if (journal !== 'on') return 'off';
  const problem = "is for durable writes, and durability is 'relaxed': leave one of them out";
  throw wrongOption(['journal'], problem);
}

function listenersOf(options: ServerOptions): Record<ServiceName, ListenerSettings> {
  const { host = '127.0.0.1', limits = {} } = options;
  const listeners = byService((service) => ({
    host: options[`${service}Host` as const] ?? host,
    port: options[`${service}Port` as const] ?? 0,
    limits: { ...defaultLimits, ...limits, ...options[`${service}Limits` as const] },
  }));
  for (const [at, service] of serviceNames.entries()) {
    const { port, host } = listeners[service];
    const other = serviceNames
      .slice(0, at)
      .find((each) => listeners[each].port === port && listeners[each].host === host);
    if (port === 0 || other === undefined) continue;
    const problem = `must not be ${port}, the port of the ${other} service: each needs its own`;
    throw wrongOption([`${service}Port`], problem);
  }
  return listeners;
}

/** Throws `ServerOptionsError` for an account without a key, or with keys given in two ways. */
export function accountsOf(accounts: readonly AccountOptions[]): AccountSettings[] {
  return accounts.map((account, at) => {
    const keys = 'keys' in account ? account.keys : undefined;
    const key = 'key' in account ? account.key : undefined;
    if ((keys === undefined) === (key === undefined)) {
      throw wrongOption(['accounts', at], 'must have either key or keys');
    }
    return { name: account.name, keys: keys ?? (key === undefined ? [] : [key]) };
  });
}
