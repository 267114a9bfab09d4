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
 * The standbys to read from. All reads use one standby as long as it answers, so that its
 * `synchrony` holds for what they read. Reads do not wait for a standby: a client can ask the
 * primary instead.
 */
export class Replicas implements ConnectionSource {
  readonly retries: ConnectionSource['retries'];
  readonly #options: ReplicasOptions;
  #current = 0;
  #isClosed = false;

  constructor(options: ReplicasOptions) {
    const { timers, randomness } = options;
    this.#options = options;
    this.retries = { backOffMs, timers, randomness };
  }

  close(): void {
    this.#isClosed = true;
  }

  async connect(_limitMs: number, pipelines = false): Promise<Connection> {
    const { addresses, prepares, timers } = this.#options;
    const reasons: string[] = [];
    let cause: unknown;
    for (let tried = 0; tried < addresses.length; tried += 1) {
      if (this.#isClosed) throw new StoreClosedError();
      const at = (this.#current + tried) % addresses.length;
      const address = addresses[at] ?? '';
      try {
        const connection = await Connection.open({
          address,
          prepares,
          pipelines,
          isRelaxed: false,
          timers,
        });
        this.#current = at;
        return connection;
      } catch (error) {
        cause = error;
        reasons.push(`${shownAddress(address)}: ${messageOf(error)}`);
      }
    }
    throw new StoreUnavailableError(`No standby answers: ${reasons.join('; ')}`, { cause });
  }
}
