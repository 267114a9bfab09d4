import { resolve } from 'node:path';
import { ServerOptionsError, type ServerChanges, type ServerOptions } from '../../app/index.js';
import { checkInterceptors } from '../../app/interceptors.js';
import { byServiceOption } from '../../app/options/addresses.js';
import { checkOptions, reloadedNames } from '../../app/options/check.js';
import type { LogLevel } from '../../app/options/log.js';
import { delayShape } from '../../app/options/strictness.js';
import { optionRows, optionTable, serverTable } from '../../app/options/table.js';
import { settingsOf } from '../../app/settings.js';
import { shownStorage } from '../../app/shown-storage.js';
import { shownValue } from '../../base/shape/mistake.js';
import { expectedWords } from '../../base/shape/words.js';
import type { ServiceName } from '../../model/services/services.js';
import type { AccountSettings } from '../../services/accounts/directory.js';
import type { Config } from '../config/config-file.js';
import type { LocationOf } from '../config/structured-file.js';
import { UsageError } from '../terminal/failure.js';
import { chooseAccounts } from './account-settings.js';
import { composedFlags } from './composed-flags.js';
import type { GivenFlags } from './given-flags.js';
import { oauthNotes, oauthSettings, type OAuthInput } from './oauth-options.js';
import { isServerOption, OptionValues, type OptionName } from './option-values.js';
import { azuriteFlagNotes } from './azurite-flags.js';
import { delayMsOf, pagingValue } from './strictness-options.js';

/** The settings of a server process beyond those of `createServer`. */
export interface ProcessSettings {
  readonly workers: number;
  readonly logLevel: LogLevel;
  readonly silent: boolean;
  /** The file of the log. */
  readonly debug: string | undefined;
  /** The seed file. */
  readonly init: string | undefined;
}

/** The settings of a `start` command line. */
export interface StartSettings {
  readonly options: ServerOptions & Required<Pick<ServerOptions, `${ServiceName}Port`>>;
  readonly process: ProcessSettings;
  readonly accounts: readonly AccountSettings[];
  /** True when the accounts were given; otherwise they are the development account. */
  readonly areAccountsNamed: boolean;
  /** A description of the storage. */
  readonly storage: string;
  /** Notes for the user. */
  readonly notes: readonly string[];
}

/** The content of a configuration file, with positions if its text is available. */
export interface ConfigInput {
  readonly config: Config;
  readonly locationOf?: LocationOf | undefined;
}

/** Merges one command line with a configuration file. Throws `UsageError`. */
export type SettingsFor = (input: ConfigInput) => StartSettings;

type ReloadedSettings = {
  readonly [Name in Exclude<keyof ServerChanges, 'tls'>]-?: NonNullable<ServerChanges[Name]>;
} & Pick<ServerChanges, 'tls'>;

/** The settings that a running server can change, each with its default where it is absent. */
export function changesOf({
  accounts,
  options,
}: Pick<StartSettings, 'accounts'> & { readonly options: ServerOptions }): ReloadedSettings {
  const { tls, faults = [], throttle = 'off' } = options;
  return {
    accounts,
    faults,
    throttle,
    blobVersioning: options.blobVersioning ?? false,
    blobImmutability: options.blobImmutability ?? false,
    containerRetentionDays: options.containerRetentionDays ?? 0,
    refusePublicAccess: options.refusePublicAccess ?? false,
    ...(tls === undefined ? {} : { tls }),
  };
}

/** Members of the configuration file that are not in `changesOf`: they need a restart. */
export const restartMembers: readonly string[] = optionRows()
  .filter(([name]) => !reloadedNames.includes(name))
  .flatMap(([, { file }]) => file?.member ?? []);

