import { requireCounts } from '../definition/count.js';
import { invariant } from '../../base/invariant.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import { codecOf, type EntityCodec } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, KeyNames, KeyOf, MergeOf, ReadOf } from '../definition/shapes.js';
import { isOutdated } from '../definition/row-version.js';
import { storedAs, type Stored } from '../definition/stored-entity.js';
import { ValueError, type RequestSummary } from '../rows/model-error.js';
import { nameOfKey } from '../rows/row-parts.js';
import type { RowKey, StoredRow } from '../rows/row.js';
import { backOff } from '../../base/async/back-off.js';
import { backOffs } from './back-offs.js';
import { sleep } from '../../base/async/sleep.js';
import {
  ConditionFailedError,
  ContentionError,
  EntityExistsError,
  EntityNotFoundError,
  isAmbiguous,
} from './errors.js';
import { absentEntityError } from './refusals.js';
import { satisfies } from './filter-match.js';
import type { AnyChange, ScopedChange, UpdateOptions } from './change.js';
import { updateAttemptsMax } from './contention.js';
import type { TableGateway, WriteResult } from './gateway.js';
import { Gate } from '../../base/async/gate.js';
import { MergedQuery, type MergedOptions } from './merged-query.js';
import { RowsQuery, type Decode, type Query } from './query.js';
import {
  conditionOf,
  planPartitions,
  planScan,
  type PartitionQuery,
  type PartitionsQuery,
  type RowConditions,
  type TableScan,
} from './query-plan.js';
import {
  writesOf,
  type KeyOrEntity,
  type PutWrite,
  type ReadTarget,
  type RowWrites,
  type WriteCondition,
} from './row-writes.js';
import { hasStamp, newStamp } from './write-stamp.js';
import { reporting } from './unreadable-row.js';
import type { UpdateScope } from './update-scope.js';
import { rowUpdateQueuesOf, type UpdateOutcome } from './row-update-queues.js';
import { writeIfPresent, unlessPresent } from './conditional-write.js';

/** Sources of randomness and time. */
export interface EntitiesOptions {
  /** For write stamps and the waits of `update`; the system's when absent. */
  readonly randomness?: Randomness;
  /** For the waits of `update`; the system's when absent. */
  readonly timers?: Timers;
}

/** The selected properties of an entity, and those of its keys. */
export type Picked<D extends AnyDefinition, N extends keyof ReadOf<D>> = {
  readonly [M in N | Extract<KeyNames<D>, keyof ReadOf<D>>]: ReadOf<D>[M];
} & {};

/** The properties to read. */
export interface Selection<N> {
  readonly select: readonly N[];
}

const concurrencyDefault = 16;

/**
 * The entities of one definition in one table. Each method says what it sends. Methods throw
 * `ValueError` before anything is sent, `RequestError` and its subclasses when the service refuses,
 * and `DecodeError` for stored rows that the definition cannot read.
 *
 * Where the definition has write stamps, an insert, replace or merge whose response was lost is
 * recognised: one point read shows whether it was applied. It is made after a 404, 409 or 412, and
 * after a failure that leaves this open.
 */
export class Entities<D extends AnyDefinition> {
  readonly definition: D;
  readonly table: TableGateway;
  readonly codec: EntityCodec<D>;
  readonly #randomness: Randomness;
  readonly #timers: Timers;

  constructor(definition: D, table: TableGateway, options: EntitiesOptions = {}) {
    this.definition = definition;
    this.table = table;
    this.codec = codecOf(definition);
    this.#randomness = options.randomness ?? systemRandomness;
    this.#timers = options.timers ?? holdingTimers;
  }

  /** The same entities through another gateway of their table. Sends nothing. */
  through(table: TableGateway): Entities<D> {
    return new Entities(this.definition, table, {
      randomness: this.#randomness,
      timers: this.#timers,
    });
  }

