import type { MemoryBudget } from '../../base/async/memory-budget.js';
import type { Bytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { Containers } from '../containers/containers.js';
import type { NameReservation } from '../containers/name-reservations.js';
import type { PolicedRecord } from '../containers/stored-policies.js';
import { checkTableName, isTableName, tableIdentity } from './table-name.js';
import { queryTableNames } from './table-query.js';
import { tableKind } from './table-record.js';
import type { TableInfo, TablePage, TableQuery } from './types.js';

/** The tables of all accounts, and the prefixes of their entities. */
export class Tables {
  readonly #containers: Containers<PolicedRecord>;

  /** `reservation`: keeps the names of dropped tables reserved for a while. */
  constructor(store: Store, reservation?: NameReservation) {
    this.#containers = new Containers(store, tableKind, reservation);
  }

  async create(account: string, name: string): Promise<TableInfo> {
    checkTableName(name);
    const make = (id: number): PolicedRecord => ({ id, name, identifiers: [] });
    const { created } = await this.#containers.create(account, tableIdentity(name), make);
    if (!created) throw new StorageError('TableAlreadyExists');
    return { name };
  }

  async get(account: string, name: string): Promise<TableInfo> {
    const record = await this.#find(account, name);
    if (record === undefined) throw new StorageError('ResourceNotFound');
    return { name: record.name };
  }

  async drop(account: string, name: string): Promise<void> {
    if (!isTableName(name)) throw new StorageError('ResourceNotFound');
    const dropped = await this.#containers.drop(account, tableIdentity(name));
    if (!dropped) throw new StorageError('ResourceNotFound');
  }

  /** Empty when the table does not exist. */
  async storedPolicies(account: string, name: string): Promise<readonly SignedIdentifier[]> {
    return (await this.#find(account, name))?.identifiers ?? [];
  }

  async getSignedIdentifiers(account: string, name: string): Promise<readonly SignedIdentifier[]> {
    const record = await this.#find(account, name);
    if (record === undefined) throw missing(name);
    return record.identifiers;
  }

  async setSignedIdentifiers(
    account: string,
    name: string,
    identifiers: readonly SignedIdentifier[],
  ): Promise<void> {
    const change = (record: PolicedRecord): PolicedRecord => ({ ...record, identifiers });
    const changed = isTableName(name)
      ? await this.#containers.update(account, tableIdentity(name), change)
      : undefined;
    if (changed === undefined) throw missing(name);
  }

  query(account: string, query: TableQuery, memory?: MemoryBudget): Promise<TablePage> {
    return queryTableNames({ containers: this.#containers, memory }, account, query);
  }

  /** The prefix of a table's entities. */
  async prefixOf(account: string, name: string): Promise<Bytes> {
    const prefix = await this.#containers.prefixOf(account, name);
    if (prefix === undefined) throw missing(name);
    return prefix;
  }

  async #find(account: string, name: string): Promise<PolicedRecord | undefined> {
    return isTableName(name) ? this.#containers.find(account, tableIdentity(name)) : undefined;
  }
}

/** The error for a missing table or an illegal table name. */
function missing(name: string): StorageError {
  try {
    checkTableName(name);
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
  return new StorageError('TableNotFound');
}
