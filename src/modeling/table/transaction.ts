import { requireCounts } from '../definition/count.js';
import { systemRandomness, type Randomness } from '../../base/randomness.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { codecOf } from '../definition/codec.js';
import type { CreateOf, KeyOf, MergeOf, NumberNames, ReadOf } from '../definition/shapes.js';
import { storedAs } from '../definition/stored-entity.js';
import { ValueError } from '../rows/model-error.js';
import type { RowKey } from '../rows/row.js';
import { holdingTimers, type Timers } from '../../base/async/timers.js';
import {
  isConflict,
  isOvertaken,
  OvertakenError,
  retryConflicts,
  updateAttemptsMax,
} from './contention.js';
import type { Change, ScopedChange } from './change.js';
import { isAmbiguous, RequestError, TransactionFailedError } from './errors.js';
import { absentEntityError } from './refusals.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from './gateway.js';
import {
  writesOf,
  type KeyOrEntity,
  type PutWrite,
  type ReadTarget,
  type RowWrites,
  type WriteCondition,
} from './row-writes.js';
import type { UpdateScope } from './update-scope.js';
import {
  madeNow,
  mergeOfNothing,
  refuseTooLarge,
  requiredError,
  unmoved,
  type Pending,
  type Unchanged,
} from './pending-writes.js';
import { rowUpdateQueuesOf, type PrecedingRows, type UpdateOutcome } from './row-update-queues.js';
import { hasStamp, newStamp } from './write-stamp.js';

/** The options of `transaction`. */
export interface TransactionOptions {
  /** For write stamps, and for waits after conflicts; the system's when absent. */
  readonly randomness?: Randomness;
  /** For waits after conflicts; the system's when absent. */
  readonly timers?: Timers;
  /** Attempts of a transaction that reads rows; 64 when absent. */
  readonly attemptsMax?: number;
  /** The scope of the change that runs this transaction. */
  readonly within?: UpdateScope;
}

/** The entity that a change of a transaction makes when there is none. */
export interface ChangeOptions<D extends AnyDefinition> {
  /** Without it, an absent entity is an error. */
  readonly ifAbsent?: () => CreateOf<D> | Promise<CreateOf<D>>;
}

/** A change that a pattern makes, which can join others in one transaction. */
export interface TransactionChange {
  /** Adds its writes. Sends nothing. */
  addTo(transaction: Transaction): void;
}

interface Stamped {
  readonly key: RowKey;
  readonly property: string;
}

/**
 * An entity group transaction: writes of one partition that apply all or none. It is never split.
 * Each method adds a write and throws `ValueError` for one of another partition, of a row that it
 * writes already, or beyond 100. Nothing is sent before `run`.
 */
export class Transaction {
  readonly #table: TableGateway;
  /** In the order of the results; undefined where the write is made when it runs. */
  readonly #writes: (RowWrite | undefined)[] = [];
  readonly #pending: Pending[] = [];
  #partitionKey: string | undefined;
  readonly #rowKeys = new Set<string>();
  /** Places of rows that must exist, and that nothing writes so far, by their RowKeys. */
  readonly #required = new Map<string, number>();
  /** RowKeys of all rows that must exist. */
  readonly #requiredKeys = new Set<string>();
  readonly #randomness: Randomness;
  readonly #timers: Timers;
  readonly #attemptsMax: number;
  readonly #within: UpdateScope | undefined;
  readonly #stamp: string;
  readonly #writesByDefinition = new Map<AnyDefinition, unknown>();
  /** A stamped write, which shows afterwards whether the transaction was applied. */
  #witness: Stamped | undefined;
  #isRun = false;
  #isSent = false;

  constructor(
    table: TableGateway,
    {
      randomness = systemRandomness,
      timers = holdingTimers,
      attemptsMax = updateAttemptsMax,
      within,
    }: TransactionOptions = {},
  ) {
    requireCounts({ attemptsMax });
    this.#table = table;
    this.#randomness = randomness;
    this.#timers = timers;
    this.#attemptsMax = attemptsMax;
    this.#within = within;
    this.#stamp = newStamp(randomness);
  }

