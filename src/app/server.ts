import { invariant } from '../base/invariant.js';
import type { Store } from '../kv/store.js';
import { healthEndpoint } from '../http/admin/health.js';
import type { HttpService } from '../http/pipeline/service.js';
import { HttpServer } from '../http/pipeline/server.js';
import { VersionGate } from '../http/pipeline/version-gate.js';
import { queueHttpService } from '../http/queues/service.js';
import { tableHttpService } from '../http/tables/service.js';
import { CurrentAccounts, makeAccountDirectory } from '../services/accounts/directory.js';
import {
  backendOver,
  openStore,
  reclaimSteps,
  seedBackend,
  type Backend,
  type Sharing,
} from './backend.js';
import { endpointsOf, type ServerEndpoints } from './endpoints.js';
import { ListenError } from './listen-error.js';
import {
  accountsOf,
  serviceNames,
  settingsOf,
  type ServerChanges,
  type ServerOptions,
  type ServerSettings,
  type ServiceName,
} from './options.js';
import { Reclaimer } from './reclaimer.js';
import type { Certificates } from './tls/certificates.js';
import { openCertificates } from './tls/opening.js';

/** A running server. */
export interface TabulariumServer extends ServerEndpoints, AsyncDisposable {
  /**
   * What clients have to trust, in PEM: the certificate that new connections are shown, and its
   * chain. Undefined without TLS.
   */
  readonly certificate: string | undefined;
  /**
   * Serves with these settings from now on. Requests in flight end with those they began with. A key
   * that is gone is refused at once; an account that is gone answers 404, and its data stay.
   *
   * @throws {ServerOptionsError} or `AccountSettingsError`, for settings that cannot be served;
   *   nothing has changed then.
   */
  reload(changes: ServerChanges): Promise<void>;
  /**
   * Stops accepting requests, finishes those in flight within a bounded time, then closes the
   * store. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Starts a server in this process; it listens when this resolves. Several can run side by side.
 *
 * @throws {ServerOptionsError} for options that cannot be served, `AccountSettingsError` for
 *   accounts that cannot, `SeedError` for what cannot be made at the start, `ListenError` for a port
 *   that is taken; other errors when the data directory cannot be opened. Nothing is left open then.
 */
export function createServer(options: ServerOptions): Promise<TabulariumServer> {
  return startServer(options, 'exclusive');
}

/**
 * Starts a server that works on the data directory of another process, which frees its space as
 * well (`openDirectoryOwner`). Otherwise as `createServer`.
 */
export function createWorkerServer(options: ServerOptions): Promise<TabulariumServer> {
  return startServer(options, 'join');
}

async function startServer(options: ServerOptions, sharing: Sharing): Promise<TabulariumServer> {
  const settings = settingsOf(options);
  const accounts = new CurrentAccounts(makeAccountDirectory(settings.accounts));
  const store = await openStore(settings, sharing);
  const certificates = await openCertificates(settings, sharing).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const server = new RunningServer(settings, { accounts, store, certificates });
  try {
    if (sharing === 'exclusive') await server.seed();
    await server.listen();
    if (sharing === 'exclusive') server.reclaim();
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** A key that nothing is stored under: reading it shows whether the store works. */
const probeKey = Uint8Array.of(0);

interface ServerParts {
  readonly accounts: CurrentAccounts;
  readonly store: Store;
  readonly certificates: Certificates | undefined;
}

class RunningServer implements TabulariumServer {
  readonly #settings: ServerSettings;
  readonly #accounts: CurrentAccounts;
  readonly #store: Store;
  readonly #certificates: Certificates | undefined;
  readonly #backend: Backend;
  readonly #http: Readonly<Record<ServiceName, HttpServer>>;
  #endpoints: ServerEndpoints | undefined;
  #reclaimer: Reclaimer | undefined;
  #closed: Promise<void> | undefined;

  constructor(settings: ServerSettings, { accounts, store, certificates }: ServerParts) {
    this.#settings = settings;
    this.#accounts = accounts;
    this.#store = store;
    this.#certificates = certificates;
    this.#backend = backendOver(store, settings);
    const { tables, queues, properties } = this.#backend;
    const { clock, randomness, timers, logger, observers, checkClockSkew, strictness } = settings;
    const { leniency, strictApiVersions } = strictness;
    const versions = new VersionGate({ strict: strictApiVersions, logger });
    const serve = (name: ServiceName, service: HttpService): HttpServer =>
      new HttpServer({
        service,
        accounts,
        endpoints: [healthEndpoint(() => this.#isHealthy())],
        observers,
        clock,
        randomness,
        timers,
        limits: settings.listeners[name].limits,
        logger,
        tls: certificates,
        versions,
        checkClockSkew,
      });
    this.#http = {
      table: serve('table', tableHttpService({ tables, properties, clock, randomness, leniency })),
      queue: serve('queue', queueHttpService({ queues, properties, clock })),
    };
  }

  /** Makes what the owner of a data directory begins with. Throws `SeedError`. */
  async seed(): Promise<void> {
    await seedBackend(this.#backend, this.#settings);
  }

  /** Throws `ListenError` at the first port that cannot be had. */
  async listen(): Promise<void> {
    const ports = { table: 0, queue: 0 };
    for (const service of serviceNames) {
      const { host, port } = this.#settings.listeners[service];
      try {
        ports[service] = await this.#http[service].listen(host, port);
      } catch (error) {
        throw new ListenError({ service, host, port }, error);
      }
    }
    this.#endpoints = endpointsOf(this.#settings, ports);
  }

  async reload({ accounts }: ServerChanges): Promise<void> {
    const next = accounts && accountsOf(accounts);
    const directory = next && makeAccountDirectory(next);
    // From here on nothing fails, so that all changes or none are made.
    if (next === undefined || directory === undefined) return;
    this.#accounts.replace(directory);
    const { tablePort: table, queuePort: queue } = this.#listening;
    this.#endpoints = endpointsOf({ ...this.#settings, accounts: next }, { table, queue });
  }

  /** Begins to free space, which the owner of a data directory does. */
  reclaim(): void {
    const { timers, logger } = this.#settings;
    this.#reclaimer = new Reclaimer({
      steps: reclaimSteps(this.#backend),
      inFlight: () => this.#http.table.inFlight + this.#http.queue.inFlight,
      timers,
      logger,
    });
  }

  get tableEndpoint(): string {
    return this.#listening.tableEndpoint;
  }

  get tablePort(): number {
    return this.#listening.tablePort;
  }

  get queueEndpoint(): string {
    return this.#listening.queueEndpoint;
  }

  get queuePort(): number {
    return this.#listening.queuePort;
  }

  get accounts(): readonly string[] {
    return this.#listening.accounts;
  }

  get certificate(): string | undefined {
    return this.#certificates?.certificate;
  }

  connectionString(account?: string): string {
    return this.#listening.connectionString(account);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #listening(): ServerEndpoints {
    invariant(this.#endpoints !== undefined, 'a server is handed out when it listens');
    return this.#endpoints;
  }

  async #close(): Promise<void> {
    await Promise.all(serviceNames.map((service) => this.#http[service].close()));
    await this.#certificates?.close();
    await this.#reclaimer?.stop();
    await this.#store.close();
  }

  async #isHealthy(): Promise<boolean> {
    if (this.#closed !== undefined) return false;
    try {
      await this.#store.get(probeKey);
      return true;
    } catch (error) {
      this.#settings.logger.error('the store cannot be read', { error });
      return false;
    }
  }
}
