import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import type { RowWrite } from '../../table/gateway.js';
import type { TableCounter } from './table-counters.js';
import type { OutboxMessage } from '../transactional-outbox/outbox.js';

/** A change of a row: by a write of the caller, or one that was derived from it. */
export interface RowChange {
  /** The place, among the caller's writes, of the one that leads to this change. */
  readonly item: number;
  readonly key: RowKey;
  /** Undefined when there was no row. */
  readonly before: StoredRow | undefined;
  /** Undefined when the row is deleted. Its ETag is not known yet. */
  readonly after: StoredRow | undefined;
}

/** A row that must be written together with a change. */
export interface DerivedWrite {
  readonly item: number;
  readonly write: RowWrite;
  /**
   * Called when this write met a conflict, before everything is planned anew. Throws when that
   * cannot help.
   */
  readonly onConflict?: () => Promise<void>;
}

/** A change of another row that follows from a change. */
export interface DerivedChange {
  readonly item: number;
  /** In the partition of the change. */
  readonly key: RowKey;
  /** The row afterwards; undefined leaves it as it is. Must be pure; runs several times. */
  readonly change: (current: StoredRow | undefined) => Row | undefined;
}

/** Reads a row of the partition; once in an attempt, however often it is asked for. */
export type ReadRow = (key: RowKey) => Promise<StoredRow | undefined>;

/** Keeps derived data in step with some rows of a table. */
export interface Derivation {
  /** What it counts into other rows of the table, if so. */
  readonly counter?: TableCounter | undefined;
  /** Whether the row with this key may be relevant for this derivation. */
  concerns(key: RowKey): boolean;
  /** Whether `announced` and the messages of plans leave out the steps of moves. */
  readonly ignoresMoves?: boolean;
  /** Whether the derivation gets the changes of a row. */
  isSource(row: Row): boolean;
  /**
   * The write of a caller with the properties that only this derivation changes. Throws
   * `ValueError` for a write that would change them. `current`: the stored row.
   */
  guarded?(write: RowWrite, current: StoredRow | undefined): RowWrite;
  /** Changes of other rows of the partition, or further ones of the changed rows. */
  changes?(
    changes: readonly RowChange[],
    read: ReadRow,
  ): readonly DerivedChange[] | Promise<readonly DerivedChange[]>;
  /** Plans one transaction; a retry uses the same plan again. */
  plan?(): DerivationPlan;
  /**
   * Messages about a transaction that only depend on its writes: those of the caller and the
   * derived changes, without the writes of plans.
   */
  announced?(writes: readonly RowWrite[]): Promise<readonly OutboxMessage[]>;
}

/**
 * The writes and messages that follow from the changes of a transaction. Called again after a
 * conflict.
 */
export interface DerivationPlan {
  /** May read. */
  writes?(changes: readonly RowChange[], read: ReadRow): Promise<readonly DerivedWrite[]>;
  /** Messages to store with the changes. */
  messages?(changes: readonly RowChange[]): Promise<readonly OutboxMessage[]>;
}