  /** The writes so far. Throws `ValueError` when some are made of what a read will find. */
  get writes(): readonly RowWrite[] {
    if (this.#pending.length === 0) return this.#given();
    throw new ValueError('the transaction has changes of rows that only run() reads');
  }

  /** The number of writes so far. */
  get size(): number {
    return this.#writes.length;
  }

  insert<D extends AnyDefinition>(definition: D, entity: CreateOf<D>): this {
    return this.#put(definition, this.#writesOf(definition).insert(entity));
  }

  /** Under the ETag that the entity was read with, or `ifMatch`. */
  replace<D extends AnyDefinition>(
    definition: D,
    entity: ReadOf<D>,
    condition?: WriteCondition,
  ): this {
    return this.#put(definition, this.#writesOf(definition).replace(entity, condition));
  }

  /** Under the ETag that the entity was read with, or `ifMatch`. */
  merge<D extends AnyDefinition>(
    definition: D,
    target: ReadTarget<D>,
    changes: MergeOf<D>,
    condition?: WriteCondition,
  ): this;
  /** The same for the values of the keys, which carry no ETag. */
  merge<D extends AnyDefinition>(
    definition: D,
    target: KeyOrEntity<D>,
    changes: MergeOf<D>,
    condition: Required<WriteCondition>,
  ): this;
  merge<D extends AnyDefinition>(
    definition: D,
    target: KeyOrEntity<D>,
    changes: MergeOf<D>,
    condition?: WriteCondition,
  ): this {
    return this.#put(definition, this.#writesOf(definition).merge(target, changes, condition));
  }

  upsertReplace<D extends AnyDefinition>(definition: D, entity: CreateOf<D> | ReadOf<D>): this {
    return this.#put(definition, this.#writesOf(definition).upsertReplace(entity));
  }

  upsertMerge<D extends AnyDefinition>(definition: D, entity: CreateOf<D>): this {
    return this.#put(definition, this.#writesOf(definition).upsertMerge(entity));
  }

  /** Under the ETag that the entity was read with, or `ifMatch`. */
  delete<D extends AnyDefinition>(
    definition: D,
    target: ReadTarget<D>,
    condition?: WriteCondition,
  ): this;
  /** The same for the values of the keys, which carry no ETag. */
  delete<D extends AnyDefinition>(
    definition: D,
    target: KeyOrEntity<D>,
    condition: Required<WriteCondition>,
  ): this;
  delete<D extends AnyDefinition>(
    definition: D,
    target: KeyOrEntity<D>,
    condition?: WriteCondition,
  ): this {
    return this.add(this.#writesOf(definition).delete(target, condition));
  }

  /**
   * Changes the entity as it is when the transaction runs, as `update` of `Entities`: `change` may
   * run several times, and `undefined` changes nothing. Adds a point read to the transaction, and
   * both again when another writer was faster.
   */
  update<D extends AnyDefinition, R extends ReadOf<D>>(
    definition: D,
    key: KeyOf<D>,
    change: ScopedChange<D, R>,
    { ifAbsent }: ChangeOptions<D> = {},
  ): this {
    const codec = codecOf(definition);
    const rowKey = codec.key(key);
    const writes = this.#writesOf(definition);
    const make: Pending['make'] = async (row, scope) => {
      if (row === undefined) {
        if (ifAbsent === undefined) throw absentEntityError(definition.type, rowKey);
        return unmoved(definition, writes.insert(await ifAbsent()), rowKey);
      }
      const current = codec.fromRow(row);
      const next = await change(current, scope);
      if (next === undefined) return undefined;
      const write = writes.replace({ ...next, [storedAs]: current[storedAs] });
      return 'etag' in write ? { ...write, before: row } : write;
    };
    const place = this.#reserve(rowKey);
    this.#pending.push({ key: rowKey, place, make });
    return this;
  }

  /**
   * Adds to a number of the entity, exactly where it is an `int64()`; an absent property counts as
   * 0. Otherwise as `update`. Throws `EntityNotFoundError` when there is no entity, and
   * `ValueError` when the sum does not fit; then nothing changes.
   */
  increment<D extends AnyDefinition, N extends NumberNames<D>>(
    definition: D,
    key: KeyOf<D>,
    name: N,
    by: (ReadOf<D> & object)[N & keyof ReadOf<D>] | 1 | -1 = 1,
  ): this {
    const given: unknown = by;
    const added = typeof given === 'bigint' ? given : Number(given);
    const isInt64 = definition.properties[name]?.model.kind === 'int64';
    const change = (current: object) => {
      const before: unknown = Reflect.get(current, name);
      const sum = isInt64
        ? (typeof before === 'bigint' ? before : 0n) + BigInt(added)
        : Number(before ?? 0) + Number(added);
      return { ...current, [name]: sum };
    };
    return this.update(definition, key, change as Change<D, ReadOf<D>>);
  }

  /**
   * Refuses the whole transaction, with `EntityNotFoundError` as its reason, when the entity does
   * not exist. The service checks only rows that a transaction writes, so this is a merge that
   * changes nothing but the ETag. Another write of the entity in the transaction, before or after,
   * takes its place, also one that makes the entity; a delete throws `ValueError`. An `update` that
   * changes nothing sends the merge as well, under the ETag that it has read, unless the
   * transaction has nothing else to write. Nothing is announced for the merge alone, and no change
   * feed names it.
   */
  require<D extends AnyDefinition>(definition: D, key: KeyOf<D>): this {
    const rowKey = codecOf(definition).key(key);
    if (this.#partitionKey === rowKey.partitionKey && this.#rowKeys.has(rowKey.rowKey)) {
      const isDeleted = this.#given().some(
        (write) => write.kind === 'delete' && write.key.rowKey === rowKey.rowKey,
      );
      if (isDeleted) throw requiredError(rowKey);
      this.#requiredKeys.add(rowKey.rowKey);
      return this;
    }
    this.add(mergeOfNothing(rowKey, '*'));
    this.#required.set(rowKey.rowKey, this.#writes.length - 1);
    this.#requiredKeys.add(rowKey.rowKey);
    return this;
  }

  /** Adds the writes of a pattern's change. */
  join(change: TransactionChange): this {
    change.addTo(this);
    return this;
  }

  /** Adds a write, unchanged. */
  add(write: RowWrite): this {
    const key = keyOfWrite(write);
    const isRequired = this.#partitionKey === key.partitionKey && this.#required.has(key.rowKey);
    if (write.kind === 'delete' && isRequired) throw requiredError(key);
    const place = this.#reserve(key);
    this.#writes[place] = write;
    return this;
  }

  /** The place of a write of a row, which it may have. */
  #reserve({ partitionKey, rowKey }: RowKey): number {
    const required = this.#partitionKey === partitionKey ? this.#required.get(rowKey) : undefined;
    if (required !== undefined) {
      this.#required.delete(rowKey);
      this.#writes[required] = undefined;
      return required;
    }
    if (this.#writes.length >= transactionWritesMax) {
      throw new ValueError(
        `a transaction holds at most ${transactionWritesMax} writes; ` +
          'bulk() splits, at the price of atomicity',
      );
    }
    if (this.#partitionKey !== undefined && this.#partitionKey !== partitionKey) {
      throw new ValueError(
        `a transaction belongs to one partition: it has writes of '${this.#partitionKey}', ` +
          `and '${partitionKey}' is another; see the eventually consistent transactions`,
      );
    }
    if (this.#rowKeys.has(rowKey)) {
      throw new ValueError(`a transaction writes a row once; this one writes '${rowKey}' already`);
    }
    this.#partitionKey = partitionKey;
    this.#rowKeys.add(rowKey);
    return this.#writes.push(undefined) - 1;
  }

