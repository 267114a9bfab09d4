import { systemClock, type Clock } from '../base/clock.js';
import { forwardClock, type ForwardClock } from '../base/forward-clock.js';
import { systemRandomness, type Randomness } from '../base/randomness.js';
import { systemTimers, type Timers } from '../base/async/timers.js';
import { defaultLimits, type HttpLimits } from '../http/pipeline/limits.js';
import { silentLogger, type Logger } from '../http/exchange/logger.js';
import type { RequestObserver } from '../http/exchange/record.js';
import { developmentAccount, type AccountSettings } from '../services/accounts/directory.js';
import type { SeedData } from './seed/seed-data.js';
import { allowedHostsOf } from './allowed-hosts.js';
import { controlPortOf, type ControlOptions } from './control-options.js';
import type { InterferenceOptions } from './interference-options.js';
import { oauthSettingsOf, type OAuthOptions, type OAuthSettings } from './oauth/options.js';
import { ServerOptionsError } from './server-options-error.js';
import { tlsChoiceOf, type TlsChoice, type TlsOptions } from './tls/options.js';
import { strictnessOf, type Strictness, type StrictnessOptions } from './strictness.js';

/** An account to serve. Keys are base64, as in connection strings; any of them signs requests. */
export type AccountOptions =
  | { readonly name: string; readonly key: string }
  | { readonly name: string; readonly keys: readonly string[] };

