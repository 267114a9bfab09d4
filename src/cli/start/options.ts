import { Option, type Command } from 'commander';
import { defaultPorts } from '../connection.js';
import { locationOption } from '../location-option.js';
import { names, repeated, wholeNumber } from '../option-parsers.js';
import { initOptions, type InitFlags } from './init-options.js';
import { oauthOptions, type OAuthFlags } from './oauth-options.js';
import { addPeerFlags } from './peer-flags.js';
import { controlOptions, type ControlFlags } from './control-options.js';
import { interferenceOptions, type InterferenceFlags } from './interference-options.js';
import { strictnessOptions, type StrictnessFlags } from './strictness-options.js';
import { azuriteTlsOptions, tlsOptions, type TlsFlags } from './tls-options.js';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface StartFlags
  extends OAuthFlags, InitFlags, StrictnessFlags, TlsFlags, InterferenceFlags, ControlFlags {
  readonly config?: string;
  readonly location: string;
  readonly inMemory?: boolean;
  readonly inMemoryPersistence?: boolean;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly tableHost?: string | true;
  readonly queueHost?: string | true;
  readonly tablePort: number;
  readonly queuePort: number;
  readonly account?: readonly string[];
  readonly workers: number;
  readonly durability: 'durable' | 'relaxed';
  readonly logLevel: LogLevel;
  readonly silent?: boolean;
  readonly debug?: string;
  readonly tableKeepAliveTimeout?: number;
  readonly queueKeepAliveTimeout?: number;
  readonly clockCheck: boolean;
}

const portMax = 65_535;
const workersMax = 64;
const keepAliveSecondsMax = 3600;
const likeAzurite = 'Spellings of Azurite that work here:';
const port = wholeNumber(0, portMax);

/** Adds all options of `start`. */
export function addStartOptions(command: Command): void {
  for (const option of [
    configOption(),
    ...grouped('Data:', [...dataOptions(), ...initOptions()]),
    ...grouped('Addresses:', addressOptions()),
    ...grouped('Accounts:', [accountOption()]),
    ...tlsOptions(),
    ...oauthOptions(),
    ...grouped('Log:', logOptions()),
    ...strictnessOptions(),
    ...interferenceOptions(),
    ...controlOptions(),
    ...grouped(likeAzurite, [...azuriteTlsOptions(), ...azuriteSpellings()]),
  ])
    command.addOption(option);
  addPeerFlags(command);
}

/** Options of one subject, which the help shows together. */
function grouped(heading: string, options: readonly Option[]): Option[] {
  return options.map((option) => option.helpGroup(heading));
}

function configOption(): Option {
  return new Option(
    '--config <file>',
    'take settings from this file, YAML or JSON; options and variables go before it',
  ).env('TABULARIUM_CONFIG');
}

function dataOptions(): Option[] {
  return [
    locationOption('the data directory; made when it does not exist'),
    new Option(
      '--in-memory',
      'keep everything in memory; it is gone when the server stops (env: TABULARIUM_IN_MEMORY=true)',
    ),
    new Option(
      '--durability <mode>',
      'durable: a write is on disk when it is acknowledged; relaxed: soon after',
    )
      .env('TABULARIUM_DURABILITY')
      .choices(['durable', 'relaxed'])
      .default('durable'),
    new Option('--workers <count>', 'how many processes serve the data directory')
      .env('TABULARIUM_WORKERS')
      .argParser(wholeNumber(1, workersMax))
      .default(1),
  ];
}

function addressOptions(): Option[] {
  return [
    new Option('--host <address>', 'the address to listen on; 0.0.0.0 for every network')
      .env('TABULARIUM_HOST')
      .default('127.0.0.1'),
    new Option(
      '--allow-host <name>',
      'answer requests for the development account under this host name as well; .example.com for ' +
        'all names under it, * for all; may be repeated',
    )
      .env('TABULARIUM_ALLOW_HOST')
      .argParser(names),
    new Option('--table-port <port>', 'the port of the table service; 0 picks a free one')
      .env('TABULARIUM_TABLE_PORT')
      .argParser(port)
      .default(defaultPorts.table),
    new Option('--queue-port <port>', 'the port of the queue service; 0 picks a free one')
      .env('TABULARIUM_QUEUE_PORT')
      .argParser(port)
      .default(defaultPorts.queue),
  ];
}

function accountOption(): Option {
  return new Option(
    '--account <name:key>',
    'an account to serve; may be repeated, and may have two keys (name:key1:key2). Others on the ' +
      'machine can see it: prefer a variable or --config. Default: TABULARIUM_ACCOUNTS ' +
      'or AZURITE_ACCOUNTS (several separated by ;), or else the development account ' +
      'devstoreaccount1',
  ).argParser(repeated);
}

function logOptions(): Option[] {
  return [
    new Option('--log-level <level>', 'debug adds one line for every request')
      .env('TABULARIUM_LOG_LEVEL')
      .choices(logLevels)
      .default('info'),
    new Option('-s, --silent', 'log no requests, whatever the level'),
    new Option('-d, --debug <file>', 'append the log to this file, at level debug'),
  ];
}

function azuriteSpellings(): Option[] {
  const services = ['table', 'queue'].flatMap((service) => [
    new Option(`--${service}Port <port>`, `as --${service}-port`).argParser(port),
    new Option(`--${service}Host [address]`, `as --host, for the ${service} service alone`),
    new Option(
      `--${service}KeepAliveTimeout <seconds>`,
      `how long an idle connection of the ${service} service is kept (default: 60)`,
    ).argParser(wholeNumber(1, keepAliveSecondsMax)),
  ]);
  return [...services, new Option('--inMemoryPersistence', 'as --in-memory')];
}