  /**
   * Sends one entity group transaction, after a point read for each row whose current state is
   * changed. Results are in the order of the writes. Throws `TransactionFailedError`, with the
   * index of the write that failed, and `TooLargeError` beyond 4 MiB; then nothing was applied. A
   * conflict at a row that it has read begins it again, at most 64 times; then it throws
   * `ContentionError`.
   *
   * Transactions that change the current state of a row, and updates of it, run in the order of
   * their calls through one gateway. Each starts from the row which the one before it wrote,
   * without a read of its own; one that changes several rows waits for all that were called before
   * it. After one that runs for more than a second the next starts beside it. Throws
   * `ContentionError`, and sends nothing, when 10,000 of them wait.
   *
   * When the response is lost, or the client repeated the request, one point read of a stamped row
   * shows whether the transaction was applied; its ETags are then unknown. Without a stamped row,
   * the error of the repetition is thrown; when the read fails as well, the error of the read,
   * which leaves open whether anything was applied. Runs once; again only when
   * nothing was sent.
   */
  async run(): Promise<readonly WriteResult[]> {
    if (this.#isRun) throw new ValueError('a transaction runs once');
    if (this.#writes.length === 0) throw new ValueError('a transaction needs at least one write');
    if (this.#pending.length === 0) refuseTooLarge(this.#table, this.#given());
    this.#isRun = true;
    try {
      return await (this.#pending.length === 0 ? this.#send(this.#given()) : this.#runInLine());
    } finally {
      this.#isRun = this.#isSent;
    }
  }

  #runInLine(): Promise<readonly WriteResult[]> {
    const retries = {
      randomness: this.#randomness,
      timers: this.#timers,
      attemptsMax: this.#attemptsMax,
    };
    const keys = this.#pending.map(({ key }) => key);
    const queueing = { timers: this.#timers, within: this.#within };
    return rowUpdateQueuesOf(this.#table).run(keys, queueing, (given, scope, leave) => {
      let preceding = given;
      const attempt = (): Promise<UpdateOutcome<readonly WriteResult[]>> => {
        const known = preceding;
        preceding = new Map();
        return this.#attempt(known, scope, leave);
      };
      return retryConflicts(this.#table.table, retries, attempt, isOvertaken);
    });
  }

  /** `preceding`: rows as other changes of this process have just written them. */
  async #attempt(
    preceding: PrecedingRows,
    scope: UpdateScope,
    leave: (key: RowKey) => void,
  ): Promise<UpdateOutcome<readonly WriteResult[]>> {
    const places = [...this.#writes];
    const unchanged: Unchanged[] = [];
    await Promise.all(
      this.#pending.map(async (pending) => {
        const { place } = pending;
        const made = await madeNow(this.#table, pending, preceding, scope);
        places[place] = made.write;
        if (made.row === undefined) return;
        if (this.#requiredKeys.has(made.row.rowKey)) unchanged.push({ place, row: made.row });
        // The derived writes of the others may change this row.
        else leave(made.row);
      }),
    );
    // Alone, a guard would protect nothing.
    const guarded = places.some((write) => write !== undefined) ? unchanged : [];
    for (const { place, row } of guarded) {
      places[place] = { ...mergeOfNothing(row, row.etag), before: row };
    }
    const sent = places.flatMap((write, place) =>
      write === undefined ? [] : [{ write: { ...write, scope }, place }],
    );
    const unknown: WriteResult = { etag: undefined };
    if (sent.length === 0) return { result: places.map(() => unknown), written: [] };
    const writes = sent.map(({ write }) => write);
    refuseTooLarge(this.#table, writes);
    const isPending = (place: number | undefined): boolean =>
      this.#pending.some((each) => each.place === place);
    try {
      const results = await this.#send(writes);
      const written = sent.flatMap(({ write, place }, index) => {
        const { etag, row } = results[index] ?? unknown;
        if (write.kind === 'delete' || etag === undefined || !isPending(place)) return [];
        const guard = guarded.find((each) => each.place === place);
        return [{ ...(row ?? guard?.row ?? write.row), etag, timestamp: 0n }];
      });
      const result = places.map(
        (_, place) => results[sent.findIndex((each) => each.place === place)] ?? unknown,
      );
      return { result, written };
    } catch (error) {
      if (!(error instanceof TransactionFailedError)) throw error;
      const place = sent[error.index ?? -1]?.place;
      if (isConflict(error) && isPending(place)) {
        throw new OvertakenError(error);
      }
      throw new TransactionFailedError(error.message, place, error.reason);
    }
  }

  async #send(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    this.#isSent = true;
    try {
      return await this.#table.transact(writes);
    } catch (error) {
      if (await this.#wasApplied(error, writes)) return writes.map(() => ({ etag: undefined }));
      throw error;
    }
  }

  /** The writes that do not depend on what is stored. */
  #given(): readonly RowWrite[] {
    return this.#writes.filter((write) => write !== undefined);
  }

  async #wasApplied(error: unknown, writes: readonly RowWrite[]): Promise<boolean> {
    if (!mayBeRepetition(error)) return false;
    const witness = this.#witness ?? this.#stampedIn(writes);
    if (witness === undefined) return false;
    const { key, property } = witness;
    try {
      const row = await this.#table.get(key, [property]);
      return row !== undefined && hasStamp(row, property, [this.#stamp]);
    } catch (unknown) {
      // A conflict means that nothing was applied, and is retried. Here the outcome is unknown.
      if (isAmbiguous(error)) return false;
      throw unknown;
    }
  }

  #put({ system }: AnyDefinition, write: PutWrite): this {
    this.add(write);
    if (system.writeStamp !== undefined) {
      this.#witness ??= { key: write.row, property: system.writeStamp };
    }
    return this;
  }

  /** A write that was made when the transaction ran and carries its stamp. */
  #stampedIn(writes: readonly RowWrite[]): Stamped | undefined {
    for (const { system } of this.#writesByDefinition.keys()) {
      const property = system.writeStamp;
      const found = writes.find(
        (write) => write.kind !== 'delete' && hasStamp(write.row, property, [this.#stamp]),
      );
      if (property !== undefined && found !== undefined)
        return { key: keyOfWrite(found), property };
    }
    return undefined;
  }

  /** Cached: most transactions write many entities of one definition. */
  #writesOf<D extends AnyDefinition>(definition: D): RowWrites<D> {
    const known = this.#writesByDefinition.get(definition) as RowWrites<D> | undefined;
    if (known !== undefined) return known;
    const writes = writesOf(definition, { randomness: this.#randomness, stamp: this.#stamp });
    this.#writesByDefinition.set(definition, writes);
    return writes;
  }
}

/** Whether a transaction may have met its own inserts and deletes when the client repeated it. */
function mayBeRepetition(error: unknown): boolean {
  if (isAmbiguous(error)) return true;
  if (!(error instanceof TransactionFailedError)) return false;
  return error.reason instanceof RequestError && [404, 409, 412].includes(error.reason.status);
}

/** A new transaction on a table. Sends nothing before it is run. */
export function transaction(table: TableGateway, options?: TransactionOptions): Transaction {
  return new Transaction(table, options);
}
