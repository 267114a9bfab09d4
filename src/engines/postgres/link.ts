import { Client } from 'pg';
import { within } from '../../base/async/deadline.js';
import type { Timers } from '../../base/async/timers.js';
import { cutOff, readAsBytes } from './binary-results.js';
import type { Field, Row } from './rows.js';
import type { Statement } from './statements.js';

/** A query without an answer for so long is of a server that is gone. */
const stallMs = 60_000;
const connectMs = 5_000;

export interface LinkOptions {
  readonly address: string;
  /** Statements are prepared once in a connection. Off behind poolers that share connections. */
  readonly prepares: boolean;
  /** Queries are sent without waiting for the answers of earlier ones. */
  readonly pipelines: boolean;
  /** Commits need not be on disk when they are acknowledged. */
  readonly isRelaxed: boolean;
  readonly timers: Timers;
}

const asIs = { getTypeParser: () => (field: Buffer) => field };

/** Among others: every statement can use an index, whatever the statistics of the tables say. */
const settings = [
  'jit = off',
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  // What an administrator has set for others. Each statement behind a lock needs a new snapshot.
  "default_transaction_isolation = 'read committed'",
  'default_transaction_deferrable = off',
  'statement_timeout = 0',
  'lock_timeout = 0',
  'idle_in_transaction_session_timeout = 0',
  'idle_session_timeout = 0',
];
const relaxedSettings = [...settings, 'synchronous_commit = off'];

/** A connection to one server. */
export class Link {
  readonly #client: Client;
  readonly #options: LinkOptions;
  #isLost = false;

  /** Not connected yet. */
  private constructor(client: Client, options: LinkOptions) {
    this.#client = client;
    this.#options = options;
    // Queries under way are rejected besides.
    client.on('error', () => this.cut());
    client.on('end', () => {
      this.#isLost = true;
    });
  }

  static async open(options: LinkOptions): Promise<Link> {
    const { address, pipelines, prepares, isRelaxed } = options;
    const client = new Client({
      connectionString: address,
      connectionTimeoutMillis: connectMs,
      fallback_application_name: 'tabularium',
      keepAlive: true,
      pipeline: pipelines,
    });
    readAsBytes(client);
    const link = new Link(client, options);
    try {
      await client.connect();
      const own = isRelaxed ? relaxedSettings : settings;
      if (prepares) await link.run(own.map((setting) => `set ${setting}`).join('; '));
    } catch (error) {
      link.cut();
      throw error;
    }
    return link;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Rejects as the package does. A connection that stalls is cut off. */
  async query({ name, text }: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const config = {
      text,
      values: [...values],
      rowMode: 'array',
      types: asIs,
      binary: true,
      // Without parameters and a name the results would be texts.
      queryMode: 'extended',
      ...(this.#options.prepares && { name }),
    } as const;
    const { rows } = await this.#limited(this.#client.query<Field[]>(config));
    return rows;
  }

  /** Runs statements without parameters. */
  async run(text: string): Promise<void> {
    await this.#limited(this.#client.query(text));
  }

  /** Ends it at once. Idempotent. */
  cut(): void {
    this.#isLost = true;
    cutOff(this.#client);
  }

  /** Ends it when what is under way has ended. */
  async close(): Promise<void> {
    if (this.#isLost) return;
    this.#isLost = true;
    await this.#client.end().catch(() => this.cut());
  }

  #limited<T>(work: Promise<T>): Promise<T> {
    const late = (): Error => {
      this.cut();
      return new Error(`The database did not answer within ${stallMs / 1000} s.`);
    };
    return within(work, { limitMs: stallMs, timers: this.#options.timers, late });
  }
}
