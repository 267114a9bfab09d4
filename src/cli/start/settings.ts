import { resolve } from 'node:path';
import type { ServerOptions } from '../../app/index.js';
import type { AccountSettings } from '../../services/accounts/directory.js';
import { chooseAccounts } from './account-settings.js';
import { UsageError } from '../failure.js';
import { peerFlagNotes } from './peer-flags.js';
import type { StartFlags } from './options.js';

/** What a command line of `start` asks for. */
export interface StartSettings {
  readonly options: ServerOptions & Required<Pick<ServerOptions, 'tablePort' | 'queuePort'>>;
  readonly flags: StartFlags;
  readonly accounts: readonly AccountSettings[];
  /** Where the data are, in words. */
  readonly storage: string;
  /** What its user should know. */
  readonly notes: readonly string[];
}

/** Throws `UsageError`. `isGiven` tells whether an option was on the command line. */
export function startSettings(
  flags: StartFlags,
  isGiven: (attribute: string) => boolean,
): StartSettings {
  const peerNotes = peerFlagNotes(isGiven);
  const { accounts, notes } = chooseAccounts(flags.account ?? [], process.env);
  const location = locationOf(flags, isGiven);
  const { tableHost, queueHost } = flags;
  return {
    options: {
      ...(location === undefined ? { inMemory: true } : { location }),
      host: flags.host,
      ...(typeof tableHost === 'string' ? { tableHost } : {}),
      ...(typeof queueHost === 'string' ? { queueHost } : {}),
      tablePort: flags.tablePort,
      queuePort: flags.queuePort,
      accounts,
      durability: flags.durability,
      checkClockSkew: flags.clockCheck,
      tableLimits: keepAlive(flags.tableKeepAliveTimeout),
      queueLimits: keepAlive(flags.queueKeepAliveTimeout),
    },
    flags,
    accounts,
    storage: location ?? 'in memory, gone at the end',
    notes: [...peerNotes, ...notes],
  };
}

/** The data directory; undefined when data are kept in memory. */
function locationOf(
  flags: StartFlags,
  isGiven: (attribute: string) => boolean,
): string | undefined {
  const isInMemory =
    flags.inMemory === true || flags.inMemoryPersistence === true || inMemoryByEnvironment();
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
