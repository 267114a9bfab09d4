import type { GuardedBatch } from '../../kv/guards.js';
import type { Ingestion } from '../../kv/ingestion.js';
import type { Connection } from './connection.js';
import type { Outcome } from './outcomes.js';

/** A batch of a session: its number, and the session's id. */
export interface SessionBatch {
  readonly id: string;
  readonly number: number;
}

/** The part of a connection that a batch uses. */
export type BatchConnection = Pick<Connection, 'query' | 'run' | 'isLost' | 'destroy'>;

/**
 * Applies a batch in one transaction, which notes number and outcomes in the session's row. Rejects
 * when nothing of it was applied, and when the connection was lost.
 */
export type BatchCall = (
  connection: BatchConnection,
  batch: SessionBatch,
) => Promise<readonly Outcome[]>;

export interface CommitOptions {
  /** The least version. */
  readonly nowMicros: number;
  /**
   * The slots to lock, in order. `all`: every slot, so that no commit that saw an older guard is
   * still under way.
   */
  readonly slots: readonly number[] | 'all';
}

/** How a batch is applied. All forms use the same tables and give the same outcomes. */
export interface CommitForm {
  /** Whether writing connections send queries without waiting for earlier answers. */
  readonly pipelines: boolean;
  /** Applies independent commits: no two share a key, except for additions to it. */
  commits(batches: readonly GuardedBatch[], options: CommitOptions): BatchCall;
  ingestion(ingestion: Ingestion): BatchCall;
}
