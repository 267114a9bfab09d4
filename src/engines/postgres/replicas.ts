import { setMaxListeners } from 'node:events';
import type { Timers } from '../../base/async/timers.js';
import type { Randomness } from '../../base/randomness.js';
import { codeOf } from '../../base/thrown.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { DatabaseError, preparedCodes, reasonOf } from './database-error.js';
import { shownAddress } from './hosts.js';
import { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import { rulesOf } from './product.js';
import { assertTransactions, assertUnshared } from './unshared.js';

export interface ReplicasOptions {
  /** In the order in which they are tried. */
  readonly addresses: readonly string[];
  readonly prepares: boolean;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

const backOffMs = { first: 20, last: 500 };

/**
 * The standbys to read from. All reads use one standby as long as it takes connections, so that its
 * `synchrony` holds for what they read. When another one is taken, the connections to the former
 * end, and reads under way on them are repeated. Reads do not wait for a standby: a client can ask
 * the primary instead.
 */
export class Replicas implements ConnectionSource {
  readonly retries: ConnectionSource['retries'];
  readonly #options: ReplicasOptions;
  /** The standbys whose connections were checked, by their places. */
  readonly #checked = new Set<number>();
  #current = 0;
  /** The connections to the current standby; among them ones that are lost. */
  #connections: Connection[] = [];
  readonly #closing = new AbortController();

  constructor(options: ReplicasOptions) {
    const { timers, randomness } = options;
    this.#options = options;
    this.retries = { backOffMs, timers, randomness };
    // Each connection that is being opened adds a listener.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Refuses further connections, and destroys those that are being opened. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * Tries each standby once. Throws `DatabaseError` when one must not be used; those that are away
   * are tried again by reads.
   */
  async assertUsable(): Promise<void> {
    const { addresses } = this.#options;
    await Promise.all(
      addresses.map(async (address, at) => {
        try {
          const connection = await this.#open(at, false);
          await connection.close();
        } catch (error) {
          if (!isOfPooler(error)) return;
          const text = `A standby cannot be used. ${shownAddress(address)}: ${reasonOf(error)}`;
          throw new DatabaseError(text, { cause: error });
        }
      }),
    );
  }

  async connect(_limitMs: number, pipelines = false): Promise<Connection> {
    const { addresses } = this.#options;
    const { signal } = this.#closing;
    const former = this.#current;
    const reasons: string[] = [];
    let cause: unknown;
    for (let tried = 0; tried < addresses.length; tried += 1) {
      const at = (former + tried) % addresses.length;
      const address = addresses[at] ?? '';
      try {
        const connection = await this.#open(at, pipelines);
        this.#take(connection, at, former);
        return connection;
      } catch (error) {
        if (signal.aborted) throw new StoreClosedError();
        cause = error;
        reasons.push(`${shownAddress(address)}: ${reasonOf(error)}`);
      }
    }
    throw new StoreUnavailableError(`No standby answers: ${reasons.join('; ')}`, { cause });
  }

  /**
   * Throws `DatabaseError` for one behind a pooler that takes no transactions or would mix up what
   * is prepared.
   */
  async #open(at: number, pipelines: boolean): Promise<Connection> {
    const { addresses, prepares, timers } = this.#options;
    const { signal } = this.#closing;
    const own = { address: addresses[at] ?? '', prepares, isRelaxed: false, timers };
    const connection = await Connection.open({ ...own, pipelines }, signal);
    if (this.#checked.has(at)) return connection;
    await connection.prepare(() => assertTransactions(connection), signal);
    if (prepares && rulesOf(connection.product).namesProcesses) {
      const another = () => Connection.open({ ...own, pipelines: false }, signal);
      await connection.prepare(() => assertUnshared(connection, another), signal);
    }
    this.#checked.add(at);
    return connection;
  }

  /** `former`: the current standby when the connection was begun. */
  #take(connection: Connection, at: number, former: number): void {
    if (at !== this.#current && this.#current !== former) {
      // Another read has switched to another standby meanwhile, and all reads use one. `connect`
      // tries that one next or later.
      connection.destroy();
      throw new Error('another standby was taken meanwhile');
    }
    const isSame = at === this.#current;
    if (!isSame) for (const each of this.#connections) each.destroy();
    const kept = isSame ? this.#connections.filter(({ isLost }) => !isLost) : [];
    this.#connections = [...kept, connection];
    this.#current = at;
  }
}

/** Whether an error comes from a pooler that must not be before a standby. */
function isOfPooler(error: unknown): boolean {
  return error instanceof DatabaseError || preparedCodes.includes(codeOf(error) ?? '');
}
