import type { TableClient, TransactionAction } from '@azure/data-tables';
import { systemClock, type Clock } from '../../base/clock.js';
import { unreachable } from '../../base/invariant.js';
import { TooLargeError, ValueError, type RequestSummary } from '../rows/model-error.js';
import type { Row, RowKey, StoredRow } from '../rows/row.js';
import { toSdkEntity } from '../rows/sdk-entity.js';
import { conditionalDeletes } from './conditional-deletes.js';
import { EntityNotFoundError } from './errors.js';
import {
  observed,
  type Call,
  type RequestObserver,
  type RequestReport,
} from './observed-request.js';
import { odataOfSelection, type RowSelection } from './row-selection.js';
import { RawAnswer } from './sdk-answers.js';
import { fromSdkError, fromTransactionError } from './sdk-error.js';
import type { UpdateScope } from './update-scope.js';

/** One write of one row. The ETag `'*'` matches any stored row. */
export type RowWrite = InScope &
  OfMove &
  (
    | { readonly kind: 'insert' | 'upsert-replace' | 'upsert-merge'; readonly row: Row }
    | ({ readonly kind: 'replace' | 'merge'; readonly row: Row } & WriteOver)
    | ({ readonly kind: 'delete'; readonly key: RowKey } & WriteOver)
  );

/** The scope of the update or transaction that a write belongs to, if it waited in the queue. */
interface InScope {
  readonly scope?: UpdateScope;
}

/** Marks the writes of a re-keying or an archive; absent from all other writes. */
interface OfMove {
  /** The write changes no entity, only where it is stored, and perhaps in which form. */
  readonly isMove?: true;
}

/** The row that a write changes. */
interface WriteOver {
  readonly etag: string;
  /** The whole row with this ETag, if the writer has it. Saves a gateway that needs it a read. */
  readonly before?: StoredRow;
}

/** The result of a write. */
export interface WriteResult {
  /** Undefined after a delete. */
  readonly etag: string | undefined;
  /** The row as it was written, when the gateway has changed it. */
  readonly row?: Row;
}

/** Selects the rows of a page. */
export interface RowQuery extends RowSelection {
  /** Stored names. The keys are always read. */
  readonly select?: readonly string[] | undefined;
  /**
   * Maximum rows of the page, 1 to 1000; the service may return fewer. 1000 when absent, and for
   * more. Less is a `ValueError`.
   */
  readonly limit?: number | undefined;
  /** The cursor of an earlier page of the same query. */
  readonly cursor?: string | undefined;
}

/** One page of rows, in key order. */
export interface RowPage {
  readonly rows: readonly StoredRow[];
  /** Opaque; absent at the end. A page may be empty and have one. */
  readonly cursor?: string;
}

/** Observation of requests. */
export interface TableOptions {
  /** Called after every request. What it throws is thrown to the caller. */
  readonly observer?: RequestObserver;
  /** For the durations in reports; the system's when absent. */
  readonly clock?: Clock;
}

/**
 * One table as rows. Each method sends exactly the requests that it documents. Methods throw
 * `RequestError` when the service refuses, and `ValueError`, before anything is sent, for a row
 * that cannot be written.
 */
export interface TableGateway {
  /** The table's name. */
  readonly table: string;
  /** One point read. Undefined when the row is absent. */
  get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined>;
  /** One insert, update or delete. Atomic. */
  write(write: RowWrite): Promise<WriteResult>;
  /**
   * One entity group transaction: all writes apply or none. Takes 1 to 100 writes of one partition,
   * each row at most once, of less than 4 MiB as sent; never splits. Results are in the order of
   * the writes. Throws `TransactionFailedError` with the index of the write that failed, and
   * `TooLargeError` for more writes than the table takes at once, before anything is sent.
   */
  transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]>;
  /**
   * Throws what `transact` would throw for these writes before it sends a write, as far as the
   * gateway itself can know; may read. Absent when it knows nothing.
   */
  check?(writes: readonly RowWrite[]): Promise<void>;
  /** One range read: one page, in key order. */
  page(query: RowQuery): Promise<RowPage>;
  /**
   * Makes later reads of the partition at least as new as it is now, where reads may be older, as
   * those of a shard map are. Absent where they never are. A gateway before such a one has the
   * same.
   */
  readonly confirm?: ((partitionKey: string) => Promise<void>) | undefined;
  /**
   * The names of the properties of a row that the table encrypts, those that the row marks
   * included. Absent where it encrypts nothing. A gateway before an encrypting one has the same.
   */
  readonly encrypts?: EncryptedNames | undefined;
  /**
   * Whether the table stores large values elsewhere than in their rows: then only the table knows
   * which writes are too large for a transaction, and refuses them before it sends anything. False
   * when absent. A gateway before such a one has the same.
   */
  readonly storesLargeValues?: boolean | undefined;
  /**
   * The writes that one transaction takes, less than 100 where the table adds a fixed number of
   * rows of its own to each. 100 when absent. Rows whose number depends on the writes are not
   * subtracted: rows that a table derives from them or makes of large values count in addition. A
   * gateway before such a one has the same.
   */
  readonly writesMax?: number | undefined;
}

