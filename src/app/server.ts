import { invariant } from '../base/invariant.js';
import type { Health } from '../http/admin/health.js';
import { lowSpaceGuardsOf, type LowSpaceGuards } from './low-space.js';
import type { HttpServer } from '../http/pipeline/server.js';
import { ReadWriteLock } from '../base/async/read-write-lock.js';
import { SharedTime } from '../base/async/shared-time.js';
import type { ControlServer } from '../http/control/server.js';
import type { Faults } from '../http/faults/injector.js';
import { byService, serviceNames, type ServiceName } from '../model/services/services.js';
import { CurrentAccounts, makeAccountDirectory } from '../services/accounts/directory.js';
import { Analytics } from './analytics.js';
import { backendOver, openStore, reclaimSteps, seedBackend } from './backend.js';
import { openControl } from './control.js';
import { endpointsByPlural, endpointsOf, portOf, type ServerEndpoints } from './endpoints.js';
import { httpServersOf, standbyOver, type Standby } from './http-servers.js';
import { Interceptors, type ThrottleControl } from './interceptors.js';
import { checkChanges } from './options/check.js';
import type { ServerChanges, ServerOptions } from './options/table.js';
import { openSecondary, type SecondaryStore } from './secondary.js';
import { ListenError } from './listen-error.js';
import { Migrations } from './migration/online/migrations.js';
import { openTarget } from './open-location.js';
import { MovedError } from './moves/moved-error.js';
import { openData, type OpenData } from './open-data.js';
import type { Sharing } from './open-engine.js';
import { Partitions } from './partition-control.js';
import { OpenPartitions } from './open-partitions.js';
import { renewableBackend, type RenewableBackend } from './renewable-backend.js';
import { accountsOf, settingsOf, type ServerSettings } from './settings.js';
import type { OpenBearerVerifier } from './oauth/open-bearer-verifier.js';
import { Reclaimer } from './reclaimer.js';
import { stopMetricsMs, stopStepsMs } from './stop-time.js';
import { StoreHealth } from './store-health.js';
import { Snapshots, type SnapshotControl, type SnapshotInfo } from './snapshots.js';
import type { Certificates } from './tls/certificates.js';
import { openCertificates, prepareCertificate } from './open-certificates.js';

/** A running server. */
export interface TabulariumServer extends ServerEndpoints, SnapshotControl, AsyncDisposable {
  /** The fault rules for requests. */
  readonly faults: Faults;
  readonly throttle: ThrottleControl;
  /** Undefined without a control API. */
  readonly controlPort: number | undefined;
  /**
   * The certificate that clients must trust, in PEM: that of new connections, and its chain.
   * Undefined without TLS.
   */
  readonly certificate: string | undefined;
  /**
   * Applies these settings from now on. A removed key is refused at once, even for a request whose
   * body is still arriving; a removed account answers 404, and its data stay. Requests whose work
   * has begun finish with the earlier settings.
   *
   * @throws {ServerOptionsError} or `AccountSettingsError`, for invalid settings;
   * nothing has changed then.
   */
  reload(changes: ServerChanges): Promise<void>;
  /**
   * Stops accepting requests, finishes those in flight within a bounded time, then closes the
   * store. Idempotent.
   */
  close(): Promise<void>;
}

/**
 * Starts a server in this process; it is listening when this resolves. Several can run in one
 * process.
 *
 * @throws {ServerOptionsError} for invalid options, `AccountSettingsError` for
 * invalid accounts, `SeedError` for initial data that cannot be created, `ListenError` for a port
 * that is taken, `DataDirectoryError` for a data directory that cannot be used. Nothing stays open
 * then.
 */
export function createServer(options: ServerOptions): Promise<TabulariumServer> {
  return startServer(options, 'exclusive', openStore);
}

/**
 * Starts a server on the data directory of another process, which also does the housekeeping
 * (`openDirectoryOwner`). Otherwise as `createServer`.
 */
export function createWorkerServer(options: ServerOptions): Promise<TabulariumServer> {
  return startServer(options, 'join', openStore);
}