/** Throws `UsageError`. Precedence: command line, environment, file. */
export function startSettings(flags: GivenFlags, input: ConfigInput): StartSettings {
  const { config } = input;
  const values = new OptionValues(flags, input, composedFlags);
  const texts = flags.of(optionTable.accounts).flatMap(({ value }) => textsOf(value));
  const chosen = chooseAccounts(texts, process.env, config.accounts);
  const { accounts, areNamed, notes } = chosen;
  const processSettings = processOf(values);
  const location = locationOf(values, processSettings);
  const storage = location === undefined ? { inMemory: true } : { location };
  const options = checked(values, { ...storage, ...serverValues(values), accounts });
  refuseWithWorkers(options, processSettings);
  return {
    options,
    process: processSettings,
    accounts,
    areAccountsNamed: areNamed,
    storage: shownStorage(options),
    notes: [...azuriteFlagNotes((name) => flags.isOnLine(name)), ...notes, ...oauthNotes(options)],
  };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function processOf(values: OptionValues): ProcessSettings {
  const init = values.configured('init');
  return {
    workers: values.ofProcess('workers') ?? 1,
    logLevel: values.ofProcess('logLevel') ?? 'info',
    silent: values.ofProcess('silent') ?? false,
    debug: values.ofProcess('debug'),
    init: typeof init === 'string' ? init : undefined,
  };
}

/** Options that are resolved each by a function of its own. */
const separatelyResolved: ReadonlySet<string> = new Set([
  'location',
  'inMemory',
  'init',
  'accounts',
]);

/** Options that need others, so that their defaults must not look like given values. */
const refusedAlone: ReadonlySet<string> = new Set(['postgresSchema', 'onLostCommits', 'balancer']);

/** The values of the other options, as in a program. */
function serverValues(values: OptionValues): Readonly<Record<string, unknown>> {
  const names = Object.keys(serverTable).filter(isServerOption);
  const entries = names
    .filter((name) => !separatelyResolved.has(name))
    .map((name) => {
      const { startDefault, defaultValue } = optionTable[name];
      const absent = refusedAlone.has(name) ? undefined : (startDefault ?? defaultValue);
      return [name, programValue(values, name) ?? absent] as const;
    })
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

function programValue(values: OptionValues, name: OptionName): unknown {
  const value = values.configured(name);
  if (value === undefined) return undefined;
  switch (name) {
    case 'tableDeleteDelayMs':
    case 'containerDeleteDelayMs':
      return delayValue(values, name, value);
    case 'pagingTestMode':
      return pagingValue(value);
    case 'oauth':
      return oauthSettings(value as OAuthInput, isOAuthAskedFor(values));
    case 'copySources':
      return withHosts(value);
    default:
      return value;
  }
}

/** The flag for private networks says which hosts may have such addresses: it names none. */
function withHosts(value: unknown): unknown {
  if (typeof value === 'object' && value !== null && 'hosts' in value) return value;
  throw new UsageError('--copy-source-private needs --copy-source <host>.');
}

function delayValue(values: OptionValues, name: OptionName, value: unknown): number {
  const delayMs = delayMsOf(String(value));
  if (delayMs !== undefined) return delayMs;
  const problem = `must be ${expectedWords(delayShape)}, not ${shownValue(value)}`;
  return values.refuseOne({ path: [name], problem, unknownName: undefined });
}

/** The variable that allows HTTP may be set for other uses. */
function isOAuthAskedFor({ flags }: OptionValues): boolean {
  const given = flags.of(optionTable.oauth);
  return given.some(({ flag }) => flag.part !== 'allowHttp' || flags.from(flag) === 'cli');
}

/** Validates what `createServer` would refuse before it opens anything. Throws `UsageError`. */
function checked(values: OptionValues, options: object): StartSettings['options'] {
  try {
    checkOptions(options);
    checkInterceptors(options, settingsOf(options));
    const ports = byServiceOption('Port', (service) => options[`${service}Port` as const] ?? 0);
    return { ...options, ...ports };
  } catch (error) {
    if (!(error instanceof ServerOptionsError)) throw error;
    values.refuse(error.mistakes);
    throw new UsageError(error.message);
  }
}

/** The data directory; undefined when data are kept in memory. */
function locationOf(values: OptionValues, { workers }: ProcessSettings): string | undefined {
  const { flags } = values;
  const [directory] = optionTable.location.flags ?? [];
  const isLocationOnLine = directory !== undefined && flags.from(directory) === 'cli';
  const memory = flags.of(optionTable.inMemory);
  const onLine = memory.filter(({ flag }) => flags.from(flag) === 'cli');
  // Azurite's flag for the location may be given beside ours, as scripts do.
  if (isLocationOnLine && onLine.some(({ flag }) => flag.isOfAzurite !== true)) {
    throw new UsageError('--in-memory and --location exclude each other: give one of them.');
  }
  const isInMemory = isMemoryChosen(values, isLocationOnLine && onLine.length === 0);
  if (isInMemory && workers > 1) {
    throw new UsageError(
      `--workers ${workers} needs a data directory that the processes share: give --location ` +
        'instead of keeping everything in memory, or one worker.',
    );
  }
  if (isInMemory) return undefined;
  const location = values.configured('location') ?? optionTable.location.startDefault;
  return resolve(typeof location === 'string' ? location : '');
}

/** Location and memory are one setting: giving either of them overrides the file. */
function isMemoryChosen(values: OptionValues, isLocationAlone: boolean): boolean {
  if (isLocationAlone) return false;
  const { flags } = values;
  const memory = flags.of(optionTable.inMemory);
  if (memory.length > 0) return memory.some(({ value }) => value === true);
  return flags.of(optionTable.location).length === 0 && values.configured('inMemory') === true;
}

/** Refuses options that need a single process. */
function refuseWithWorkers(
  { controlPort, journal }: ServerOptions,
  { workers }: ProcessSettings,
): void {
  if (workers === 1) return;
  const alone =
    controlPort !== undefined
      ? '--control-port controls one process'
      : journal === 'on'
        ? '--journal on is for one process'
        : undefined;
  if (alone === undefined) return;
  throw new UsageError(`${alone}, and --workers ${workers} starts several: leave one of them out.`);
}
