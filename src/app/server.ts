import type { Store } from '../kv/store.js';
import { openLmdbStore } from '../engines/lmdb/store.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { healthEndpoint } from '../http/admin/health.js';
import { HttpServer } from '../http/pipeline/server.js';
import { tableHttpService } from '../http/tables/service.js';
import {
  makeAccountDirectory,
  type AccountDirectory,
  type AccountSettings,
} from '../services/accounts/directory.js';
import { TableService } from '../services/tables/table-service.js';
import { connectionStringOf, originOf } from './connection-string.js';
import {
  ServerOptionsError,
  settingsOf,
  type ServerOptions,
  type ServerSettings,
} from './options.js';
import { Reclaimer } from './reclaimer.js';

/** A running server. */
export interface TabulariumServer extends AsyncDisposable {
  /** The endpoint of the first account, `http://host:port/account`. */
  readonly tableEndpoint: string;
  readonly tablePort: number;
  /** Names of the accounts it serves. */
  readonly accounts: readonly string[];
  /** Ready for `TableClient.fromConnectionString`. Default: the first account. */
  connectionString(account?: string): string;
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
 *   accounts that cannot; other errors when the data
 *   directory cannot be opened or the port is taken. Nothing is left open then.
 */
export async function createServer(options: ServerOptions): Promise<TabulariumServer> {
  const settings = settingsOf(options);
  const accounts = makeAccountDirectory(settings.accounts);
  const store = await openStore(settings);
  try {
    const server = new RunningServer(settings, accounts, store);
    await server.listen();
    return server;
  } catch (error) {
    await store.close();
    throw error;
  }
}

function openStore({ storage, clock, durability }: ServerSettings): Promise<Store> {
  if (storage.kind === 'memory') return openMemoryStore({ clock });
  return openLmdbStore({ directory: storage.directory, clock, durability });
}

/** A key that nothing is stored under: reading it shows whether the store works. */
const probeKey = Uint8Array.of(0);

class RunningServer implements TabulariumServer {
  readonly #settings: ServerSettings;
  readonly #store: Store;
  readonly #http: HttpServer;
  readonly #tables: TableService;
  #reclaimer: Reclaimer | undefined;
  #closed: Promise<void> | undefined;
  tablePort = 0;

  constructor(settings: ServerSettings, accounts: AccountDirectory, store: Store) {
    const { clock, randomness, timers, limits, logger, checkClockSkew } = settings;
    this.#settings = settings;
    this.#store = store;
    this.#tables = new TableService({ store, clock });
    this.#http = new HttpServer({
      service: tableHttpService({ tables: this.#tables, randomness }),
      accounts,
      endpoints: [healthEndpoint(() => this.#isHealthy())],
      observers: settings.observers,
      clock,
      randomness,
      timers,
      limits,
      logger,
      checkClockSkew,
    });
  }

  async listen(): Promise<void> {
    const { host, tablePort, timers, logger } = this.#settings;
    this.tablePort = await this.#http.listen(host, tablePort);
    this.#reclaimer = new Reclaimer({
      step: (options) => this.#tables.reclaim(options),
      inFlight: () => this.#http.inFlight,
      timers,
      logger,
    });
  }

  get tableEndpoint(): string {
    return `${this.#origin}/${this.#account(undefined).name}`;
  }

  get accounts(): readonly string[] {
    return this.#settings.accounts.map(({ name }) => name);
  }

  connectionString(account?: string): string {
    return connectionStringOf(this.#account(account), this.#origin);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get #origin(): string {
    return originOf(this.#settings.host, this.tablePort);
  }

  #account(name: string | undefined): AccountSettings {
    const { accounts } = this.#settings;
    const account = name === undefined ? accounts[0] : accounts.find((each) => each.name === name);
    if (account !== undefined) return account;
    throw new ServerOptionsError(`no account '${name}'; there is: ${this.accounts.join(', ')}`);
  }

  async #close(): Promise<void> {
    await this.#http.close();
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
