import type { Bytes } from '../../base/bytes.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { StoreClosedError, StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import type {
  CommitResult,
  Entry,
  KeyRange,
  RangeOptions,
  RangePage,
  Store,
} from '../../kv/store.js';
import { DatabaseError } from './database-error.js';
import { addressesOf, isUnprepared } from './hosts.js';
import { Reads } from './reads.js';
import { Replicas } from './replicas.js';
import { numberOf } from './rows.js';
import { statementsFor, type Statements } from './statements.js';

export interface ReplicaStoreOptions {
  /** A connection string like that of the primary; the first host that answers is read. */
  readonly url: string;
  readonly schema: string;
  readonly timers?: Timers;
  readonly randomness?: Randomness;
}

/**
 * The state of replication. `live`: the standby has every commit that was acknowledged before
 * `lastSyncMicros`, in microseconds since 1970 by the clock of the primary. `bootstrap`: it has no
 * heartbeat yet.
 */
export type Synchrony =
  | { readonly status: 'live'; readonly lastSyncMicros: number }
  | { readonly status: 'bootstrap' | 'unavailable' };

/** Connects on the first read. Throws `DatabaseError` for a malformed address. */
export function openReplicaStore(options: ReplicaStoreOptions): ReplicaStore {
  const { url, schema, timers = systemTimers, randomness = systemRandomness } = options;
  const addresses = addressesOf(url);
  if (addresses === undefined) {
    throw new DatabaseError(
      'The address of the standbys is no URL of the form postgres://user:password@host:5432/name.',
    );
  }
  const replicas = new Replicas({ addresses, prepares: !isUnprepared(url), timers, randomness });
  return new ReplicaStore(replicas, statementsFor(schema));
}

/** A read-only store over a standby of a database. Its data may be out of date. */
export class ReplicaStore implements Store {
  readonly #replicas: Replicas;
  readonly #reads: Reads;
  readonly #statements: Statements;
  #isClosed = false;

  constructor(replicas: Replicas, statements: Statements) {
    this.#replicas = replicas;
    this.#statements = statements;
    this.#reads = new Reads(replicas, statements);
  }

  async get(key: Bytes): Promise<Entry | undefined> {
    this.#assertOpen();
    return this.#reads.get(key);
  }

  async getMany(keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    this.#assertOpen();
    return this.#reads.getMany(keys);
  }

  async range(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    this.#assertOpen();
    return this.#reads.range(range, options);
  }

  /** Always rejects with `StoreWriteError`. */
  commit(): Promise<CommitResult> {
    return Promise.reject(new StoreWriteError('A standby takes no commits.'));
  }

  /** Throws `DatabaseError` when a standby that answers must not be used. */
  async assertUsable(): Promise<void> {
    this.#assertOpen();
    await this.#replicas.assertUsable();
  }

  /** Reads the last heartbeat of the primary that has reached the standby. */
  async synchrony(): Promise<Synchrony> {
    this.#assertOpen();
    try {
      const [row] = await this.#reads.query(this.#statements.readHeartbeat, []);
      if (row === undefined) return { status: 'bootstrap' };
      return { status: 'live', lastSyncMicros: numberOf(row[0]) };
    } catch (error) {
      if (error instanceof StoreUnavailableError) return { status: 'unavailable' };
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#replicas.close();
    await this.#reads.close();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new StoreClosedError();
  }
}