  /** One point read. Undefined when the entity is absent. */
  get(key: KeyOf<D>): Promise<Stored<ReadOf<D>> | undefined>;
  /** One point read of some properties. The result cannot be written back. */
  get<const N extends keyof ReadOf<D>>(
    key: KeyOf<D>,
    options: { readonly select: readonly N[] },
  ): Promise<Stored<Picked<D, N>> | undefined>;
  async get(
    key: KeyOf<D>,
    options?: { readonly select: readonly string[] },
  ): Promise<object | undefined> {
    const rowKey = this.codec.key(key);
    if (options === undefined) {
      const row = await this.table.get(rowKey);
      return row === undefined ? undefined : this.codec.fromRow(row);
    }
    const row = await this.table.get(rowKey, this.codec.selectOf(options.select));
    return row === undefined ? undefined : this.codec.fromPartialRow(row, options.select);
  }

  /**
   * One point read per key, at most `concurrency` (16 when absent) at a time. Results are in the
   * order of the keys, undefined for absent entities.
   */
  async getMany(
    keys: readonly KeyOf<D>[],
    { concurrency = concurrencyDefault }: { readonly concurrency?: number } = {},
  ): Promise<(Stored<ReadOf<D>> | undefined)[]> {
    requireCounts({ concurrency });
    const gate = new Gate(concurrency);
    return Promise.all(keys.map((key) => gate.run(() => this.get(key))));
  }

  /** Entities of one partition, in RowKey order. Nothing is sent before the query is run. */
  query(query: PartitionQuery<D>): Query<Stored<ReadOf<D>>>;
  /** The same with only some properties. */
  query<const N extends keyof ReadOf<D>>(
    query: PartitionQuery<D> & Selection<N>,
  ): Query<Stored<Picked<D, N>>>;
  query({ partition, ...query }: PartitionQuery<D> & Partial<Selection<string>>): Query<object> {
    const { select, decode } = this.#selection(query);
    const plan = planPartitions(this.definition, { ...query, partitions: [partition] }, select);
    return new RowsQuery(this.table, plan, decode);
  }

  /**
   * Entities of several partitions, read in parallel and merged. Nothing is sent before the query
   * is run.
   */
  queryPartitions(query: PartitionsQuery<D> & Partial<MergedOptions>): Query<Stored<ReadOf<D>>>;
  queryPartitions<const N extends keyof ReadOf<D>>(
    query: PartitionsQuery<D> & Partial<MergedOptions> & Selection<N>,
  ): Query<Stored<Picked<D, N>>>;
  queryPartitions(
    query: PartitionsQuery<D> & Partial<MergedOptions> & Partial<Selection<string>>,
  ): Query<object> {
    const { select, decode } = this.#selection(query);
    const plan = planPartitions(this.definition, query, select);
    const { order = 'key', concurrency = concurrencyDefault } = query;
    return new MergedQuery(this.table, plan, decode, { order, concurrency });
  }

  /**
   * Entities of all partitions, in key order: the service reads every row of the table, or of the
   * PartitionKeys with the prefix. Nothing is sent before the query is run.
   */
  scanTable(query?: TableScan<D>): Query<Stored<ReadOf<D>>>;
  scanTable<const N extends keyof ReadOf<D>>(
    query: TableScan<D> & Selection<N>,
  ): Query<Stored<Picked<D, N>>>;
  scanTable(query: TableScan<D> & Partial<Selection<string>> = {}): Query<object> {
    const { select, decode } = this.#selection(query);
    return new RowsQuery(this.table, planScan(this.definition, query, select), decode);
  }

