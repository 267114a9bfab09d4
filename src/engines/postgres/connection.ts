import { Client } from 'pg';
import { within } from '../../base/async/deadline.js';
import { InFlight } from '../../base/async/in-flight.js';
import type { Timers } from '../../base/async/timers.js';
import { cutOff, readAsBytes } from './binary-results.js';
import { mayBeOfCommit } from './commit-warning.js';
import { productOf, rulesOf, type Product } from './product.js';
import { bytesOf, type Field, type Row } from './rows.js';
import type { Statement } from './statements.js';

/** A server that does not answer a query within this time is taken for dead. */
const stallMs = 60_000;
const connectMs = 5_000;
/** How long a server may take to answer a statement that does nothing. */
const answerMs = 5_000;
/** A partitioned network delivers no end of a connection, and the system retries for minutes. */
const endMs = 2_000;
/**
 * A machine that loses its power or its network leaves its connections open. The database would
 * keep the locks of their transactions for hours, until its own keep-alive fails.
 */
const idleInTransactionMs = 20_000;

export interface ConnectionOptions {
  readonly address: string;
  /** Statements are prepared once in a connection. Off behind poolers that share connections. */
  readonly prepares: boolean;
  /** Queries are sent without waiting for the answers of earlier ones. */
  readonly pipelines: boolean;
  /** Commits need not be on disk when they are acknowledged. */
  readonly isRelaxed: boolean;
  /**
   * After this time the database ends a transaction whose client sends nothing. Default: 20 s, less
   * than others wait for what it has locked.
   */
  readonly idleInTransactionMs?: number | undefined;
  readonly timers: Timers;
}

const asIs = { getTypeParser: () => (field: Buffer) => field };

interface QueryText {
  readonly text: string;
  readonly values?: unknown[];
  /** The name of the prepared statement. */
  readonly name?: string;
}

/** Sent once per connection, so it is not prepared. */
const versionText = 'select version()';

/** A connection to one server. */
export class Connection {
  readonly #client: Client;
  readonly #options: ConnectionOptions;
  #isLost = false;
  #hasWarned = false;
  readonly #queries = new InFlight();
  #product: Product = 'PostgreSQL';

  /** Not connected yet. */
  private constructor(client: Client, options: ConnectionOptions) {
    this.#client = client;
    this.#options = options;
    // The package itself rejects the queries under way.
    client.on('error', () => this.destroy());
    client.on('end', () => {
      this.#isLost = true;
    });
    client.on('notice', (notice) => {
      if (mayBeOfCommit(notice)) this.#hasWarned = true;
    });
  }

  /**
   * Connects and applies the settings that commits and reads need. Rejects when the signal is
   * aborted, because a server that sends nothing would otherwise hold its caller for too long.
   */
  static async open(options: ConnectionOptions, signal?: AbortSignal): Promise<Connection> {
    const { address, pipelines, prepares } = options;
    const client = new Client({
      connectionString: address,
      connectionTimeoutMillis: connectMs,
      fallback_application_name: 'tabularium',
      keepAlive: true,
      pipeline: pipelines,
    });
    readAsBytes(client);
    const connection = new Connection(client, options);
    await connection.prepare(async () => {
      await client.connect();
      const [row] = await connection.#read({ text: versionText });
      connection.#product = productOf(bytesOf(row?.[0]).toString());
      if (prepares) await connection.run(settingsFor(connection.#product, options));
    }, signal);
    return connection;
  }

  /**
   * Does what a connection needs before its use. Destroys it when that fails, and at once when the
   * signal is aborted, which ends the work.
   */
  async prepare<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const destroy = (): void => this.destroy();
    signal?.addEventListener('abort', destroy, { once: true });
    try {
      signal?.throwIfAborted();
      return await work();
    } catch (error) {
      this.destroy();
      throw error;
    } finally {
      signal?.removeEventListener('abort', destroy);
    }
  }

  get product(): Product {
    return this.#product;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Whether the server may have warned of a commit since this was last asked: it warns of one that
   * it acknowledges without its standby, because somebody has ended the wait. Always false for
   * products without standbys, whose warnings have other reasons.
   */
  takeWarning(): boolean {
    const hasWarned = this.#hasWarned;
    this.#hasWarned = false;
    return hasWarned && rulesOf(this.#product).hasStandbys;
  }

  /** Rejects with the errors of the package. Destroys a connection that stalls. */
  query({ name, text }: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#read({ text, values: [...values], ...(this.#options.prepares && { name }) });
  }

  async #read(query: QueryText): Promise<readonly Row[]> {
    const config = {
      ...query,
      rowMode: 'array',
      types: asIs,
      binary: true,
      // Otherwise a query without parameters and a name would return text instead of bytes.
      queryMode: 'extended',
    } as const;
    const { rows } = await this.#limited(this.#client.query<Field[]>(config));
    return rows;
  }

  /** Runs statements without parameters. */
  async run(text: string): Promise<void> {
    await this.#limited(this.#client.query(text));
  }

  /** Whether the server still answers here. Asks it, and destroys a connection that does not. */
  async answers(): Promise<boolean> {
    const { timers } = this.#options;
    const late = () => new Error(`The database did not answer within ${answerMs / 1000} s.`);
    try {
      await within(this.run('select 1'), { limitMs: answerMs, timers, late });
      return true;
    } catch {
      this.destroy();
      return false;
    }
  }

  /** Destroys the connection. Idempotent. */
  destroy(): void {
    this.#isLost = true;
    cutOff(this.#client);
  }

  /**
   * Closes the connection after the queries under way, whose time is limited. Never rejects.
   * Destroys the connection when the server does not answer.
   */
  async close(): Promise<void> {
    if (this.#isLost) return;
    this.#isLost = true;
    await this.#queries.none();
    const { timers } = this.#options;
    const late = () => new Error('The database did not end the connection.');
    await within(this.#client.end(), { limitMs: endMs, timers, late }).catch(() => this.destroy());
  }

  #limited<T>(work: Promise<T>): Promise<T> {
    const late = (): Error => {
      this.destroy();
      return new Error(`The database did not answer within ${stallMs / 1000} s.`);
    };
    const ended = this.#queries.during(() => work);
    return within(ended, { limitMs: stallMs, timers: this.#options.timers, late });
  }
}

/** The statements that set what commits and reads need. */
function settingsFor(product: Product, options: ConnectionOptions): string {
  const { settings, newerLimits, tellsDurability } = rulesOf(product);
  const { isRelaxed, idleInTransactionMs: idleMs = idleInTransactionMs } = options;
  const own = [
    `idle_in_transaction_session_timeout = '${idleMs}ms'`,
    ...(isRelaxed && tellsDurability ? ['synchronous_commit = off'] : []),
  ];
  const all = [...settings, ...own].map((setting) => `set ${setting}`);
  const newer = newerLimits.map(
    (name) =>
      `select set_config('${name}', '0', false) where current_setting('${name}', true) is not null`,
  );
  return [...all, ...newer].join('; ');
}
