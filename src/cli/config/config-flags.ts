import { messageOf, UsageError } from '../failure.js';
import type { StartFlags } from '../start/options.js';
import { parseDelayMs } from '../start/strictness-options.js';
import type { Config, OAuthConfig } from './config-file.js';

/** Where the value of an option comes from, as `commander` says; undefined when from nowhere. */
export type SourceOf = (attribute: string) => string | undefined;

type FlagName = keyof StartFlags;
type FlagValues = { readonly [Name in FlagName]?: StartFlags[Name] | undefined };

/**
 * A setting that the file and the command line share. When one of its options is on the command
 * line or in the environment, the file's part is not looked at, so that halves of a setting never mix.
 */
interface Binding {
  readonly options: readonly FlagName[];
  /** What the file says, as options. */
  readonly flags: (config: Config) => FlagValues;
}

const storage: readonly FlagName[] = ['location', 'inMemory', 'inMemoryPersistence'];

const tls: readonly FlagName[] = ['tls', 'tlsCert', 'tlsKey', 'tlsPfx', 'cert', 'key'];

const oauth: readonly FlagName[] = ['oauth', 'oauthJwks', 'oauthAudience', 'oauthRole'];

const bindings: readonly Binding[] = [
  { options: storage, flags: ({ location, inMemory }) => ({ location, inMemory }) },
  { options: ['host'], flags: ({ host }) => ({ host }) },
  { options: ['allowHost'], flags: ({ allowHosts }) => ({ allowHost: allowHosts }) },
  { options: ['tableHost'], flags: ({ tables }) => ({ tableHost: tables?.host }) },
  { options: ['tablePort'], flags: ({ tables }) => ({ tablePort: tables?.port }) },
  { options: ['queueHost'], flags: ({ queues }) => ({ queueHost: queues?.host }) },
  { options: ['queuePort'], flags: ({ queues }) => ({ queuePort: queues?.port }) },
  { options: ['durability'], flags: ({ durability }) => ({ durability }) },
  { options: ['workers'], flags: ({ workers }) => ({ workers }) },
  { options: ['logLevel'], flags: ({ logLevel }) => ({ logLevel }) },
  { options: ['clockCheck'], flags: ({ checkClockSkew }) => ({ clockCheck: checkClockSkew }) },
  { options: ['lenient'], flags: ({ lenient }) => ({ lenient }) },
  { options: ['strictApiVersions'], flags: ({ strictApiVersions }) => ({ strictApiVersions }) },
  { options: ['simulateTableDeleteDelay'], flags: deleteDelayFlags },
  { options: ['pagingTestMode'], flags: ({ pagingTestMode }) => pagingFlags(pagingTestMode) },
  { options: [...tls, 'tlsPassphraseFile', 'pwd'], flags: ({ tls: given }) => tlsFlags(given) },
  { options: oauth, flags: ({ oauth: given }) => (given === undefined ? {} : oauthFlags(given)) },
  { options: ['init'], flags: ({ init }) => ({ init }) },
  { options: ['fault'], flags: ({ faults }) => ({ fault: faults }) },
  { options: ['throttle'], flags: ({ throttle }) => ({ throttle }) },
  { options: ['controlPort'], flags: ({ controlPort }) => ({ controlPort }) },
];

/** Throws `UsageError`. */
function deleteDelayFlags({ simulateTableDeleteDelay: delay }: Config): FlagValues {
  if (delay === undefined) return {};
  try {
    return { simulateTableDeleteDelay: parseDelayMs(String(delay)) };
  } catch (error) {
    throw new UsageError(`simulateTableDeleteDelay cannot be '${delay}': ${messageOf(error)}`);
  }
}

function tlsFlags(given: Config['tls']): FlagValues {
  if (typeof given !== 'object') return { tls: given };
  const { cert, key, pfx, passphraseFile } = given;
  return { tlsCert: cert, tlsKey: key, tlsPfx: pfx, tlsPassphraseFile: passphraseFile };
}

function oauthFlags({ issuer, audience, jwks, roles, allowHttp }: OAuthConfig): FlagValues {
  return {
    oauth: issuer,
    oauthJwks: jwks,
    oauthAudience: typeof audience === 'string' ? [audience] : audience,
    oauthRole:
      roles && Object.entries(roles).map(([name, rights]) => `${name}=${rights.join(',')}`),
    oauthAllowHttp: allowHttp,
  };
}

function pagingFlags(mode: Config['pagingTestMode']): FlagValues {
  return { pagingTestMode: typeof mode === 'object' ? String(mode.seed) : mode };
}

/**
 * The options of a command line as a configuration file completes them: what is given on the
 * command line or in the environment goes before the file, and the file before defaults.
 */
export function flagsWithConfig(flags: StartFlags, sourceOf: SourceOf, config: Config): StartFlags {
  const isGiven = (name: FlagName): boolean => ['cli', 'env'].includes(sourceOf(name) ?? '');
  const entries = bindings
    .filter(({ options }) => !options.some(isGiven))
    .flatMap((binding) => Object.entries(binding.flags(config)))
    .filter(([, value]) => value !== undefined);
  return { ...flags, ...(Object.fromEntries(entries) as Partial<StartFlags>) };
}