  /**
   * One insert. Returns the entity as stored, without a timestamp. Throws `EntityExistsError` when
   * its keys are taken; with write stamps, after one point read.
   */
  async insert(entity: CreateOf<D>): Promise<Stored<ReadOf<D>>> {
    const stamp = newStamp(this.#randomness);
    const write = this.#writes(stamp).insert(entity);
    return this.#stored(await this.#recognised(write, stamp));
  }

  /** As `insert`, but undefined when the keys are taken. The entity there stays unchanged. */
  insertIfAbsent(entity: CreateOf<D>): Promise<Stored<ReadOf<D>> | undefined> {
    return unlessPresent(() => this.insert(entity));
  }

  /**
   * One update that replaces the stored entity. Needs the ETag that the entity was read with, or
   * `ifMatch`. Throws `ConditionFailedError` when the stored entity has another ETag,
   * `EntityNotFoundError` when it is gone.
   */
  async replace(entity: ReadOf<D>, condition?: WriteCondition): Promise<Stored<ReadOf<D>>> {
    const stamp = newStamp(this.#randomness);
    const write = this.#writes(stamp).replace(entity, condition);
    return this.#stored(await this.#recognised(write, stamp));
  }

  /**
   * One update that changes the given properties and keeps the others. A merge cannot remove a
   * property: read the entity and replace it. Returns the new ETag. Throws as `replace`.
   */
  merge(
    target: ReadTarget<D>,
    changes: MergeOf<D>,
    condition?: WriteCondition,
  ): Promise<{ readonly etag: string }>;
  /** The same for the values of the keys, which carry no ETag. */
  merge(
    target: KeyOrEntity<D>,
    changes: MergeOf<D>,
    condition: Required<WriteCondition>,
  ): Promise<{ readonly etag: string }>;
  async merge(
    target: KeyOrEntity<D>,
    changes: MergeOf<D>,
    condition?: WriteCondition,
  ): Promise<{ readonly etag: string }> {
    const stamp = newStamp(this.#randomness);
    const write = this.#writes(stamp).merge(target, changes, condition);
    const { etag } = await this.#recognised(write, stamp);
    return { etag };
  }

  /** One update that stores the entity unconditionally. Returns the entity as stored. */
  async upsertReplace(entity: CreateOf<D> | ReadOf<D>): Promise<Stored<ReadOf<D>>> {
    const write = this.#writes().upsertReplace(entity);
    return this.#stored(written(write, await this.table.write(write)));
  }

  /**
   * One update that creates the entity, or merges the given properties into the stored one.
   * Defaults are not written. Returns the new ETag. Leaves write stamps unchanged: repeating the
   * request does no harm, and another writer may still look for its stamp.
   */
  async upsertMerge(entity: CreateOf<D>): Promise<{ readonly etag: string }> {
    const write = writesOf(this.definition, { stamp: false }).upsertMerge(entity);
    const { etag } = await this.table.write(write);
    return { etag: etag ?? '' };
  }

  /**
   * One delete. Needs the ETag that the entity was read with, or `ifMatch`. Throws
   * `EntityNotFoundError` when there is no entity, even when the client repeated its own delete.
   */
  delete(target: ReadTarget<D>, condition?: WriteCondition): Promise<void>;
  /** The same for the values of the keys, which carry no ETag. */
  delete(target: KeyOrEntity<D>, condition: Required<WriteCondition>): Promise<void>;
  async delete(target: KeyOrEntity<D>, condition?: WriteCondition): Promise<void> {
    await this.table.write(this.#writes().delete(target, condition));
  }

  /** One delete, unconditional unless `ifMatch` is given. False when there was nothing. */
  async deleteIfExists(target: KeyOrEntity<D>, condition?: WriteCondition): Promise<boolean> {
    const { ifMatch = 'any' } = condition ?? {};
    return writeIfPresent(() => this.delete(target, { ifMatch }));
  }

  /**
   * Reads the entity, calls `change` and replaces the entity under its ETag; starts again after a
   * conflict. `change` gets the current entity and may run several times; when it returns
   * undefined, nothing is written. Each attempt is one point read and one update. Returns the
   * resulting entity.
   *
   * Updates of one row through one gateway, and transactions that change its current state, run in
   * the order of their calls. One that waited for another starts from the row which that one wrote,
   * without a read of its own. After one that runs for more than a second the next starts beside
   * it. There is no order between gateways and processes. A change that awaits another update
   * passes its scope on as `within`: then neither waits for the other, even through further
   * changes. Throws `ContentionError`, and sends nothing, when 10,000 of them wait.
   *
   * With write stamps a change is applied once, even when responses are lost, as long as no more
   * than three other writers follow before its stamp is looked for. Throws `ContentionError` after
   * `attemptsMax` attempts, and `EntityNotFoundError` when the entity is absent and there is no
   * `ifAbsent`.
   */
  async update<R extends ReadOf<D>>(
    key: KeyOf<D>,
    change: ScopedChange<D, R>,
    options: UpdateOptions<D> = {},
  ): Promise<Stored<ReadOf<D>>> {
    const rowKey = this.codec.key(key);
    const { within } = options;
    return rowUpdateQueuesOf(this.table).run(
      [rowKey],
      { timers: this.#timers, within },
      (preceding, scope) =>
        this.#update(
          { rowKey, preceding: preceding.get(nameOfKey(rowKey)), scope },
          change,
          options,
        ),
    );
  }

  async #update(
    { rowKey, preceding, scope }: Update,
    change: AnyChange<D>,
    { attemptsMax = updateAttemptsMax, ifAbsent }: UpdateOptions<D>,
  ): Promise<UpdateOutcome<Stored<ReadOf<D>>>> {
    const unwritten = (row: StoredRow): UpdateOutcome<Stored<ReadOf<D>>> => ({
      result: this.codec.fromRow(row),
      written: [],
    });
    requireCounts({ attemptsMax });
    const stamps: string[] = [];
    let refusal: unknown;
    let known = preceding;
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      if (attempt > 1) await this.#pause(attempt - 1);
      let row = known ?? (await this.table.get(rowKey));
      if (row !== undefined && this.#isOwn(row, stamps)) return unwritten(row);
      const stamp = newStamp(this.#randomness);
      let write = await this.#change({ row, rowKey, stamp, scope }, change, ifAbsent);
      if (write === undefined && known !== undefined) {
        // Another process may have written since; only a read shows that no change is needed.
        row = await this.table.get(rowKey);
        write = await this.#change({ row, rowKey, stamp, scope }, change, ifAbsent);
      }
      known = undefined;
      if (write === undefined) {
        invariant(row !== undefined, 'an absent entity was left unchanged');
        return unwritten(row);
      }
      stamps.push(stamp);
      try {
        const sent = { ...withBefore(write, row), scope };
        const stored = written(write, await this.table.write(sent));
        return { result: this.#stored(stored), written: stored.etag === '' ? [] : [stored] };
      } catch (error) {
        // Without stamps a lost answer cannot be told from a lost request.
        if (
          !isRetried(error) ||
          (isAmbiguous(error) && this.definition.system.writeStamp === undefined)
        )
          throw error;
        refusal = error;
      }
    }
    const row = stamps.length === 0 ? undefined : await this.table.get(rowKey);
    if (row !== undefined && this.#isOwn(row, stamps)) return unwritten(row);
    throw new ContentionError(
      `${this.definition.type}: other writers were faster at all of ${attemptsMax} attempts`,
      { cause: refusal, request: this.#summary('update', rowKey) },
    );
  }

  /**
   * The stored names to read, and the decoder, which skips rows of other types, older rows that do
   * not satisfy the condition, and unreadable rows when they are reported.
   */
  #selection(query: RowConditions<D> & Partial<Selection<string>>): {
    readonly select: readonly string[] | undefined;
    readonly decode: Decode<object>;
  } {
    const { codec, definition } = this;
    const { select: names, onUnreadable } = query;
    const isUpgrading = definition.upgradeFrom !== undefined;
    const condition = isUpgrading ? conditionOf(definition, query)?.node : undefined;
    const read: Decode<object> = (row) => {
      const entity = codec.fromOwnRow(row, names);
      if (entity === undefined || condition === undefined) return entity;
      if (!isOutdated(definition, row)) return entity;
      const { properties } = codec.shownRow(codec.fromRow(row));
      return satisfies(condition, properties) ? entity : undefined;
    };
    const decode = onUnreadable === undefined ? read : reporting(read, onUnreadable);
    return { select: names === undefined ? undefined : codec.selectOf(names), decode };
  }

  /** The write that an attempt of `update` makes; undefined when nothing changes. */
  async #change(
    { row, rowKey, stamp, scope }: Attempt,
    change: AnyChange<D>,
    ifAbsent: UpdateOptions<D>['ifAbsent'],
  ): Promise<PutWrite | undefined> {
    const writes = this.#writes(stamp);
    if (row === undefined) {
      if (ifAbsent === undefined) throw this.#absent(rowKey);
      return this.#unmoved(writes.insert(await ifAbsent()), rowKey);
    }
    const current = this.codec.fromRow(row);
    const next = await change(current, scope);
    if (next === undefined) return undefined;
    // The result of `change` may be a new object, without the ETag and the unknown properties.
    return writes.replace({ ...next, [storedAs]: current[storedAs] });
  }

  #unmoved(write: PutWrite, { partitionKey, rowKey }: RowKey): PutWrite {
    const { row } = write;
    if (row.partitionKey === partitionKey && row.rowKey === rowKey) return write;
    throw new ValueError(`${this.definition.type}: ifAbsent made an entity with other keys`);
  }

  /** The row of a write that was applied, even when its response was lost or is a repetition's. */
  async #recognised(write: PutWrite, stamp: string): Promise<StoredRow> {
    try {
      return written(write, await this.table.write(write));
    } catch (error) {
      const row = await this.#lookAgain(error, write.row);
      if (row !== undefined && this.#isOwn(row, [stamp]))
        return { ...write.row, etag: row.etag, timestamp: 0n };
      throw error;
    }
  }

  /** Reads the stamps of the row after a failed write that may have been applied. */
  async #lookAgain(error: unknown, key: RowKey): Promise<StoredRow | undefined> {
    const property = this.definition.system.writeStamp;
    if (property === undefined || !isRetried(error)) return undefined;
    try {
      return await this.table.get(key, [property]);
    } catch (unknown) {
      // A conflict means that nothing was written. Here the outcome is unknown.
      if (isAmbiguous(error)) return undefined;
      throw unknown;
    }
  }

  #isOwn(row: StoredRow, stamps: readonly string[]): boolean {
    return hasStamp(row, this.definition.system.writeStamp, stamps);
  }

  #writes(stamp?: string): RowWrites<D> {
    const randomness = this.#randomness;
    return writesOf(this.definition, stamp === undefined ? { randomness } : { randomness, stamp });
  }

  #stored(row: StoredRow): Stored<ReadOf<D>> {
    return this.codec.fromRow(row);
  }