/** The names of the properties of a row that are encrypted before it is stored. */
export type EncryptedNames = (row: Row) => readonly string[];

export const transactionWritesMax = 100;
export const pageRowsMax = 1000;

/**
 * Opens a table through the official client, with its retries and credentials. Sends nothing. The
 * gateway refuses rows with names in `encrypt`: they need one that encrypts.
 */
export function openTable(client: TableClient, options: TableOptions = {}): TableGateway {
  return new ClientGateway(client, options);
}

/**
 * The rows that a page may have: the given limit, at most 1000. Throws `ValueError` unless it is a
 * whole number from 1.
 */
export function pageLimitOf(limit: number): number {
  const found = Math.min(limit, pageRowsMax);
  if (found >= 1 && Number.isInteger(found)) return found;
  throw new ValueError(`a page has a limit of at least 1, not ${limit}`);
}

/** The key of the row that a write changes. */
export function keyOfWrite(write: RowWrite): RowKey {
  return write.kind === 'delete' ? write.key : write.row;
}

class ClientGateway implements TableGateway {
  readonly table: string;
  readonly #client: TableClient;
  readonly #observer: RequestObserver | undefined;
  readonly #clock: Clock;

  constructor(client: TableClient, { observer, clock = systemClock }: TableOptions) {
    this.table = client.tableName;
    this.#client = client;
    this.#observer = observer;
    this.#clock = clock;
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const { partitionKey, rowKey } = key;
    const call: Call = { kind: 'point-read', summary: this.#summary('get', key), entities: 1 };
    const answer = new RawAnswer();
    try {
      await this.#observe(call, () =>
        this.#client.getEntity(partitionKey, rowKey, {
          ...answer.options,
          ...(select === undefined ? {} : { queryOptions: { select: selectOf(select) } }),
        }),
      );
      // The keys requested are those of the row, whatever the response contains.
      return { ...answer.row(), partitionKey, rowKey };
    } catch (error) {
      const failure = fromSdkError(error, call.summary);
      if (failure instanceof EntityNotFoundError) return undefined;
      throw failure;
    }
  }

  async write(write: RowWrite): Promise<WriteResult> {
    refuseUnconditional([write]);
    refuseUnencrypted([write]);
    const key = keyOfWrite(write);
    const call: Call = {
      kind: kindOfWrite(write),
      summary: this.#summary(write.kind, key),
      entities: 1,
    };
    const send = sender(this.#client, write);
    try {
      const { etag } = await this.#observe(call, send);
      return { etag: write.kind === 'delete' ? undefined : etag };
    } catch (error) {
      throw fromSdkError(error, call.summary);
    }
  }

  /** Reads nothing. */
  check(writes: readonly RowWrite[]): Promise<void> {
    return Promise.resolve().then(() => void actionsOf(writes));
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const { partitionKey, actions } = actionsOf(writes);
    const call: Call = {
      kind: 'transaction',
      summary: { table: this.table, operation: 'transaction', partitionKey },
      entities: writes.length,
    };
    try {
      const options = conditionalDeletes(this.#client, deletedEtags(writes));
      const { subResponses } = await this.#observe(call, () =>
        this.#client.submitTransaction(actions, options),
      );
      // The client takes a response that it cannot parse for a success without results.
      if (subResponses.length !== writes.length) {
        const text = `the answer has ${subResponses.length} results for ${writes.length} writes`;
        throw Object.assign(new Error(text), { code: 'UnreadableAnswer' });
      }
      return writes.map(({ kind }, index) => ({
        etag: kind === 'delete' ? undefined : subResponses[index]?.etag?.trim(),
      }));
    } catch (error) {
      const rowKeys = writes.map((write) => keyOfWrite(write).rowKey);
      throw fromTransactionError(error, call.summary, rowKeys);
    }
  }

  async page(query: RowQuery): Promise<RowPage> {
    const { select, limit = pageRowsMax, cursor } = query;
    const filter = odataOfSelection(query);
    const hasFilter = filter !== '';
    const call = {
      kind: 'query' as const,
      summary: {
        table: this.table,
        operation: 'query',
        ...(hasFilter ? { filter } : {}),
      },
      entities: 0,
    };
    const answer = new RawAnswer();
    const pages = this.#client
      .listEntities({
        ...answer.options,
        queryOptions: {
          ...(hasFilter ? { filter } : {}),
          ...(select === undefined ? {} : { select: selectOf(select) }),
        },
      })
      .byPage({
        maxPageSize: pageLimitOf(limit),
        ...(cursor === undefined ? {} : { continuationToken: cursor }),
      });
    try {
      const rows = await this.#observe(call, async () => {
        await pages.next();
        return answer.rows();
      });
      const next = answer.cursor();
      return next === undefined ? { rows } : { rows, cursor: next };
    } catch (error) {
      throw fromSdkError(error, call.summary);
    }
  }

  #summary(operation: string, { partitionKey, rowKey }: RowKey): RequestSummary {
    return { table: this.table, operation, partitionKey, rowKey };
  }

  #observe<T>(call: Call, send: () => Promise<T>): Promise<T> {
    return observed(call, send, { observer: this.#observer, clock: this.#clock });
  }
}

