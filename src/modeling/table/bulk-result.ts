import type { ModelError } from '../rows/model-error.js';
import type { RowWrite } from './gateway.js';

/** What became of one write. */
export interface BulkResult {
  /** Of the write among those given, from 0. */
  readonly index: number;
  readonly write: RowWrite;
  /**
   * `applied`; `unchanged`: the row was already as the write would leave it, from an earlier run or
   * a repeated request; or `failed`.
   */
  readonly outcome: 'applied' | 'unchanged' | 'failed';
  /** Of a failed write. */
  readonly error?: ModelError;
}

/** How bulk work ended. */
export interface BulkReport {
  readonly applied: number;
  readonly unchanged: number;
  readonly failed: number;
  /** The first of them, up to `failuresMax`. */
  readonly failures: readonly BulkResult[];
  /** Transactions, single writes and point reads that were sent. */
  readonly requests: number;
  /** All writes before this one are settled, those skipped included: `from` of the next run. */
  readonly position: number;
}