/** As `createServer`, over the store that `open` returns. */
export async function startServer(
  options: ServerOptions,
  sharing: Sharing,
  open: typeof openStore,
): Promise<TabulariumServer> {
  const settings = settingsOf(options);
  const accounts = new CurrentAccounts(makeAccountDirectory(settings.accounts));
  const interceptors = new Interceptors(options, settings);
  const bearer = await bearerOf(settings);
  // It keeps no connection until it is read.
  const secondary = await openSecondary(settings);
  const data = await openData(settings, () => open(settings, sharing));
  const certificates = await openCertificates(settings, sharing).catch(async (error: unknown) => {
    await data.close();
    throw error;
  });
  const server = new RunningServer(settings, {
    accounts,
    data,
    secondary,
    certificates,
    interceptors,
    bearer,
    sharing,
  });
  try {
    if (sharing === 'exclusive') await server.seed();
    await server.listen();
    if (sharing === 'exclusive') server.reclaim();
    server.analyse(sharing);
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Loads the token verifier only when it is configured. */
async function bearerOf(settings: ServerSettings): Promise<OpenBearerVerifier | undefined> {
  if (settings.oauth === undefined) return undefined;
  const { openBearerVerifier } = await import('./oauth/open-bearer-verifier.js');
  return openBearerVerifier(settings.oauth, settings);
}

interface ServerParts {
  readonly accounts: CurrentAccounts;
  readonly data: OpenData;
  readonly secondary: SecondaryStore | undefined;
  readonly certificates: Certificates | undefined;
  readonly interceptors: Interceptors;
  readonly bearer: OpenBearerVerifier | undefined;
  readonly sharing: Sharing;
}

class RunningServer implements TabulariumServer {
  readonly #settings: ServerSettings;
  readonly #accounts: CurrentAccounts;
  readonly #data: OpenData;
  readonly #secondary: SecondaryStore | undefined;
  readonly #standby: Standby | undefined;
  readonly #certificates: Certificates | undefined;
  readonly #bearer: OpenBearerVerifier | undefined;
  readonly #backend: RenewableBackend;
  readonly #interceptors: Interceptors;
  readonly #lock = new ReadWriteLock();
  readonly #analytics: Analytics;
  readonly #lowSpaceGuards: LowSpaceGuards;
  readonly #storeHealth: StoreHealth;
  readonly #snapshots: Snapshots;
  #migrations: Migrations | undefined;
  #partitions: Partitions | undefined;
  readonly #http: Readonly<Record<ServiceName, HttpServer>>;
  #endpoints: ServerEndpoints | undefined;
  #control: { readonly server: ControlServer; readonly port: number } | undefined;
  #reclaimer: Reclaimer | undefined;
  #closed: Promise<void> | undefined;

  constructor(settings: ServerSettings, parts: ServerParts) {
    const { accounts, data, secondary, certificates, interceptors, bearer, sharing } = parts;
    this.#settings = settings;
    this.#accounts = accounts;
    this.#data = data;
    this.#secondary = secondary;
    this.#certificates = certificates;
    this.#bearer = bearer;
    this.#interceptors = interceptors;
    const backend = renewableBackend(() =>
      backendOver(data, settings, {
        onGarbage: () => this.#reclaimer?.wake(),
        underReadLock: (work) => this.#lock.read(work),
      }),
    );
    this.#backend = backend;
    data.onContentRenewed(() => backend.renew());
    const { clock, timers, logger } = settings;
    const lock = this.#lock;
    const analytics = new Analytics({
      store: data.store,
      services: backend,
      lock,
      clock,
      timers,
      logger,
    });
    this.#analytics = analytics;
    interceptors.addObserver(analytics.observe);
    const onReplaced = () => {
      backend.renew();
      analytics.discard();
    };
    this.#snapshots = new Snapshots({ ...data, sharing, lock, clock, onReplaced });
    this.#lowSpaceGuards = lowSpaceGuardsOf(settings, data);
    this.#storeHealth = new StoreHealth({ data, timers, logger });
    this.#standby = secondary && standbyOver(secondary, { settings, content: data.content });
    this.#http = httpServersOf(settings, {
      ...parts,
      backend,
      standby: this.#standby,
      lock,
      lowSpaceGuards: this.#lowSpaceGuards,
      health: () => this.#health(),
    });
  }

  /** Creates the initial data of an owner. Throws `SeedError`. */
  async seed(): Promise<void> {
    await seedBackend(this.#backend, this.#settings);
  }

  /** Throws `ListenError` at the first port that cannot be opened. */
  async listen(): Promise<void> {
    await this.#lowSpaceGuards.start();
    await this.#analytics.prepare(this.#settings.accounts.map(({ name }) => name));
    const ports = byService(() => 0);
    for (const service of serviceNames) {
      const { host, port } = this.#settings.listeners[service];
      try {
        ports[service] = await this.#http[service].listen(host, port);
      } catch (error) {
        throw new ListenError({ service, host, port }, error);
      }
    }
    this.#endpoints = endpointsOf(this.#settings, ports);
    const { controlPort: port, logger } = this.#settings;
    if (port !== undefined) this.#control = await openControl(this, { port, logger });
  }

  async reload(changes: ServerChanges): Promise<void> {
    checkChanges(changes);
    const { accounts, tls } = changes;
    const next = accounts && accountsOf(accounts);
    const directory = next && makeAccountDirectory(next);
    const intercept = this.#interceptors.prepare(changes);
    const showCertificate = tls && (await prepareCertificate(this.#certificates, tls));
    // Nothing fails from here on, so that all changes are applied or none.
    showCertificate?.();
    intercept();
    this.#settings.blobProtection.change(changes);
    if (next === undefined || directory === undefined) return;
    this.#accounts.replace(directory);
    const ports = byService((service) => portOf(this.#listening, service));
    this.#endpoints = endpointsOf({ ...this.#settings, accounts: next }, ports);
  }

  /** Starts the housekeeping; only the owner of a data directory does it. */
  reclaim(): void {
    const { clock, timers, logger } = this.#settings;
    this.#reclaimer = new Reclaimer({
      steps: reclaimSteps(this.#backend, this.#data, this.#lock),
      isBusy: () => this.#inFlight > 0,
      clock,
      timers,
      logger,
    });
  }

  /** Starts to write metrics; only the owner of a data directory closes hours without requests. */
  analyse(sharing: Sharing): void {
    if (sharing === 'exclusive') this.#analytics.startAsOwner(() => this.accounts);
    else this.#analytics.start();
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

  get blobEndpoint(): string {
    return this.#listening.blobEndpoint;
  }

  get blobPort(): number {
    return this.#listening.blobPort;
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

  get faults(): Faults {
    return this.#interceptors.faults;
  }

  get throttle(): ThrottleControl {
    return this.#interceptors.throttle;
  }

  get controlPort(): number | undefined {
    return this.#control?.port;
  }

  /** For the control API. */
  get partitions(): Partitions | undefined {
    const { store } = this.#data;
    if (store instanceof OpenPartitions) this.#partitions ??= new Partitions(store);
    return this.#partitions;
  }

  /** For the control API. */
  get migration(): Migrations {
    const { store, content } = this.#data;
    const { storage, clock, timers, logger } = this.#settings;
    const location = storage.kind === 'directory' ? storage.directory : undefined;
    const onMoved = (): void => void this.#endHousekeeping(this.#stopTime());
    const options = { store, content, location, openTarget, clock, timers, logger, onMoved };
    return (this.#migrations ??= new Migrations(options));
  }

  get snapshots(): readonly SnapshotInfo[] {
    return this.#snapshots.snapshots;
  }

  reset(): Promise<void> {
    return this.#snapshots.reset();
  }

  snapshot(name: string): Promise<void> {
    return this.#snapshots.snapshot(name);
  }

  restore(name: string): Promise<void> {
    return this.#snapshots.restore(name);
  }

  deleteSnapshot(name: string): boolean {
    return this.#snapshots.deleteSnapshot(name);
  }

  /** The status for the control API. */
  status(): Readonly<Record<string, unknown>> {
    return {
      ...endpointsByPlural(this),
      accounts: this.accounts,
      inFlight: this.#inFlight,
      faults: this.faults.list().length,
      throttle: this.throttle.setting,
      snapshots: this.snapshots.length,
    };
  }

  get #inFlight(): number {
    return serviceNames.reduce((sum, service) => sum + this.#http[service].inFlight, 0);
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
    const time = this.#stopTime();
    this.#lowSpaceGuards.close();
    this.#bearer?.close();
    await this.#control?.server.close();
    await time.spend(async (limitMs) => this.#migrations?.close(limitMs));
    await Promise.all(serviceNames.map((service) => this.#http[service].close()));
    await time.spend((limitMs) => this.#endCopies(limitMs));
    await time.spend(async (limitMs) => this.#standby?.blobs.close(limitMs));
    await this.#secondary?.close();
    await this.#certificates?.close();
    await this.#endHousekeeping(time);
    this.#snapshots.close();
    await this.#data.close();
  }

  #stopTime(): SharedTime {
    return new SharedTime(stopStepsMs - stopMetricsMs, this.#settings.clock);
  }

  async #endCopies(limitMs: number): Promise<void> {
    const copies = await this.#backend.close(limitMs);
    if (copies === 0) return;
    this.#settings.logger.warn('copies of blobs have not ended: the stop goes on without them', {
      copies,
    });
  }

  async #endHousekeeping(time: SharedTime): Promise<void> {
    await time.spend(async (limitMs) => this.#reclaimer?.stop(limitMs));
    // After a move nothing can be written here.
    if (this.#data.trouble() instanceof MovedError) this.#analytics.discard();
    await this.#analytics.stop(stopMetricsMs);
  }

  async #health(): Promise<Health> {
    return this.#closed === undefined ? this.#storeHealth.check() : 'closing';
  }
}
