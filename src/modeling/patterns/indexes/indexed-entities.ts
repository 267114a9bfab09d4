import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { CreateOf, KeyOf, MergeOf, ReadOf } from '../../definition/shapes.js';
import { storedAs, type Stored } from '../../definition/stored-entity.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { absentEntityError, DefinitionError, ValueError } from '../../table/errors.js';
import { writeIfPresent } from '../../table/write-if-present.js';
import { unlessPresent } from '../../table/unless-present.js';
import {
  entitiesOf,
  type Change,
  type Entities,
  type UpdateOptions,
} from '../../table/entities.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';
import {
  targetKey,
  writesOf,
  type KeyOrEntity,
  type PutWrite,
  type ReadTarget,
  type RowWrites,
  type WriteCondition,
} from '../../table/row-writes.js';
import { upgradeEach, type UpgradeOptions, type UpgradeReport } from '../../table/upgrade-rows.js';
import { updateLinesOf } from '../../table/update-lines.js';
import { handle, type MessageHandler } from '../../worker/handler.js';
import { defineMessage, type MessageType } from '../../worker/message-type.js';
import type { ListBlobs } from '../index-entities/list-blobs.js';
import { CurrentCopies } from './current-copies.js';
import { IndexBackfill, type BackfillPage } from './index-backfill.js';
import { IndexCheck, type CheckOptions, type CheckPage } from './index-check.js';
import type { AnyIndexes, DefinitionOf, RowPlace } from './index-declaration.js';
import { indexIntentPayload, type IndexIntent } from './index-intent.js';
import { IndexPlaces } from './index-places.js';
import { IndexRepair } from './index-repair.js';
import { IndexUpdater } from './index-updater.js';
import type { IntentOutbox } from './index-outbox.js';
import { IndexWriter, type Decide } from './index-writer.js';
import { IndexedTable } from './indexed-table.js';
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

/** Sources of randomness and time. */
export interface IndexedOptions {
  /** For write stamps and waits; the system's when absent. */
  readonly randomness?: Randomness;
  /** For waits after conflicts; the system's when absent. */
  readonly timers?: Timers;
}

/** The look-ups through each index, by index name. */
export type LookUps<D extends AnyDefinition, I extends AnyIndexes<D>> = {
  readonly [N in keyof I]: DefinitionOf<D, I[N]> extends infer X extends AnyDefinition
    ? I[N] extends { readonly kind: 'copy' }
      ? CopyLookUp<D, X>
      : ListLookUp<D, X>
    : never;
};

/**
 * Entities with secondary indexes. Reads are those of `Entities`; `by` has a look-up for each
 * index.
 *
 * A write first reads the entity with one point read, because the index entries follow from its
 * current state; then each copy in the same partition that changes or goes, with one point read,
 * so that it writes over no other entity's, and each list there whose value changes, with one
 * point read, and one more for a long list. It sends one entity group transaction: the entity, its
 * index rows in the same partition, and an intent for other indexes. A write that concerns no
 * index is a single update. After a conflict it starts again, at most 64 times, and then throws
 * `ContentionError`. An insert does not read the entity.
 *
 * Indexes elsewhere follow when a worker has handled the intent; see `handler`.
 */
