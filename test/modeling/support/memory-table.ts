import type {
  RowKey,
  RowPage,
  RowProperties,
  RowWrite,
  StoredRow,
  TableGateway,
  WriteResult,
} from '../../../src/modeling/index.js';
import {
  ConditionFailedError,
  EntityExistsError,
  EntityNotFoundError,
  TransactionFailedError,
} from '../../../src/modeling/table/errors.js';
import { compareKeys } from '../../../src/modeling/rows/text-order.js';

/** The rows of a table in memory, which several gateways share as several processes would. */
export class MemoryRows {
  readonly #rows = new Map<string, StoredRow>();
  #writes = 0;

  get all(): readonly StoredRow[] {
    return [...this.#rows.values()].sort(compareKeys);
  }

  get(key: RowKey): StoredRow | undefined {
    return this.#rows.get(nameOf(key));
  }

  /** Applies all writes or none. */
  apply(writes: readonly RowWrite[]): readonly WriteResult[] {
    const results = writes.map((write, index) => {
      const key = write.kind === 'delete' ? write.key : write.row;
      const refusal = refusalOf(write, this.get(key));
      if (refusal === undefined) return key;
      throw new TransactionFailedError(refusal.message, index, refusal);
    });
    return writes.map((write, index) => this.#apply(write, results[index] ?? { ...nowhere }));
  }

  #apply(write: RowWrite, key: RowKey): WriteResult {
    const name = nameOf(key);
    if (write.kind === 'delete') {
      this.#rows.delete(name);
      return { etag: undefined };
    }
    this.#writes += 1;
    const etag = `W/"${this.#writes}"`;
    const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
    const before: RowProperties = isMerge ? (this.#rows.get(name)?.properties ?? {}) : {};
    const { partitionKey, rowKey, properties } = write.row;
    const timestamp = BigInt(this.#writes);
    this.#rows.set(name, {
      partitionKey,
      rowKey,
      properties: { ...before, ...properties },
      etag,
      timestamp,
    });
    return { etag };
  }
}

const nowhere: RowKey = { partitionKey: '', rowKey: '' };

function nameOf({ partitionKey, rowKey }: RowKey): string {
  return JSON.stringify([partitionKey, rowKey]);
}

function refusalOf(write: RowWrite, row: StoredRow | undefined) {
  const answer = { status: 409, code: 'EntityAlreadyExists' };
  if (write.kind === 'insert') {
    return row === undefined ? undefined : new EntityExistsError('it is there', answer);
  }
  if (!('etag' in write)) return undefined;
  const absent = { status: 404, code: 'ResourceNotFound' };
  if (row === undefined) return new EntityNotFoundError('it is not there', absent);
  const changed = { status: 412, code: 'UpdateConditionNotSatisfied' };
  if (write.etag === '*' || write.etag === row.etag) return undefined;
  return new ConditionFailedError('it has changed', changed);
}

/**
 * A gateway over rows in memory, without queries. `before` is awaited before each request and
 * `after` before its answer: tests let others go first there, or fail the request.
 */
export class MemoryTable implements TableGateway {
  readonly table: string;
  readonly rows: MemoryRows;
  requests = 0;
  readonly #before: () => Promise<void>;
  readonly #after: () => Promise<void>;

  constructor(
    rows: MemoryRows,
    {
      table = 'memory',
      before = () => Promise.resolve(),
      after = () => Promise.resolve(),
    }: {
      readonly table?: string;
      readonly before?: () => Promise<void>;
      readonly after?: () => Promise<void>;
    } = {},
  ) {
    this.table = table;
    this.rows = rows;
    this.#before = before;
    this.#after = after;
  }

  get(key: RowKey): Promise<StoredRow | undefined> {
    return this.#send(() => this.rows.get(key));
  }

  async write(write: RowWrite): Promise<WriteResult> {
    try {
      const [result] = await this.#send(() => this.rows.apply([write]));
      return result ?? { etag: undefined };
    } catch (error) {
      throw error instanceof TransactionFailedError ? error.reason : error;
    }
  }

  transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    return this.#send(() => this.rows.apply(writes));
  }

  page(): Promise<RowPage> {
    return Promise.reject(new Error('rows in memory have no queries'));
  }

  async #send<T>(request: () => T): Promise<T> {
    this.requests += 1;
    await this.#before();
    const answer = request();
    await this.#after();
    return answer;
  }
}