  #pause(failures: number): Promise<void> {
    return sleep(this.#timers, backOff(backOffs.contention, failures, this.#randomness));
  }

  #absent(key: RowKey): EntityNotFoundError {
    return absentEntityError(this.definition.type, key, this.#summary('update', key));
  }

  #summary(operation: string, { partitionKey, rowKey }: RowKey): RequestSummary {
    return { table: this.table.table, operation, partitionKey, rowKey };
  }
}

/** An update that is first in its queue. */
interface Update {
  readonly rowKey: RowKey;
  /** The row as another update of this process has just written it. */
  readonly preceding: StoredRow | undefined;
  readonly scope: UpdateScope;
}

interface Attempt {
  readonly row: StoredRow | undefined;
  readonly rowKey: RowKey;
  readonly stamp: string;
  readonly scope: UpdateScope;
}

/** The row as it was written; its Timestamp is not known, nor is its ETag after a lost answer. */
function written(write: PutWrite, { etag = '', row = write.row }: WriteResult): StoredRow {
  return { ...row, etag, timestamp: 0n };
}

/** Tells a gateway which row the write was made of. */
function withBefore(write: PutWrite, before: StoredRow | undefined): PutWrite {
  return before !== undefined && 'etag' in write ? { ...write, before } : write;
}

/** Whether the write may have been applied, or may succeed after another read. */
function isRetried(error: unknown): boolean {
  return (
    error instanceof ConditionFailedError ||
    error instanceof EntityExistsError ||
    error instanceof EntityNotFoundError ||
    isAmbiguous(error)
  );
}

/** The entities of a definition in a table. Sends nothing. */
export function entitiesOf<D extends AnyDefinition>(
  definition: D,
  table: TableGateway,
  options?: EntitiesOptions,
): Entities<D> {
  return new Entities(definition, table, options);
}
