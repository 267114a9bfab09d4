import { systemRandomness } from '../../../base/randomness.js';
import { holdingTimers } from '../../../base/async/timers.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { DefinitionError } from '../../table/errors.js';
import { Entities, entitiesOf, type EntitiesOptions } from '../../table/entities.js';
import type { TableGateway } from '../../table/gateway.js';
import { handle, type MessageHandler } from '../../worker/handler.js';
import { defineMessage, type MessageType } from '../../worker/message-type.js';
import type { Derivation } from '../derived-data/derivation.js';
import { DerivingTable } from '../derived-data/deriving-table.js';
import type { ListBlobs } from '../index-entities/list-blobs.js';
import { CurrentCopies } from './current-copies.js';
import { IndexBackfill, type BackfillPage } from './index-backfill.js';
import { IndexCheck, type CheckOptions, type CheckPage } from './index-check.js';
import type { AnyIndexes, DefinitionOf, RowPlace } from './index-declaration.js';
import { IndexDerivation } from './index-derivation.js';
import { indexIntentPayload, type IndexIntent } from './index-intent.js';
import type { IntentOutbox } from './index-outbox.js';
import { IndexPlaces } from './index-places.js';
import { IndexRepair } from './index-repair.js';
import { IndexUpdater } from './index-updater.js';
import { CopyLookUp, ListLookUp } from './look-ups.js';
import type { IndexedDefinition, ResolvedIndex } from './with-indexes.js';

type NamesAt<I, Place> = {
  [N in keyof I]: I[N] extends { readonly place: Place } ? N : never;
}[keyof I];

type Elsewhere = Exclude<RowPlace, 'same-partition'> | 'blob';

type Given<Name extends string, Names, Value> = [Names] extends [never]
  ? { readonly [N in Name]?: undefined }
  : { readonly [N in Name]: Value };

/**
 * The tables and blobs of the entities and their indexes. Those that no index needs are refused.
 */
export type IndexedPlaces<I> = {
  /** The table of the entities, and of the indexes in the same table. */
  readonly table: TableGateway;
} & Given<
  'tables',
  NamesAt<I, 'other-table'>,
  Readonly<Record<NamesAt<I, 'other-table'>, TableGateway>>
> &
  Given<'blobs', NamesAt<I, 'blob'>, Readonly<Record<NamesAt<I, 'blob'>, ListBlobs>>> &
  /** Stores the intents for indexes elsewhere. */
  Given<'outbox', NamesAt<I, Elsewhere>, IntentOutbox>;

/** The look-ups through each index, by index name. */
export type LookUps<D extends AnyDefinition, I extends AnyIndexes<D>> = {
  readonly [N in keyof I]: DefinitionOf<D, I[N]> extends infer X extends AnyDefinition
    ? I[N] extends { readonly kind: 'copy' }
      ? CopyLookUp<D, X>
      : ListLookUp<D, X>
    : never;
};

/**
 * The parts that keep the indexes of a definition: the derivation, for the table of the entities,
 * and the handler, for the worker.
 */
export class IndexUpkeep<D extends AnyDefinition, I extends AnyIndexes<D>> {
  readonly definition: D;
  readonly by: LookUps<D, I>;
  readonly message: MessageType<IndexIntent, IndexIntent>;
  readonly handler: MessageHandler;
  readonly derivation: Derivation;
  readonly places: IndexPlaces;
  readonly updater: IndexUpdater;
  readonly check: IndexCheck;
  readonly backfill: IndexBackfill;

  /** Throws `DefinitionError` for an index whose place is not given. Sends nothing. */
  constructor(
    indexed: IndexedDefinition<D, I>,
    places: IndexedPlaces<I>,
    { randomness = systemRandomness, timers = holdingTimers }: EntitiesOptions = {},
  ) {
    this.definition = indexed.entity;
    this.places = new IndexPlaces(indexed, places);
    this.message = defineMessage(`${this.definition.type}.indexes`, {
      payload: indexIntentPayload,
    });
    const outbox: IntentOutbox | undefined = places.outbox;
    checkOutbox(this.places, outbox);
    this.derivation = new IndexDerivation(this.places, { outbox, message: this.message });
    this.updater = new IndexUpdater(this.places, { randomness, timers });
    const repair = new IndexRepair(this.places, this.updater);
    this.check = new IndexCheck(this.places, repair);
    this.backfill = new IndexBackfill(this.places, {
      updater: this.updater,
      repair,
      check: this.check,
    });
    this.by = lookUps(this.places) as LookUps<D, I>;
    this.handler = handle(this.message, (intent, { signal }) => this.updater.apply(intent, signal));
  }
}

function checkOutbox(
  { elsewhere, table, entity: { type } }: IndexPlaces,
  outbox: IntentOutbox | undefined,
): void {
  if (elsewhere.length === 0) return;
  if (outbox === undefined) {
    throw new DefinitionError(`${type}: indexes elsewhere need an outbox`);
  }
  if (outbox.table.table === table.table) return;
  throw new DefinitionError(
    `${type}: the outbox is in '${outbox.table.table}'; intents belong into '${table.table}', ` +
      'beside the entities',
  );
}

