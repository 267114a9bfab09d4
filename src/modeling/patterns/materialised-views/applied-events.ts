import type { AnyDefinition } from '../../definition/entity-definition.js';
import { escapeKeyText } from '../../definition/key-escape.js';
import { codecOf } from '../../definition/codec.js';
import type { CreateOf, KeyOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import type { Instant } from '../../rows/instant.js';
import type { ContentionOptions } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { EntityExistsError, TransactionFailedError } from '../../table/errors.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import { transaction, type TransactionChange } from '../../table/transaction.js';
import {
  deleteWhere,
  type DeleteOptions,
  type DeleteProgress,
} from '../high-volume-delete/delete-where.js';
import { markProperties, marks, marksBefore } from './mark-upkeep.js';

/** Records that an event is in the view, in the view's partition, so that both are one change. */
function markOf(partitionKey: string, event: string, outbox: string | undefined): RowWrite {
  const rowKey = `${marks.from}${escapeKeyText(event, '')}`;
  return { kind: 'insert', row: { partitionKey, rowKey, properties: markProperties(outbox) } };
}

/** The origin of an event. */
export interface EventOrigin {
  /**
   * The partition whose outbox has its message, where `MarkUpkeep` finds out whether the message is
   * gone.
   */
  readonly outbox?: string | undefined;
}

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
    origin: EventOrigin = {},
  ): Promise<'applied' | 'applied-before'> {
    try {
      const applied = this.applying(event, viewKey, change, origin);
      await transaction(this.#table, this.#options).join(applied).run();
      return 'applied';
    } catch (error) {
      if (isKnownEvent(error)) return 'applied-before';
      throw error;
    }
  }

  /**
   * The application of an event, to join a transaction: when it was applied before, the transaction
   * fails with an `EntityExistsError`, and nothing of it is applied.
   */
  applying(
    event: string,
    viewKey: KeyOf<V>,
    change: (current: Stored<ReadOf<V>> | undefined) => CreateOf<V> & object,
    { outbox }: EventOrigin = {},
  ): TransactionChange {
    const { partitionKey } = codecOf(this.#view).key(viewKey);
    // The compiler cannot see that the spread has exactly the properties of the view.
    const next = (current: Stored<ReadOf<V>>) => ({ ...current, ...change(current) }) as never;
    return {
      addTo: (writes) =>
        writes
          .add(markOf(partitionKey, event, outbox))
          .update(this.#view, viewKey, next, { ifAbsent: () => change(undefined) }),
    };
  }

  /**
   * Deletes the records of events that were applied before a time. Such an event counts twice if it
   * is delivered again, so the time must be longer ago than messages live. Sends the requests of
   * `deleteWhere`.
   */
  forget(viewKey: KeyOf<V>, before: Instant, options?: DeleteOptions): Promise<DeleteProgress> {
    const { partitionKey } = codecOf(this.#view).key(viewKey);
    const scope = { partitionKey, rowKeys: marks, filter: String(marksBefore(before.ticks)) };
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
