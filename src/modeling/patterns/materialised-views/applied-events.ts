import type { AnyDefinition } from '../../definition/entity-definition.js';
import { escapeKeyText } from '../../definition/key-escape.js';
import { successorOfPrefix } from '../../definition/key-template.js';
import { codecOf } from '../../definition/codec.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import type { CreateOf, KeyOf, ReadOf } from '../../definition/shapes.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import type { Instant } from '../../rows/instant.js';
import type { RowProperties } from '../../rows/row.js';
import {
  isConflictBehind,
  retryConflicts,
  type ContentionOptions,
} from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { EntityExistsError, TransactionFailedError } from '../../table/errors.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { odataLiteral } from '../../table/odata.js';
import { transaction } from '../../table/transaction.js';
import {
  deleteWhere,
  type DeleteOptions,
  type DeleteProgress,
} from '../high-volume-delete/delete-where.js';

/** Records that an event is in the view, in the view's partition, so that both are one change. */
function markOf(partitionKey: string, event: string): RowWrite {
  const rowKey = `${marks.from}${escapeKeyText(event, '')}`;
  const properties: RowProperties = { EntityType: { type: 'String', value: rowType } };
  return { kind: 'insert', row: { partitionKey, rowKey, properties } };
}

/** The range of the RowKeys of these records. */
const { appliedEvent } = reservedRowKeys;
const marks = { from: appliedEvent, before: successorOfPrefix(appliedEvent) };
const rowType = 'AppliedEvent';

/**
 * Views in another partition or table than their sources, updated by events that may be delivered
 * repeatedly and in any order, such as those of the transactional outbox. Each event changes its
 * view once: the change and a record of the event are one entity group transaction.
 */
export class EventView<V extends AnyDefinition> {
  readonly #view: V;
  readonly #views: Entities<V>;
  readonly #table: TableGateway;
  readonly #options: ContentionOptions;

  /** The view and its event records share a partition. Sends nothing. */
  constructor(view: V, table: TableGateway, options: ContentionOptions = {}) {
    this.#view = view;
    this.#views = new Entities(view, table);
    this.#table = table;
    this.#options = options;
  }

  /** One point read. Undefined before the first event. */
  read(key: KeyOf<V>): Promise<Stored<ReadOf<V>> | undefined> {
    return this.#views.get(key);
  }

  /**
   * Applies an event to a view, unless it was applied before. `change` gets the current view,
   * undefined when there is none, and returns the next one; it may run several times. Sends a point
   * read and a transaction, and both again after each conflict.
   */
  async apply(
    event: string,
    viewKey: KeyOf<V>,
    change: (current: Stored<ReadOf<V>> | undefined) => CreateOf<V> & object,
  ): Promise<'applied' | 'applied-before'> {
    const { partitionKey } = codecOf(this.#view).key(viewKey);
    const attempt = async (): Promise<void> => {
      const current = await this.#views.get(viewKey);
      const next = change(current);
      const writes = transaction(this.#table).add(markOf(partitionKey, event));
      if (current === undefined) writes.insert(this.#view, next);
      else writes.replace(this.#view, { ...current, ...next }, { ifMatch: etagOf(current) });
      await writes.run();
    };
    try {
      await retryConflicts(this.#view.type, this.#options, attempt, isConflictBehind(1));
      return 'applied';
    } catch (error) {
      if (isKnownEvent(error)) return 'applied-before';
      throw error;
    }
  }

  /**
   * Deletes the records of events that were applied before a time. Such an event counts twice if it
   * is delivered again, so the time must be longer ago than messages live. Sends the requests of
   * `deleteWhere`.
   */
  forget(viewKey: KeyOf<V>, before: Instant, options?: DeleteOptions): Promise<DeleteProgress> {
    const { partitionKey } = codecOf(this.#view).key(viewKey);
    const time = odataLiteral({ type: 'DateTime', value: before.ticks });
    const scope = {
      partitionKey,
      rowKeys: marks,
      filter: `EntityType eq '${rowType}' and Timestamp lt ${time}`,
    };
    return deleteWhere(this.#table, scope, options);
  }
}

function isKnownEvent(error: unknown): boolean {
  return (
    error instanceof TransactionFailedError &&
    (error.index ?? 0) === 0 &&
    error.reason instanceof EntityExistsError
  );
}

/** A view that is kept by events. Sends nothing. */
export function eventViewOf<V extends AnyDefinition>(
  view: V,
  table: TableGateway,
  options?: ContentionOptions,
): EventView<V> {
  return new EventView(view, table, options);
}
