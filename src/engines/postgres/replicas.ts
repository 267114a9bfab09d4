import { setMaxListeners } from 'node:events';
import type { Timers } from '../../base/async/timers.js';
import type { Randomness } from '../../base/randomness.js';
import { messageOf } from '../../base/thrown.js';
import { StoreClosedError, StoreUnavailableError } from '../../kv/errors.js';
import { shownAddress } from './hosts.js';
import { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';

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

  async connect(_limitMs: number, pipelines = false): Promise<Connection> {
    const { addresses, prepares, timers } = this.#options;
    const { signal } = this.#closing;
    const own = { prepares, pipelines, isRelaxed: false, timers };
    const former = this.#current;
    const reasons: string[] = [];
    let cause: unknown;
    for (let tried = 0; tried < addresses.length; tried += 1) {
      const at = (former + tried) % addresses.length;
      const address = addresses[at] ?? '';
      try {
        const connection = await Connection.open({ ...own, address }, signal);
        this.#take(connection, at, former);
        return connection;
      } catch (error) {
        if (signal.aborted) throw new StoreClosedError();
        cause = error;
        reasons.push(`${shownAddress(address)}: ${messageOf(error)}`);
      }
    }
    throw new StoreUnavailableError(`No standby answers: ${reasons.join('; ')}`, { cause });
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