/** Adds the keys, which the service omits unless they are selected. */
function selectOf(select: readonly string[]): string[] {
  return [...new Set(['PartitionKey', 'RowKey', ...select])];
}

function kindOfWrite({ kind }: RowWrite): RequestReport['kind'] {
  if (kind === 'insert' || kind === 'delete') return kind;
  return 'update';
}

function sender(
  client: TableClient,
  write: RowWrite,
): () => Promise<{ readonly etag?: string | undefined }> {
  if (write.kind === 'delete') {
    const { key, etag } = write;
    return async () => {
      await client.deleteEntity(key.partitionKey, key.rowKey, { etag });
      return {};
    };
  }
  const entity = toSdkEntity(write.row);
  switch (write.kind) {
    case 'insert':
      return () => client.createEntity(entity);
    case 'upsert-replace':
      return () => client.upsertEntity(entity, 'Replace');
    case 'upsert-merge':
      return () => client.upsertEntity(entity, 'Merge');
    case 'replace':
      return () => client.updateEntity(entity, 'Replace', { etag: write.etag });
    case 'merge':
      return () => client.updateEntity(entity, 'Merge', { etag: write.etag });
    default:
      return unreachable(write);
  }
}

function actionOf(write: RowWrite): TransactionAction {
  switch (write.kind) {
    case 'insert':
      return ['create', toSdkEntity(write.row)];
    case 'upsert-replace':
      return ['upsert', toSdkEntity(write.row), 'Replace'];
    case 'upsert-merge':
      return ['upsert', toSdkEntity(write.row), 'Merge'];
    case 'replace':
      return ['update', toSdkEntity(write.row), 'Replace', { etag: write.etag }];
    case 'merge':
      return ['update', toSdkEntity(write.row), 'Merge', { etag: write.etag }];
    case 'delete':
      return ['delete', { ...write.key }];
    default:
      return unreachable(write);
  }
}

/** The actions of a transaction. Throws for one that the service would not take. */
function actionsOf(writes: readonly RowWrite[]) {
  refuseUnconditional(writes);
  refuseUnencrypted(writes);
  return { partitionKey: onePartition(writes), actions: writes.map(actionOf) };
}

function deletedEtags(writes: readonly RowWrite[]): readonly string[] {
  return writes.flatMap((write) => (write.kind === 'delete' ? [write.etag] : []));
}

/** Without an If-Match the service treats a replace or a merge as an upsert. */
function refuseUnconditional(writes: readonly RowWrite[]): void {
  for (const write of writes) {
    if (!('etag' in write) || write.etag !== '') continue;
    throw new ValueError(
      `a ${write.kind} needs the ETag that the row was read with, or '*' for whatever is there`,
    );
  }
}

function refuseUnencrypted(writes: readonly RowWrite[]): void {
  for (const write of writes) {
    const names = write.kind === 'delete' ? [] : (write.row.encrypt ?? []);
    if (names.length > 0) {
      throw new ValueError(
        `${names.join(', ')} must be encrypted, and this table was opened without encryption`,
      );
    }
  }
}

function onePartition(writes: readonly RowWrite[]): string {
  const [first, ...rest] = writes.map(keyOfWrite);
  if (first === undefined) throw new ValueError('a transaction needs at least one write');
  if (writes.length > transactionWritesMax) {
    throw new TooLargeError(
      `a transaction holds at most ${transactionWritesMax} writes, not ${writes.length}; ` +
        'bulk() splits, at the price of atomicity',
    );
  }
  const rowKeys = new Set([first.rowKey]);
  for (const { partitionKey, rowKey } of rest) {
    if (partitionKey !== first.partitionKey) {
      throw new ValueError(
        `a transaction belongs to one partition; this one has '${first.partitionKey}' and '${partitionKey}'`,
      );
    }
    if (rowKeys.has(rowKey)) {
      throw new ValueError(`a transaction writes a row once; this one writes '${rowKey}' twice`);
    }
    rowKeys.add(rowKey);
  }
  return first.partitionKey;
}
