import type { RetryOptions } from '../../base/async/retry.js';
import type { Connection } from './connection.js';

/** Opens connections. */
export interface ConnectionSource {
  /** The delays between attempts to use a connection. */
  readonly retries: Pick<RetryOptions, 'backOffMs' | 'timers' | 'randomness'>;
  /** Tries for `limitMs` at most. Rejects with `StoreUnavailableError`. */
  connect(limitMs: number, pipelines?: boolean): Promise<Connection>;
}
