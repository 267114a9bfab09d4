import { resolve } from 'node:path';
import type { ServerChanges, ServerOptions } from '../../app/index.js';
import type { AccountSettings } from '../../services/accounts/directory.js';
import type { Config } from '../config/config-file.js';
import { flagsWithConfig, type SourceOf } from '../config/config-flags.js';
import { chooseAccounts } from './account-settings.js';
import { UsageError } from '../failure.js';
import { peerFlagNotes } from './peer-flags.js';
import { oauthNotes, oauthSettings } from './oauth-options.js';
import type { StartFlags } from './options.js';
import { controlSettings } from './control-options.js';
import { interferenceSettings } from './interference-options.js';
import { strictnessSettings } from './strictness-options.js';
import { tlsSettings } from './tls-options.js';

/** What a command line of `start` asks for. */
export interface StartSettings {
  readonly options: ServerOptions & Required<Pick<ServerOptions, 'tablePort' | 'queuePort'>>;
  readonly flags: StartFlags;
  readonly accounts: readonly AccountSettings[];
  /** Somebody has named them; otherwise they are the development account. */
  readonly areAccountsNamed: boolean;
  /** Where the data are, in words. */
  readonly storage: string;
  /** What its user should know. */
  readonly notes: readonly string[];
}

/** The settings of one command line with a configuration file. Throws `UsageError`. */
export type SettingsFor = (config: Config) => StartSettings;

/** The part of settings that a running server can take over. */
export function changesOf({ accounts, options }: StartSettings): ServerChanges {
  const { tls, faults = [], throttle = 'off' } = options;
  return { accounts, faults, throttle, ...(tls === undefined ? {} : { tls }) };
}

/** Members of the configuration file that are in `changesOf`; others need a restart. */
export const changeableMembers: ReadonlySet<string> = new Set([
  'accounts',
  'tls',
  'faults',
  'throttle',
]);

/** Throws `UsageError`. The command line goes before the environment, this before the file. */
export function startSettings(
  commandLine: StartFlags,
  sourceOf: SourceOf,
  config: Config = {},
): StartSettings {
  const isGiven = (attribute: string): boolean => sourceOf(attribute) === 'cli';
  const peerNotes = peerFlagNotes(isGiven);
  const flags = flagsWithConfig(commandLine, storageSource(sourceOf), config);
  const chosen = chooseAccounts(flags.account ?? [], process.env, config.accounts);
  const { accounts, areNamed, notes } = chosen;
  const location = locationOf(flags, isGiven);
  const { tableHost, queueHost } = flags;
  const trust = { ...oauthSettings(flags), ...tlsSettings(flags, isGiven) };
  return {
    options: {
      ...(location === undefined ? { inMemory: true } : { location }),
      host: flags.host,
      ...(typeof tableHost === 'string' ? { tableHost } : {}),
      ...(typeof queueHost === 'string' ? { queueHost } : {}),
      ...(flags.allowHost === undefined ? {} : { allowHosts: flags.allowHost }),
      tablePort: flags.tablePort,
      queuePort: flags.queuePort,
      accounts,
      durability: flags.durability,
      checkClockSkew: flags.clockCheck,
      ...trust,
      ...strictnessSettings(flags),
      ...interferenceSettings(flags),
      ...controlSettings(flags),
      ...(config.limits === undefined ? {} : { limits: config.limits }),
      tableLimits: { ...config.tables?.limits, ...keepAlive(flags.tableKeepAliveTimeout) },
      queueLimits: { ...config.queues?.limits, ...keepAlive(flags.queueKeepAliveTimeout) },
    },
    flags,
    accounts,
    areAccountsNamed: areNamed,
    storage: location ?? 'in memory, gone at the end',
    notes: [...peerNotes, ...notes, ...oauthNotes(trust)],
  };
}

/** The data directory; undefined when data are kept in memory. */
function locationOf(
  flags: StartFlags,
  isGiven: (attribute: string) => boolean,
): string | undefined {
  const isInMemory =
    flags.inMemory === true ||
    flags.inMemoryPersistence === true ||
    (inMemoryByEnvironment() && !isGiven('location'));
  if (flags.inMemory === true && isGiven('location')) {
    throw new UsageError('--in-memory and --location exclude each other: give one of them.');
  }
  if (isInMemory && flags.workers > 1) {
    throw new UsageError(
      `--workers ${flags.workers} needs a data directory that the processes share: give ` +
        '--location instead of keeping everything in memory, or one worker.',
    );
  }
  return isInMemory ? undefined : resolve(flags.location);
}

/** The variable that chooses memory is read here, and so nobody else knows of it. */
function storageSource(sourceOf: SourceOf): SourceOf {
  const isSaid = (process.env['TABULARIUM_IN_MEMORY'] ?? '') !== '';
  return (name) => sourceOf(name) ?? (name === 'inMemory' && isSaid ? 'env' : undefined);
}

/** Only a plain yes may mean that data are not kept. */
function inMemoryByEnvironment(): boolean {
  const text = (process.env['TABULARIUM_IN_MEMORY'] ?? '').toLowerCase();
  if (text === 'true' || text === '1') return true;
  if (text === '' || text === 'false' || text === '0') return false;
  throw new UsageError(`TABULARIUM_IN_MEMORY is '${text}'; it may be true or false.`);
}

function keepAlive(seconds: number | undefined): { readonly keepAliveTimeoutMs?: number } {
  return seconds === undefined ? {} : { keepAliveTimeoutMs: seconds * 1000 };
}