export class IndexedEntities<D extends AnyDefinition, I extends AnyIndexes<D>> {
  readonly definition: D;
  /**
   * The table of the entities, whose indexes follow whatever is written through it: `transaction`,
   * `bulk`, `deleteWhere`, `upgradeRows`, relations and so on. Writes that go past it, through the
   * gateway beneath, leave the indexes as they are until `rebuild`.
   */
  readonly table: TableGateway;
  readonly by: LookUps<D, I>;
  readonly get: EntityReads<D>['get'];
  readonly getMany: EntityReads<D>['getMany'];
  readonly query: EntityReads<D>['query'];
  readonly queryPartitions: EntityReads<D>['queryPartitions'];
  readonly scanTable: EntityReads<D>['scanTable'];
  /** The message type of the intents. */
  readonly message: MessageType<IndexIntent, IndexIntent>;
  /** For a worker's `handlers`: brings indexes elsewhere up to date. */
  readonly handler: MessageHandler;
  readonly #entities: Entities<D>;
  readonly #places: IndexPlaces;
  readonly #randomness: Randomness;
  readonly #timers: Timers;
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
    this.#timers = timers;
    this.#places = new IndexPlaces(indexed, places);
    this.message = defineMessage(`${this.definition.type}.indexes`, {
      payload: indexIntentPayload,
    });
    const outbox: IntentOutbox | undefined = places.outbox;
    this.#checkOutbox(outbox);
    const writing = { ...tools, outbox, message: this.message };
    this.table = new IndexedTable(this.#places, writing);
    this.#writer = new IndexWriter(this.#places, writing);
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
   * One transaction. Returns the entity as stored. Throws `EntityExistsError` when its keys are
   * taken, and `IndexValueTakenError` when another entity has a value that must be unique.
   */
  async insert(entity: CreateOf<D>): Promise<Stored<ReadOf<D>>> {
    const { row: target } = this.#writes().insert(entity);
    return this.#changed(target, true, (row, stamp) => {
      if (row !== undefined) throw existsError(this.definition.type, row);
      return this.#writes(stamp).insert(entity);
    });
  }

  /** As `insert`, but undefined when the keys are taken. The entity there stays unchanged. */
  insertIfAbsent(entity: CreateOf<D>): Promise<Stored<ReadOf<D>> | undefined> {
    return unlessPresent(() => this.insert(entity));
  }

  /**
   * A point read and a transaction. Needs the ETag that the entity was read with, or `ifMatch`.
   * Throws `ConditionFailedError` when the stored entity has another ETag, `EntityNotFoundError`
   * when it is gone.
   */
  async replace(entity: ReadOf<D>, condition?: WriteCondition): Promise<Stored<ReadOf<D>>> {
    const given = this.#writes().replace(entity, condition);
    return this.#changed(given.row, false, (row, stamp) => {
      const { etag } = this.#required(given, row);
      return this.#writes(stamp).replace(entity, { ifMatch: etag });
    });
  }

  /**
   * A point read and a transaction that changes the given properties. Conditions as for `replace`.
   */
  merge(
    target: ReadTarget<D>,
    changes: MergeOf<D>,
    condition?: WriteCondition,
  ): Promise<Stored<ReadOf<D>>>;
  /** The same for the values of the keys, which carry no ETag. */
  merge(
    target: KeyOrEntity<D>,
    changes: MergeOf<D>,
    condition: Required<WriteCondition>,
  ): Promise<Stored<ReadOf<D>>>;
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

  /** A point read and a transaction that stores the entity unconditionally. */
  async upsertReplace(entity: CreateOf<D> | ReadOf<D>): Promise<Stored<ReadOf<D>>> {
    const { row: target } = this.#writes().upsertReplace(entity);
    return this.#changed(target, false, (found, stamp) => {
      const { row } = this.#writes(stamp).upsertReplace(entity);
      if (found === undefined) return { kind: 'insert', row };
      return { kind: 'replace', row, etag: found.etag };
    });
  }

  /**
   * A point read and a transaction that creates the entity, or merges the given properties into the
   * stored one.
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
  delete(target: ReadTarget<D>, condition?: WriteCondition): Promise<void>;
  /** The same for the values of the keys, which carry no ETag. */
  delete(target: KeyOrEntity<D>, condition: Required<WriteCondition>): Promise<void>;
  async delete(target: KeyOrEntity<D>, condition?: WriteCondition): Promise<void> {
    const given = this.#writes().delete(target, condition);
    const key = targetKey(this.definition, target);
    await this.#writer.change(key, {}, (row) => {
      const { etag } = this.#required(given, row);
      return { kind: 'delete', key, etag };
    });
  }

  /** As `delete`, but unconditional unless `ifMatch` is given. False when there was nothing. */
  async deleteIfExists(target: KeyOrEntity<D>, condition?: WriteCondition): Promise<boolean> {
    const { ifMatch = 'any' } = condition ?? {};
    return writeIfPresent(() => this.delete(target, { ifMatch }));
  }

  /**
   * Reads the entity, calls `change` and writes the result under its ETag; starts again after a
   * conflict. When `change` returns undefined, nothing is written. Each attempt is a point read and
   * a transaction. Updates of one row through one gateway wait for each other, in the order of
   * their calls; each reads. Otherwise as `update` of `Entities`.
   */
  async update<R extends ReadOf<D>>(
    key: KeyOf<D>,
    change: Change<D, R>,
    { attemptsMax, ifAbsent }: UpdateOptions<D> = {},
  ): Promise<Stored<ReadOf<D>>> {
    const { codec } = this.#entities;
    const rowKey = codec.key(key);
    const options = attemptsMax === undefined ? {} : { attemptsMax };
    const decide: Decide = async (found, stamp) => {
      if (found === undefined) {
        if (ifAbsent === undefined) throw absentEntityError(this.definition.type, rowKey);
        return this.#unmoved(this.#writes(stamp).insert(await ifAbsent()), rowKey);
      }
      const current = codec.fromRow(found);
      const next = await change(current);
      if (next === undefined) return undefined;
      return this.#writes(stamp).replace({ ...next, [storedAs]: current[storedAs] });
    };
    const lines = updateLinesOf(this.#places.table);
    return lines.run(rowKey, this.#timers, async () => {
      const { row } = await this.#writer.change(rowKey, options, decide);
      return { result: this.#read(row, rowKey), written: undefined };
    });
  }

  /**
   * Handles an intent: brings indexes elsewhere in line with the current entity. Idempotent, in any
   * order. Two point reads of the entity; for each index concerned up to two point reads and two
   * writes, for lists a read and a transaction.
   */
  apply(intent: IndexIntent, signal?: AbortSignal): Promise<void> {
    return this.#updater.apply(intent, signal);
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
    return this.#check.pages(this.#chosen(options.indexes), false, options);
  }

  /**
   * As `verify`, and repairs differences: writes missing and stale entries, deletes dangling ones.
   * Safe beside writers. The pages list what cannot be repaired.
   */
  rebuild(
    options: CheckOptions & { readonly indexes?: readonly (keyof I & string)[] } = {},
  ): AsyncGenerator<CheckPage, void, undefined> {
    return this.#check.pages(this.#chosen(options.indexes), true, options);
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
    return this.#backfill.pages(this.#places.named(index), options);
  }

  /**
   * As the function `upgradeRows`, with the copies of each entity: a point read, one for each copy
   * in the entity's partition, and a transaction for each outdated row. Copies elsewhere follow
   * when a worker has handled the intents.
   */
  upgradeRows(options: UpgradeOptions<D> = {}): Promise<UpgradeReport> {
    return upgradeEach(this.#entities, (key, change) => this.update(key, change), options);
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

  /** The row that a write needs, checked against its condition. */
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
      : new CopyLookUp(
          places,
          index,
          entitiesOf(index.definition, new CurrentCopies(places, index)),
        ),
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