/** How to run a server. Exactly one of `location` and `inMemory` says where data are kept. */
export interface ServerOptions extends StrictnessOptions, InterferenceOptions, ControlOptions {
  /** The data directory; made when it does not exist. */
  readonly location?: string;
  /** Keep everything in memory; it is gone when the server closes. */
  readonly inMemory?: boolean;
  /** The address to listen on. Default `127.0.0.1`. */
  readonly host?: string;
  /** The port of the table service. 0, the default, takes a free one. */
  readonly tablePort?: number;
  /** The port of the queue service. 0, the default, takes a free one. */
  readonly queuePort?: number;
  /** Where the table service listens instead of `host`. */
  readonly tableHost?: string;
  /** Where the queue service listens instead of `host`. */
  readonly queueHost?: string;
  /**
   * Host names to which an account with a public key answers, such as the development account. It
   * always answers to addresses, names of one label (`localhost`, a container), names under
   * `.localhost`, `.local`, `.internal`, `.home.arpa`, `.test`, `.example`, `.invalid` and
   * `.core.windows.net`, and the name of the machine: what pages of the web cannot have. `.example.com` stands for all names under it, `*` for all. Default: none more.
   */
  readonly allowHosts?: readonly string[];
  /** Speak https instead of http, on every port. Default: http. */
  readonly tls?: TlsOptions;
  /** Default: the development account that clients know by `UseDevelopmentStorage=true`. */
  readonly accounts?: readonly AccountOptions[];
  /**
   * `durable`, the default: a write is acknowledged when the disk has it. `relaxed`: when the
   * system has it; the last moments before a power failure can be lost.
   */
  readonly durability?: 'durable' | 'relaxed';
  /** Each is called once a request, after its response. */
  readonly observers?: readonly RequestObserver[];
  /** Receives what goes wrong inside. Default: nobody does. */
  readonly logger?: Logger;
  /**
   * Called once when the server cannot go on, for instance because a disk failed in the middle of a
   * commit. Every request is refused from then on. End the process at once and by force
   * (`process.kill(process.pid, 'SIGKILL')`), and start it again: `close()` resolves, but the process
   * may not be able to end by itself. Default: only the logger is told.
   */
  readonly onFatal?: (error: Error) => void;
  /** Bounds that differ from the defaults, for every service. */
  readonly limits?: Partial<HttpLimits>;
  /** Bounds of the table service that differ from `limits`. */
  readonly tableLimits?: Partial<HttpLimits>;
  /** Bounds of the queue service that differ from `limits`. */
  readonly queueLimits?: Partial<HttpLimits>;
  /** What is made before the server listens, as far as it is absent. */
  readonly init?: SeedData;
  /**
   * Refuse requests whose date is more than 15 minutes off, as the cloud service does. Default
   * true. Turn it off together with a `clock` that does not tell the real time.
   */
  readonly checkClockSkew?: boolean;
  /** Whose bearer tokens are accepted. Default: nobody's. */
  readonly oauth?: OAuthOptions;
  /** Where time, delays and chance come from; for tests that decide them. */
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/** What can change while a server runs; what is absent stays as it is. */
export type ServerChanges = Pick<ServerOptions, 'accounts' | 'tls' | 'faults' | 'throttle'>;

export type StorageChoice =
  { readonly kind: 'memory' } | { readonly kind: 'directory'; readonly directory: string };

/** The storage services that a server listens for, each on a port of its own. */
export const serviceNames = ['table', 'queue'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** Where one service listens, and within which bounds. */
export interface ListenerSettings {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly limits: HttpLimits;
}

/** Options with every default filled in. */
export interface ServerSettings {
  readonly storage: StorageChoice;
  readonly listeners: Readonly<Record<ServiceName, ListenerSettings>>;
  /** Besides those that no stranger can have. */
  readonly allowedHosts: readonly string[];
  /** Undefined: plain http. */
  readonly tls: TlsChoice | undefined;
  readonly accounts: readonly AccountSettings[];
  readonly durability: 'durable' | 'relaxed';
  readonly init: SeedData;
  readonly observers: readonly RequestObserver[];
  readonly logger: Logger;
  readonly onFatal: (error: Error) => void;
  readonly checkClockSkew: boolean;
  readonly oauth: OAuthSettings | undefined;
  readonly strictness: Strictness;
  /** Undefined: no control API. */
  readonly controlPort: number | undefined;
  readonly clock: Clock;
  /** The time of what is stored. Never steps back; may be ahead of `clock` after that did. */
  readonly storageClock: ForwardClock;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

/** Checks options and fills in what is not said. Throws `ServerOptionsError`. */
export function settingsOf(options: ServerOptions): ServerSettings {
  const strictness = strictnessOf(options);
  const clock = options.clock ?? systemClock;
  const listeners = listenersOf(options);
  return {
    storage: storageOf(options),
    listeners,
    allowedHosts: allowedHostsOf(
      options.allowHosts ?? [],
      serviceNames.map((service) => listeners[service].host),
    ),
    tls: options.tls && tlsChoiceOf(options.tls),
    accounts: accountsOf(options.accounts ?? [developmentAccount]),
    durability: durabilityOf(options.durability ?? 'durable'),
    init: options.init ?? {},
    observers: options.observers ?? [],
    logger: options.logger ?? silentLogger,
    onFatal: options.onFatal ?? (() => undefined),
    checkClockSkew: (options.checkClockSkew ?? true) && !strictness.leniency.ignoresClock,
    strictness,
    controlPort: controlPortOf(options),
    oauth: options.oauth && oauthSettingsOf(options.oauth),
    clock,
    storageClock: forwardClock(clock),
    timers: options.timers ?? systemTimers,
    randomness: options.randomness ?? systemRandomness,
  };
}

function storageOf({ location, inMemory }: ServerOptions): StorageChoice {
  if (inMemory === true && location !== undefined) {
    throw new ServerOptionsError('give either location or inMemory: true, not both');
  }
  if (inMemory === true) return { kind: 'memory' };
  if (location === undefined || location === '') {
    throw new ServerOptionsError(
      'say where to keep data: location (a data directory) or inMemory: true',
    );
  }
  if (typeof location !== 'string' || location.includes('\0')) {
    throw new ServerOptionsError('location must be the path of a directory');
  }
  return { kind: 'directory', directory: location };
}

function listenersOf(options: ServerOptions): Record<ServiceName, ListenerSettings> {
  const { host = '127.0.0.1', tablePort = 0, queuePort = 0, limits = {} } = options;
  const listeners = {
    table: {
      host: hostOf('tableHost', options.tableHost ?? host),
      port: portOf('tablePort', tablePort),
      limits: limitsOf({ ...limits, ...options.tableLimits }),
    },
    queue: {
      host: hostOf('queueHost', options.queueHost ?? host),
      port: portOf('queuePort', queuePort),
      limits: limitsOf({ ...limits, ...options.queueLimits }),
    },
  };
  if (tablePort !== 0 && tablePort === queuePort && listeners.table.host === listeners.queue.host) {
    throw new ServerOptionsError(
      `tablePort and queuePort are both ${tablePort}: each service needs a port of its own`,
    );
  }
  return listeners;
}

/** To Node.js, none would mean every network. */
function hostOf(option: string, host: string): string {
  if (typeof host === 'string' && host.trim() !== '') return host;
  throw new ServerOptionsError(`host or ${option} is empty; 0.0.0.0 listens on every network`);
}

function portOf(option: string, port: number): number {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new ServerOptionsError(`${option} must be an integer from 0 to 65535, not ${port}`);
}

function durabilityOf(durability: string): 'durable' | 'relaxed' {
  if (durability === 'durable' || durability === 'relaxed') return durability;
  throw new ServerOptionsError(`durability must be 'durable' or 'relaxed', not '${durability}'`);
}

/** Throws `ServerOptionsError` when there is none. */
export function accountsOf(accounts: readonly AccountOptions[]): AccountSettings[] {
  if (accounts.length === 0)
    throw new ServerOptionsError('accounts must name at least one account');
  return accounts.map((account) => ({
    name: account.name,
    keys: 'keys' in account ? account.keys : [account.key],
  }));
}

function limitsOf(limits: Partial<HttpLimits>): HttpLimits {
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(defaultLimits, name))
      throw new ServerOptionsError(`there is no limit '${name}'`);
    if (!Number.isInteger(value) || value < 1) {
      throw new ServerOptionsError(`the limit ${name} must be a positive integer, not ${value}`);
    }
  }
  return { ...defaultLimits, ...limits };
}
