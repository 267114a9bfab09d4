import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, MergeOf, ReadOf } from '../../definition/shapes.js';
import { storedAs, type Stored } from '../../definition/stored-entity.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { absentEntityError, DefinitionError, ValueError } from '../../table/errors.js';
import { writeIfPresent } from '../../table/write-if-present.js';
import { unlessPresent } from '../../table/unless-present.js';
import { entitiesOf, type Entities, type UpdateOptions } from '../../table/entities.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import {
  targetKey,
  writesOf,
  type KeyOrEntity,
  type PutWrite,
  type RowWrites,
  type WriteCondition,
} from '../../table/row-writes.js';
import { handle, type MessageHandler } from '../../worker/handler.js';
import { defineMessage, type MessageType } from '../../worker/message-type.js';
import type { ListBlobs } from '../index-entities/list-blobs.js';
import { IndexBackfill, type BackfillPage } from './index-backfill.js';
import { IndexCheck, type CheckOptions, type CheckPage } from './index-check.js';
import type { AnyIndexes, DefinitionOf, RowPlace } from './index-declaration.js';
import { indexIntentPayload, type IndexIntent } from './index-intent.js';
import { IndexPlaces } from './index-places.js';
import { IndexRepair } from './index-repair.js';
import { IndexUpdater } from './index-updater.js';
import { IndexWriter, type Decide, type IntentOutbox } from './index-writer.js';
import { CopyLookUp, ListLookUp, type EntityReads } from './look-ups.js';
import type { IndexedDefinition, ResolvedIndex } from './with-indexes.js';
import { existsError, requireVersion } from './write-refusals.js';

type NamesAt<I, Place> = {
  [N in keyof I]: I[N] extends { readonly place: Place } ? N : never;
}[keyof I];

type Elsewhere = Exclude<RowPlace, 'same-partition'> | 'blob';

type Given<Name extends string, Names, Value> = [Names] extends [never]
  ? { readonly [N in Name]?: undefined }
  : { readonly [N in Name]: Value };

/** Where the entities and their indexes are. What no index needs cannot be given. */
export type IndexedPlaces<I> = {
  /** Of the entities, and of the indexes in the same table. */
  readonly table: TableGateway;
} & Given<
  'tables',
  NamesAt<I, 'other-table'>,
  Readonly<Record<NamesAt<I, 'other-table'>, TableGateway>>
> &
  Given<'blobs', NamesAt<I, 'blob'>, Readonly<Record<NamesAt<I, 'blob'>, ListBlobs>>> &
  /** Keeps what the worker has to do for the indexes elsewhere. */
  Given<'outbox', NamesAt<I, Elsewhere>, IntentOutbox>;

/** What indexes need besides the table: other tables, blobs and an outbox. */
export interface IndexedOptions {
  /** The machine's chance when absent: for write stamps and waits. */
  readonly randomness?: Randomness;
  /** The machine's timers when absent: for waits after conflicts. */
  readonly timers?: Timers;
}

/** The look-ups through each index, by its name. */
export type LookUps<D extends AnyDefinition, I extends AnyIndexes<D>> = {
  readonly [N in keyof I]: DefinitionOf<D, I[N]> extends infer X extends AnyDefinition
    ? I[N] extends { readonly kind: 'copy' }
      ? CopyLookUp<D, X>
      : ListLookUp<D, X>
    : never;
};

type Change<D extends AnyDefinition> = (
  current: Stored<ReadOf<D>>,
) => ReadOf<D> | undefined | Promise<ReadOf<D> | undefined>;

/**
 * Entities with secondary indexes. Reads are those of `Entities`; `by` has a look-up for each
 * index.
 *
 * A write reads the entity first, one point read, because what the indexes hold follows from what
 * is there; then one point read for each list in the same partition whose value changes, one more
 * where the list is long. It sends one entity group transaction: the entity, its rows in the
 * indexes of its partition, and an intent for the others. A write that concerns no index is a
 * single update. When a row has changed in between, it starts over, at most 64 times, and throws
 * `ContentionError` then. An insert does not read the entity.
 *
 * Indexes elsewhere follow when a worker has handled the intent, see `handler`.
 */
