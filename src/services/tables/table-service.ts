import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import type { StoredEntity } from '../../wire/edm/value.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import { droppedContainersRound, type DroppedContainer } from '../containers/reclaim.js';
import type { Reclaimed, ReclaimRound } from '../containers/reclaim-round.js';
import { readEntity } from './entity-reads.js';
import { checkGroup, writeEntity, writeGroup } from './entity-writes.js';
import { defaultQueryBudget, queryEntities, type QueryBudget } from './query.js';
import { tableKind } from './table-record.js';
import { Tables } from './tables.js';
import type {
  EntityPage,
  EntityQuery,
  TableInfo,
  TablePage,
  TableQuery,
  WriteOperation,
  WriteResult,
} from './types.js';

export interface TableServiceOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** What one page of a query may cost; the service's own limits when absent. */
  readonly budget?: QueryBudget;
}

/**
 * Azure Table storage over any store: no HTTP, no JSON. Every method throws `StorageError` for a
 * request that cannot be served. A write is durable when it resolves, and every read that begins
 * afterwards sees it.
 */
export class TableService {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #budget: QueryBudget;
  readonly #tables: Tables;
  readonly #dropped: ReclaimRound<DroppedContainer>;

  constructor({ store, clock, budget = defaultQueryBudget }: TableServiceOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#budget = budget;
    this.#tables = new Tables(store);
    this.#dropped = droppedContainersRound(store, clock, tableKind.service);
  }

  /** Names are told apart without case and keep the spelling they were created with. */
  createTable(account: string, name: string): Promise<TableInfo> {
    return this.#tables.create(account, name);
  }

  getTable(account: string, name: string): Promise<TableInfo> {
    return this.#tables.get(account, name);
  }

  /** Atomic, whatever the table holds; the name can be used again at once. */
  deleteTable(account: string, name: string): Promise<void> {
    return this.#tables.drop(account, name);
  }

  /** One page of tables in order of their lower-case names. */
  queryTables(account: string, query: TableQuery): Promise<TablePage> {
    return this.#tables.query(account, query);
  }

  async getEntity(
    account: string,
    table: string,
    partitionKey: string,
    rowKey: string,
  ): Promise<StoredEntity> {
    const prefix = await this.#tables.prefixOf(account, table);
    return readEntity(this.#store, prefix, partitionKey, rowKey);
  }

  /** One page of entities in key order (spec table-service §6, §7). */
  async queryEntities(account: string, table: string, query: EntityQuery): Promise<EntityPage> {
    const prefix = await this.#tables.prefixOf(account, table);
    const context = { store: this.#store, clock: this.#clock, budget: this.#budget };
    return queryEntities(context, prefix, query);
  }

  async write(account: string, table: string, operation: WriteOperation): Promise<WriteResult> {
    const prefix = await this.#tables.prefixOf(account, table);
    return writeEntity(this.#store, prefix, operation);
  }

  /**
   * An entity group transaction (spec table-service §9.1): 1 to 100 writes of different entities of
   * one partition, all applied or none. Results are in the order of the operations. Errors carry
   * the index of the operation that failed.
   */
  async transact(
    account: string,
    table: string,
    operations: readonly WriteOperation[],
  ): Promise<readonly WriteResult[]> {
    checkGroup(operations);
    const prefix = await this.#tables.prefixOf(account, table).catch(rethrowForFirst);
    return writeGroup(this.#store, prefix, operations);
  }

  /** One bounded step of freeing the space of dropped tables; safe to stop or repeat anywhere. */
  reclaim({ entriesMax }: { readonly entriesMax: number }): Promise<Reclaimed> {
    return this.#dropped.step(entriesMax);
  }
}

/** A group whose table is missing fails at its first operation. */
function rethrowForFirst(error: unknown): never {
  if (!(error instanceof StorageError)) throw error;
  throw new StorageError(error.code, { message: error.message, operationIndex: 0, cause: error });
}
