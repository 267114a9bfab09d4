/**
 * An engine of Tabularium over Cassandra 5.
 *
 * @packageDocumentation
 */
import { openSchema } from './schema.js';
import { openSession, type SessionOptions } from './session.js';
import { Statements } from './statements.js';
import { CassandraStore, type CassandraStoreParts } from './store.js';

export type { CassandraStore, CommitStats } from './store.js';

export interface CassandraStoreOptions
  extends SessionOptions, Partial<Pick<CassandraStoreParts, 'clock' | 'randomness'>> {
  /** Made when it is not there. */
  readonly keyspace: string;
  /** Names one of several stores in a keyspace. Default: `main`. */
  readonly store?: string;
  /** Nodes that have each entry, where the keyspace is made. Default: 3. */
  readonly replicas?: number;
  /** `relaxed` takes a cluster that acknowledges before a change is on disk. Default: `durable`. */
  readonly durability?: 'durable' | 'relaxed';
}

/**
 * Opens a store in a keyspace. Let one process make the keyspace before others open it. Rejects
 * with `StoreUnavailableError` when no node answers, and with `StoreFailedError` when the cluster
 * cannot keep what it acknowledges or has data of another format.
 */
export async function openCassandraStore(options: CassandraStoreOptions): Promise<CassandraStore> {
  const { keyspace, store = 'main', replicas = 3, durability = 'durable' } = options;
  const { localDataCenter, clock = systemClock, randomness = systemRandomness } = options;
  const session = await openSession(options);
  const statements = new Statements(store);
  try {
    await openSchema(session, statements, { keyspace, replicas, localDataCenter, durability });
  } catch (error) {
    await session.close();
    throw error;
  }
  return new CassandraStore({ session, statements, clock, randomness });
}

const systemClock: CassandraStoreParts['clock'] = {
  nowMicros: () => Date.now() * 1_000,
  monotonicMs: () => performance.now(),
};

const systemRandomness: CassandraStoreParts['randomness'] = {
  uuid: () => crypto.randomUUID(),
  chance: () => Math.random(),
};
