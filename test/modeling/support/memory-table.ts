import type {
  RowKey,
  RowPage,
  RowProperties,
  RowQuery,
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
import { ticksOfMicros } from '../../../src/modeling/rows/ticks.js';
import { satisfies } from '../../../src/modeling/table/filter-match.js';
import { pageLimitOf, pageRowsMax } from '../../../src/modeling/table/gateway.js';
import { whereKeys } from '../../../src/modeling/table/row-selection.js';

/** Writes of all tables: a row that was read in one has no ETag of a row in another. */
let writesOfAll = 0;

/** The rows of a table in memory, which several gateways share as several processes would. */
export class MemoryRows {
  readonly #rows = new Map<string, StoredRow>();
  #sorted: readonly StoredRow[] | undefined;
  readonly #nowMicros: () => number;
  #ticks = 0n;

  /** The time of writes is the system's when it is not given. */
  constructor(nowMicros: () => number = () => Date.now() * 1000) {
    this.#nowMicros = nowMicros;
  }

  /** In the order of their keys. */
  get all(): readonly StoredRow[] {
    this.#sorted ??= [...this.#rows.values()].sort(compareKeys);
    return this.#sorted;
  }

  /** The same rows, which change by themselves. */
  copy(): MemoryRows {
    const copy = new MemoryRows(this.#nowMicros);
    for (const [name, row] of this.#rows) copy.#rows.set(name, row);
    copy.#ticks = this.#ticks;
    return copy;
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
    this.#sorted = undefined;
    if (write.kind === 'delete') {
      this.#rows.delete(name);
      return { etag: undefined };
    }
    writesOfAll += 1;
    const etag = `W/"${writesOfAll}"`;
    const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
    const before: RowProperties = isMerge ? (this.#rows.get(name)?.properties ?? {}) : {};
    const { partitionKey, rowKey, properties } = write.row;
    const now = ticksOfMicros(this.#nowMicros());
    this.#ticks = now > this.#ticks ? now : this.#ticks + 1n;
    this.#rows.set(name, {
      partitionKey,
      rowKey,
      properties: { ...before, ...properties },
      etag,
      timestamp: this.#ticks,
    });
    return { etag };
  }
}

const nowhere: RowKey = { partitionKey: '', rowKey: '' };

function nameOf({ partitionKey, rowKey }: RowKey): string {
  return JSON.stringify([partitionKey, rowKey]);
}

function selected(row: StoredRow, select: readonly string[] | undefined): StoredRow {
  if (select === undefined) return row;
  const chosen = Object.entries(row.properties).filter(([name]) => select.includes(name));
  return { ...row, properties: Object.fromEntries(chosen) };
}

/** What conditions look at. */
function columnsOf({ partitionKey, rowKey, timestamp, properties }: StoredRow): RowProperties {
  return {
    ...properties,
    PartitionKey: { type: 'String', value: partitionKey },
    RowKey: { type: 'String', value: rowKey },
    Timestamp: { type: 'DateTime', value: timestamp },
  };
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
 * A gateway over rows in memory. `before` is awaited before each request and `after` before its
 * answer: tests let others go first there, or fail the request.
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

  get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    return this.#send(() => {
      const row = this.rows.get(key);
      return row && selected(row, select);
    });
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

  /** Without conditions as OData. A cursor is the key of the next row. */
  page(query: RowQuery): Promise<RowPage> {
    const { partitionKey, rowKey, where, filter = '', limit = pageRowsMax, cursor } = query;
    if (filter !== '') return Promise.reject(new Error(`rows in memory know no OData: ${filter}`));
    const keys = whereKeys('PartitionKey', partitionKey).and(whereKeys('RowKey', rowKey));
    const { node } = where === undefined ? keys : keys.and(where);
    const from = cursor === undefined ? nowhere : (JSON.parse(cursor) as RowKey);
    return this.#send(() => {
      const found = this.rows.all.filter(
        (row) => compareKeys(row, from) >= 0 && satisfies(node, columnsOf(row)),
      );
      const [rows, next] = [found.slice(0, pageLimitOf(limit)), found[pageLimitOf(limit)]];
      const page = rows.map((row) => selected(row, query.select));
      if (next === undefined) return { rows: page };
      const { partitionKey, rowKey } = next;
      return { rows: page, cursor: JSON.stringify({ partitionKey, rowKey }) };
    });
  }

  async #send<T>(request: () => T): Promise<T> {
    this.requests += 1;
    await this.#before();
    const answer = request();
    await this.#after();
    return answer;
  }
}
