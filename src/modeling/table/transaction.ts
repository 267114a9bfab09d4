import { systemRandomness, type Randomness } from '../../base/randomness.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import type { CreateOf, MergeOf, ReadOf } from '../definition/shapes.js';
import { TooLargeError, ValueError } from '../rows/model-error.js';
import { isAmbiguous, RequestError, TransactionFailedError } from './errors.js';
import {
  keyOfWrite,
  transactionWritesMax,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from './gateway.js';
import { transactionBytes, transactionBytesBound, transactionBytesMax } from './request-size.js';
import {
  writesOf,
  type KeyOrEntity,
  type PutWrite,
  type ReadTarget,
  type RowWrites,
  type WriteCondition,
} from './row-writes.js';
import { hasStamp, newStamp } from './write-stamp.js';

/** The options of `transaction`. */
export interface TransactionOptions {
  /** For write stamps; the system's when absent. */
  readonly randomness?: Randomness;
}

interface Stamped {
  readonly write: PutWrite;
  readonly property: string;
}

/**
 * An entity group transaction: writes of one partition that apply all or none. It is never split.
 * Each method adds a write and throws `ValueError` for one of another partition, of a row that it
 * writes already, or beyond 100. Nothing is sent before `run`.
 */
export class Transaction {
  readonly #table: TableGateway;
  readonly #writes: RowWrite[] = [];
  readonly #rowKeys = new Set<string>();
  readonly #randomness: Randomness;
  readonly #stamp: string;
  readonly #writesByDefinition = new Map<AnyDefinition, unknown>();
  /** A stamped write, which shows afterwards whether the transaction was applied. */
  #witness: Stamped | undefined;
  #hasRun = false;

  constructor(table: TableGateway, { randomness = systemRandomness }: TransactionOptions = {}) {
    this.#table = table;
    this.#randomness = randomness;
    this.#stamp = newStamp(randomness);
  }

  /** The writes so far. */
  get writes(): readonly RowWrite[] {
    return this.#writes;
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

  /** Adds a write, unchanged. */
  add(write: RowWrite): this {
    const { partitionKey, rowKey } = keyOfWrite(write);
    const first = this.#writes[0];
    if (this.#writes.length >= transactionWritesMax) {
      throw new ValueError(
        `a transaction holds at most ${transactionWritesMax} writes; ` +
          'bulk() splits, at the price of atomicity',
      );
    }
    if (first !== undefined && keyOfWrite(first).partitionKey !== partitionKey) {
      throw new ValueError(
        `a transaction belongs to one partition: it has writes of '${keyOfWrite(first).partitionKey}', ` +
          `and '${partitionKey}' is another; see the eventually consistent transactions`,
      );
    }
    if (this.#rowKeys.has(rowKey)) {
      throw new ValueError(`a transaction writes a row once; this one writes '${rowKey}' already`);
    }
    this.#rowKeys.add(rowKey);
    this.#writes.push(write);
    return this;
  }

  /**
   * Sends one entity group transaction. Results are in the order of the writes. Throws
   * `TransactionFailedError`, with the index of the write that failed, and `TooLargeError` beyond 4
   * MiB; then nothing was applied.
   *
   * When the response is lost, or the client repeated the request, one point read of a stamped row
   * shows whether the transaction was applied; its ETags are then unknown. Without a stamped row,
   * the error of the repetition is thrown. Runs only once.
   */
  async run(): Promise<readonly WriteResult[]> {
    if (this.#hasRun) throw new ValueError('a transaction runs once');
    if (this.#writes.length === 0) throw new ValueError('a transaction needs at least one write');
    this.#refuseTooLarge();
    this.#hasRun = true;
    try {
      return await this.#table.transact(this.#writes);
    } catch (error) {
      if (await this.#wasApplied(error)) return this.#writes.map(() => ({ etag: undefined }));
      throw error;
    }
  }

  /** An exact count is costly, and few transactions come near the limit. */
  #refuseTooLarge(): void {
    if (transactionBytesBound(this.#writes) <= transactionBytesMax) return;
    const bytes = transactionBytes(this.#writes);
    if (bytes <= transactionBytesMax) return;
    throw new TooLargeError(`a transaction of about ${bytes} bytes is larger than 4 MiB`);
  }

  async #wasApplied(error: unknown): Promise<boolean> {
    const witness = this.#witness;
    if (witness === undefined || !mayBeRepetition(error)) return false;
    const { write, property } = witness;
    try {
      const row = await this.#table.get(write.row, [property]);
      return row !== undefined && hasStamp(row, property, [this.#stamp]);
    } catch {
      // The caller needs the failure of the transaction, not that of this read.
      return false;
    }
  }

  #put({ system }: AnyDefinition, write: PutWrite): this {
    this.add(write);
    if (system.writeStamp !== undefined) {
      this.#witness ??= { write, property: system.writeStamp };
    }
    return this;
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
