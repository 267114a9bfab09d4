import type { ModelError } from '../rows/model-error.js';
import type { RowWrite } from './gateway.js';

/** The outcome of one write. */
export interface BulkResult {
  /** The index of the write among those given, from 0. */
  readonly index: number;
  readonly write: RowWrite;
  /**
   * `applied`; `unchanged`: the row already had the written content, from an earlier run or a
   * repeated request; or `failed`.
   */
  readonly outcome: 'applied' | 'unchanged' | 'failed';
  /** Set for a failed write. */
  readonly error?: ModelError;
}

/** The result of bulk work. */
export interface BulkReport {
  readonly applied: number;
  readonly unchanged: number;
  readonly failed: number;
  /** The first failures, up to `failuresMax`. */
  readonly failures: readonly BulkResult[];
  /** Requests that were sent: transactions, single writes and reads. */
  readonly requests: number;
  /** All writes before this index are settled or were skipped: `from` of the next run. */
  readonly position: number;
}
