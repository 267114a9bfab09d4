import { unboundedMemory, type MemoryBudget } from '../../base/async/memory-budget.js';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import { propertiesMax } from '../../model/edm/limits.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { nameReservationSweep, reservationFor } from '../containers/name-reservations.js';
import { droppedContainersSweep } from '../containers/reclaim.js';
import type { Reclaimed } from '../containers/sweep-cursor.js';
import { SweepTurns } from '../containers/sweep-turns.js';
import { readEntity } from './entity-reads.js';
import { checkGroup, writeEntity, writeGroup, type WriteContext } from './entity-writes.js';
import { defaultQueryBudget, queryEntities, type QueryBudget } from './query.js';
import { isSystemTable } from './table-name.js';
import { tableKind } from './table-record.js';
import { Tables, type SystemTable } from './tables.js';
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
  /** The cost limits of a query page; the service's own when absent. */
  readonly budget?: QueryBudget;
  /** Properties of an entity besides the keys and Timestamp. */
  readonly propertiesMax?: number;
  /** How long the name of a deleted table stays reserved; 0, the default: not at all. */
  readonly deleteDelayMs?: number;
  /** Called when `reclaim` has something to delete: a table was dropped. */
  readonly onGarbage?: () => void;
}

/**
 * Azure Table storage over any store: no HTTP, no JSON. Every method throws `StorageError` for a
 * request that fails. A write is durable when it resolves, and every read that begins afterwards
 * sees it.
 */
export class TableService {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #budget: QueryBudget;
  readonly #tables: Tables;
  readonly #writes: WriteContext;
  readonly #sweeps: SweepTurns;
  readonly #onGarbage: () => void;

  constructor(options: TableServiceOptions) {
    const { store, clock, deleteDelayMs = 0, onGarbage = () => undefined } = options;
    this.#onGarbage = onGarbage;
    this.#store = store;
    this.#clock = clock;
    this.#budget = options.budget ?? defaultQueryBudget;
    this.#tables = new Tables(store, reservationFor(deleteDelayMs, 'TableBeingDeleted', clock));
    this.#writes = { store, propertiesMax: options.propertiesMax ?? propertiesMax };
    this.#sweeps = new SweepTurns([
      droppedContainersSweep(store, clock, tableKind.service),
      nameReservationSweep(store, clock, tableKind.service),
    ]);
  }

  /** Names are compared without case and keep the spelling of their creation. */
  createTable(account: string, name: string): Promise<TableInfo> {
    return this.#tables.create(account, name);
  }

  getTable(account: string, name: string): Promise<TableInfo> {
    return this.#tables.get(account, name);
  }

  /**
   * Atomic, whatever the table holds. The name can be reused at once, or after the configured
   * delay: until then, creating throws `TableBeingDeleted`.
   */
  async deleteTable(account: string, name: string): Promise<void> {
    await this.#tables.drop(account, name);
    this.#onGarbage();
  }

  /** One page of tables in order of their lower-case names. */
  queryTables(account: string, query: TableQuery, memory?: MemoryBudget): Promise<TablePage> {
    return this.#tables.query(account, query, memory);
  }

  getSignedIdentifiers(account: string, table: string): Promise<readonly SignedIdentifier[]> {
    return this.#tables.getSignedIdentifiers(account, table);
  }

  /** Replaces all identifiers. Deleting a table deletes them. */
  setSignedIdentifiers(
    account: string,
    table: string,
    identifiers: readonly SignedIdentifier[],
  ): Promise<void> {
    return this.#tables.setSignedIdentifiers(account, table, identifiers);
  }

  /** The stored policies that signatures for a table may use; none when there is no table. */
  storedPolicies(account: string, table: string): Promise<readonly SignedIdentifier[]> {
    return this.#tables.storedPolicies(account, table);
  }

  async getEntity(
    account: string,
    table: string,
    partitionKey: string,
    rowKey: string,
  ): Promise<StoredEntity> {
    const prefix = await this.#tables.prefixOf(account, table);
    return await readEntity(this.#store, prefix, partitionKey, rowKey);
  }

  /** One page of entities in key order (table-service §6, §7). */
  async queryEntities(
    account: string,
    table: string,
    query: EntityQuery,
    memory: MemoryBudget = unboundedMemory,
  ): Promise<EntityPage> {
    const prefix = await this.#tables.prefixOf(account, table);
    const context = { store: this.#store, clock: this.#clock, budget: this.#budget, memory };
    return await queryEntities(context, prefix, query);
  }

  async write(account: string, table: string, operation: WriteOperation): Promise<WriteResult> {
    checkWrite(table, operation);
    const prefix = await this.#tables.prefixOf(account, table);
    return await writeEntity(this.#writes, prefix, operation);
  }

  /**
   * An entity group transaction (table-service §9.1): 1 to 100 writes of different entities of
   * one partition, all applied or none. Results are in the order of the operations. Errors carry
   * the index of the operation that failed.
   */
  async transact(
    account: string,
    table: string,
    operations: readonly WriteOperation[],
  ): Promise<readonly WriteResult[]> {
    checkGroup(operations);
    for (const operation of operations) checkWrite(table, operation);
    const prefix = await this.#prefixForGroup(account, table);
    return await writeGroup(this.#writes, prefix, operations);
  }

  /** A group whose table is missing fails at its first operation. */
  async #prefixForGroup(account: string, table: string): Promise<Bytes> {
    try {
      return await this.#tables.prefixOf(account, table);
    } catch (error) {
      throw error instanceof StorageError ? error.atOperation(0) : error;
    }
  }

  /** The prefix of the entities of a system table, which is made when it is not there yet. */
  openSystemTable(account: string, name: string): Promise<Bytes> {
    return this.#tables.openSystemTable(account, name);
  }

  /** The system tables of an account that are there. */
  systemTables(account: string): Promise<readonly SystemTable[]> {
    return this.#tables.systemTables(account);
  }

  /**
   * One bounded step of freeing the space of dropped tables and of expired name reservations; safe
   * to stop or repeat anywhere.
   */
  reclaim({ entriesMax }: { readonly entriesMax: number }): Promise<Reclaimed> {
    return this.#sweeps.step(entriesMax);
  }
}

/** Clients may only delete entities of a system table (blob-service §22.1). */
function checkWrite(table: string, { kind }: WriteOperation): void {
  if (kind !== 'delete' && isSystemTable(table)) throw new StorageError('AuthorizationFailure');
}