export class IndexedEntities<D extends AnyDefinition, I extends AnyIndexes<D>> {
  readonly definition: D;
  readonly by: LookUps<D, I>;
  readonly get: EntityReads<D>['get'];
  readonly getMany: EntityReads<D>['getMany'];
  readonly query: EntityReads<D>['query'];
  readonly queryPartitions: EntityReads<D>['queryPartitions'];
  readonly scanTable: EntityReads<D>['scanTable'];
  /** What the intents of these entities are sent as. */
  readonly message: MessageType<IndexIntent, IndexIntent>;
  /** For a worker's `handlers`: brings the indexes elsewhere up to date. */
  readonly handler: MessageHandler;
  readonly #entities: Entities<D>;
  readonly #places: IndexPlaces;
  readonly #randomness: Randomness;
  readonly #writer: IndexWriter;
  readonly #updater: IndexUpdater;
  readonly #check: IndexCheck;
  readonly #backfill: IndexBackfill;

  constructor(
    indexed: IndexedDefinition<D, I>,
    places: IndexedPlaces<I>,
    { randomness = systemRandomness, timers = holdingTimers }: IndexedOptions = {},
  ) {
    const tools = { randomness, timers };
    const entities = entitiesOf(indexed.entity, places.table, tools);
    this.definition = indexed.entity;
    this.#entities = entities;
    this.#randomness = randomness;
    this.#places = new IndexPlaces(indexed, places);
    this.message = defineMessage(`${this.definition.type}.indexes`, {
      payload: indexIntentPayload,
    });
    const outbox: IntentOutbox | undefined = places.outbox;
    this.#checkOutbox(outbox);
    this.#writer = new IndexWriter(this.#places, { ...tools, outbox, message: this.message });
    this.#updater = new IndexUpdater(this.#places, tools);
    const repair = new IndexRepair(this.#places, this.#updater);
    this.#check = new IndexCheck(this.#places, repair);
    const parts = { updater: this.#updater, repair, check: this.#check };
    this.#backfill = new IndexBackfill(this.#places, parts);
    this.get = entities.get.bind(entities);
    this.getMany = entities.getMany.bind(entities);
    this.query = entities.query.bind(entities);
    this.queryPartitions = entities.queryPartitions.bind(entities);
    this.scanTable = entities.scanTable.bind(entities);
    this.by = lookUps(this.#places) as LookUps<D, I>;
    this.handler = handle(this.message, (intent, { signal }) => this.apply(intent, signal));
  }

  /**
   * One transaction. Gives the entity as it was stored. Throws `EntityExistsError` when there is
   * one with these keys, `IndexValueTakenError` when another entity has a value that must be
   * unique.
   */
  async insert(entity: CreateOf<D>): Promise<Stored<ReadOf<D>>> {
    const { row: target } = this.#writes().insert(entity);
    return this.#changed(target, true, (row, stamp) => {
      if (row !== undefined) throw existsError(this.definition.type, row);
      return this.#writes(stamp).insert(entity);
    });
  }

  /** As `insert`, but undefined when there is an entity with these keys, which stays as it is. */
  insertIfAbsent(entity: CreateOf<D>): Promise<Stored<ReadOf<D>> | undefined> {
    return unlessPresent(() => this.insert(entity));
  }

  /**
   * A point read and a transaction. The entity carries the ETag that it was read with; one that was
   * not read needs `ifMatch`. Throws `ConditionFailedError` when somebody else has changed it,
   * `EntityNotFoundError` when it is gone.
   */
  async replace(entity: ReadOf<D>, condition?: WriteCondition): Promise<Stored<ReadOf<D>>> {
    const given = this.#writes().replace(entity, condition);
    return this.#changed(given.row, false, (row, stamp) => {
      const { etag } = this.#required(given, row);
      return this.#writes(stamp).replace(entity, { ifMatch: etag });
    });
  }

  /** A point read and a transaction: changes the properties given. Conditions as for `replace`. */
  async merge(
    target: KeyOrEntity<D>,
    changes: MergeOf<D>,
    condition?: WriteCondition,
  ): Promise<Stored<ReadOf<D>>> {
    const given = this.#writes().merge(target, changes, condition);
    return this.#changed(given.row, false, (row, stamp) => {
      const found = this.#required(given, row);
      const current = this.#entities.codec.fromRow(found);
      return this.#writes(stamp).merge(current, changes, { ifMatch: found.etag });
    });
  }

  /** A point read and a transaction: stores the entity, whatever is there. */
  async upsertReplace(entity: CreateOf<D> | ReadOf<D>): Promise<Stored<ReadOf<D>>> {
    const { row: target } = this.#writes().upsertReplace(entity);
    return this.#changed(target, false, (found, stamp) => {
      const { row } = this.#writes(stamp).upsertReplace(entity);
      if (found === undefined) return { kind: 'insert', row };
      return { kind: 'replace', row, etag: found.etag };
    });
  }

  /**
   * A point read and a transaction: creates the entity, or merges what is given into the one that
   * is there.
   */
  async upsertMerge(entity: CreateOf<D>): Promise<Stored<ReadOf<D>>> {
    const { row: target } = this.#writes().upsertMerge(entity);
    return this.#changed(target, false, (found, stamp) => {
      const { row } = this.#writes(stamp).upsertMerge(entity);
      if (found === undefined) return { kind: 'insert', row };
      return { kind: 'merge', row, etag: found.etag };
    });
  }

  /**
   * A point read and a transaction. Needs the ETag that the entity was read with, or `ifMatch`.
   * Throws as `replace`.
   */
  async delete(target: KeyOrEntity<D>, condition?: WriteCondition): Promise<void> {
    const given = this.#writes().delete(target, condition);
    const key = targetKey(this.definition, target);
    await this.#writer.change(key, {}, (row) => {
      const { etag } = this.#required(given, row);
      return { kind: 'delete', key, etag };
    });
  }

  /**
   * As `delete`, of whatever is there unless `ifMatch` says otherwise. False when there was
   * nothing.
   */
  async deleteIfExists(target: KeyOrEntity<D>, condition?: WriteCondition): Promise<boolean> {
    const { ifMatch = 'any' } = condition ?? {};
    return writeIfPresent(() => this.delete(target, { ifMatch }));
  }

  /**
   * Reads the entity, lets `change` make the new one and writes it under its ETag; when somebody
   * else was faster, all of it again. When `change` returns undefined, nothing is written. Each
   * attempt is a point read and a transaction. As `update` of `Entities` otherwise.
   */
  async update(
    key: KeyOf<D>,
    change: Change<D>,
    { attemptsMax, ifAbsent }: UpdateOptions<D> = {},
  ): Promise<Stored<ReadOf<D>>> {
    const { codec } = this.#entities;
    const rowKey = codec.key(key);
    const options = attemptsMax === undefined ? {} : { attemptsMax };
    const { row } = await this.#writer.change(rowKey, options, async (found, stamp) => {
      if (found === undefined) {
        if (ifAbsent === undefined) throw absentEntityError(this.definition.type, rowKey);
        return this.#unmoved(this.#writes(stamp).insert(await ifAbsent()), rowKey);
      }
      const current = codec.fromRow(found);
      const next = await change(current);
      if (next === undefined) return undefined;
      return this.#writes(stamp).replace({ ...next, [storedAs]: current[storedAs] });
    });
    return this.#read(row, rowKey);
  }

  /**
   * What the worker does with an intent: brings the indexes elsewhere in line with the entity as it
   * is now. Idempotent, and right in any order. Two point reads of the entity; for each index
   * concerned up to two point reads and two writes, for lists a read and a transaction.
   */
  apply(intent: IndexIntent, signal?: AbortSignal): Promise<void> {
    return this.#updater.apply(intent, signal);
  }

  /**
   * Compares indexes with the entities in both directions, page by page, and changes nothing.
   * Memory is that of a page. Requests: a range read for each page of the table and of each index
   * elsewhere, and a point read for each row of an index and each entity that is not in the page.
   * What an intent is still under way for is reported, too.
   */
  verify(
    options: CheckOptions & { readonly indexes?: readonly (keyof I & string)[] } = {},
  ): AsyncGenerator<CheckPage, void, undefined> {
    return this.#check.pages(this.#chosen(options.indexes), false, options);
  }

  /**
   * As `verify`, and mends what differs: writes what is missing or stale, deletes what dangles.
   * Safe while others write. The pages tell what cannot be mended.
   */
  rebuild(
    options: CheckOptions & { readonly indexes?: readonly (keyof I & string)[] } = {},
  ): AsyncGenerator<CheckPage, void, undefined> {
    return this.#check.pages(this.#chosen(options.indexes), true, options);
  }

  /**
   * Fills a new index of a table that is in use, then verifies and mends it. Begin when every
   * writer knows the index. Each page can be the last of a process: the next goes on with its
   * cursor. Requests of the first phase: a range read for each page; for an index in the same
   * partition a transaction for up to 48 entities; for one elsewhere an insert for each and up to
   * three range reads for each page; for lists a point read and a transaction or a write for each
   * value of a page.
   */
  backfill(
    index: keyof I & string,
    options: CheckOptions = {},
  ): AsyncGenerator<BackfillPage, void, undefined> {
    return this.#backfill.pages(this.#places.named(index), options);
  }

  #checkOutbox(outbox: IntentOutbox | undefined): void {
    const { elsewhere, table } = this.#places;
    if (elsewhere.length === 0) return;
    const { type } = this.definition;
    if (outbox === undefined) {
      throw new DefinitionError(`${type}: indexes elsewhere need an outbox`);
    }
    if (outbox.table.table === table.table) return;
    throw new DefinitionError(
      `${type}: the outbox is in '${outbox.table.table}'; intents belong into '${table.table}', ` +
        'beside the entities',
    );
  }

  #chosen(names: readonly string[] | undefined): readonly ResolvedIndex[] {
    return names === undefined
      ? this.#places.indexes
      : names.map((name) => this.#places.named(name));
  }

  async #changed(key: RowKey, isNew: boolean, decide: Decide): Promise<Stored<ReadOf<D>>> {
    const { partitionKey, rowKey } = key;
    const target = { partitionKey, rowKey };
    const { row } = await this.#writer.change(target, { isNew }, decide);
    return this.#read(row, target);
  }

  #read(row: StoredRow | undefined, key: RowKey): Stored<ReadOf<D>> {
    if (row === undefined) throw absentEntityError(this.definition.type, key);
    return this.#entities.codec.fromRow(row);
  }

  /** The row that a write needs, in the version that it asks for. */
  #required(write: RowWrite, row: StoredRow | undefined): StoredRow {
    const { type } = this.definition;
    const key = write.kind === 'delete' ? write.key : write.row;
    if (row === undefined) throw absentEntityError(type, key);
    requireVersion(type, row, 'etag' in write ? write.etag : '*');
    return row;
  }

  #unmoved(write: PutWrite, { partitionKey, rowKey }: RowKey): PutWrite {
    const { row } = write;
    if (row.partitionKey === partitionKey && row.rowKey === rowKey) return write;
    throw new ValueError(`${this.definition.type}: ifAbsent made an entity with other keys`);
  }

  #writes(stamp?: string): RowWrites<D> {
    const randomness = this.#randomness;
    return writesOf(this.definition, stamp === undefined ? { randomness } : { randomness, stamp });
  }
}

function lookUps(places: IndexPlaces): object {
  const entries = places.indexes.map((index) => [
    index.name,
    index.kind === 'list'
      ? new ListLookUp(places, index)
      : new CopyLookUp(places, index, entitiesOf(index.definition, places.tableOf(index))),
  ]);
  return Object.fromEntries(entries) as object;
}

/** The entities of a definition with its indexes. Sends nothing. Throws `DefinitionError`. */
export function indexedEntitiesOf<D extends AnyDefinition, I extends AnyIndexes<D>>(
  indexed: IndexedDefinition<D, I>,
  places: IndexedPlaces<I>,
  options?: IndexedOptions,
): IndexedEntities<D, I> {
  return new IndexedEntities(indexed, places, options);
}