/**
 * Entities with secondary indexes: the methods of `Entities`, whose table updates the indexes on
 * every write through it, and `by`, which has a look-up for each index.
 *
 * A write first reads the entity with one point read, because the index entries follow from its
 * current state; then each copy in the same partition that changes or is deleted, with one point
 * read, so that it never overwrites the copy of another entity, and each list there whose value
 * changes, with one point read, and one more for a long list. It sends one entity group
 * transaction: the entity, its index rows in the same partition, and an intent for other indexes. A
 * write that concerns no index is a single update. After a conflict about an index row it starts
 * again, at most 64 times, and then throws `ContentionError`. An insert does not read the entity,
 * an update not once more. A write whose value another entity has throws `IndexValueTakenError`.
 *
 * Indexes elsewhere follow when a worker has handled the intent; see `handler`.
 */
export class IndexedEntities<D extends AnyDefinition, I extends AnyIndexes<D>> extends Entities<D> {
  readonly by: LookUps<D, I>;
  /** The message type of the intents. */
  readonly message: MessageType<IndexIntent, IndexIntent>;
  /** For a worker's `handlers`: brings indexes elsewhere up to date. */
  readonly handler: MessageHandler;
  readonly #upkeep: IndexUpkeep<D, I>;

  /** `table` is one that keeps these indexes. */
  constructor(upkeep: IndexUpkeep<D, I>, table: TableGateway, options?: EntitiesOptions) {
    super(upkeep.definition, table, options);
    this.#upkeep = upkeep;
    this.message = upkeep.message;
    this.handler = upkeep.handler;
    this.by = upkeep.by;
  }

  /**
   * Handles an intent: brings indexes elsewhere in line with the current entity. Idempotent, in any
   * order. Two point reads of the entity; for each index concerned up to two point reads and two
   * writes, for lists a read and a transaction.
   */
  apply(intent: IndexIntent, signal?: AbortSignal): Promise<void> {
    return this.#upkeep.updater.apply(intent, signal);
  }

  /**
   * Compares indexes with the entities in both directions, page by page, without changing anything.
   * Keeps one page in memory. Sends a range read for each page of the table and of each index
   * elsewhere, and a point read for each index row and entity that is not in the page. Also reports
   * differences for which an intent is still waiting.
   */
  verify(
    options: CheckOptions & { readonly indexes?: readonly (keyof I & string)[] } = {},
  ): AsyncGenerator<CheckPage, void, undefined> {
    return this.#upkeep.check.pages(this.#chosen(options.indexes), false, options);
  }

  /**
   * As `verify`, and repairs differences: writes missing and stale entries, deletes dangling ones.
   * Safe beside writers. The pages list what cannot be repaired.
   */
  rebuild(
    options: CheckOptions & { readonly indexes?: readonly (keyof I & string)[] } = {},
  ): AsyncGenerator<CheckPage, void, undefined> {
    return this.#upkeep.check.pages(this.#chosen(options.indexes), true, options);
  }

  /**
   * Fills a new index of a table that is in use, then verifies and repairs it. Every writer must
   * know the index before it begins. Any page can be the last of a process: another resumes with
   * its cursor. The first phase sends a range read for each page; for an index in the same
   * partition a transaction for up to 48 entities; for one elsewhere an insert for each and up to
   * three range reads for each page; for lists a point read and a transaction or a write for each
   * value of a page.
   */
  backfill(
    index: keyof I & string,
    options: CheckOptions = {},
  ): AsyncGenerator<BackfillPage, void, undefined> {
    return this.#upkeep.backfill.pages(this.#upkeep.places.named(index), options);
  }

  #chosen(names: readonly string[] | undefined): readonly ResolvedIndex[] {
    const { places } = this.#upkeep;
    return names === undefined ? places.indexes : names.map((name) => places.named(name));
  }
}

function lookUps(places: IndexPlaces): object {
  const entries = places.indexes.map((index) => [
    index.name,
    index.kind === 'list'
      ? new ListLookUp(places, index)
      : new CopyLookUp(
          places,
          index,
          entitiesOf(index.definition, new CurrentCopies(places, index)),
        ),
  ]);
  return Object.fromEntries(entries) as object;
}

/**
 * The entities of a definition with its indexes. Their `table` keeps the indexes whatever is
 * written through it: `transaction`, `bulk`, `deleteWhere`, `upgradeRows`, relations and so on.
 * Writes through the gateway beneath do not update the indexes until `rebuild`. Sends nothing.
 * Throws `DefinitionError`.
 */
export function indexedEntitiesOf<D extends AnyDefinition, I extends AnyIndexes<D>>(
  indexed: IndexedDefinition<D, I>,
  places: IndexedPlaces<I>,
  options: EntitiesOptions = {},
): IndexedEntities<D, I> {
  const upkeep = new IndexUpkeep(indexed, places, options);
  const outbox: IntentOutbox | undefined = places.outbox;
  const table = new DerivingTable(places.table, [upkeep.derivation], { ...options, outbox });
  return new IndexedEntities(upkeep, table, options);
}
