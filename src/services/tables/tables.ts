import type { MemoryBudget } from '../../base/async/memory-budget.js';
import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import type { Store } from '../../kv/store.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { SignedIdentifier } from '../../model/resources/signed-identifier.js';
import { Containers } from '../containers/containers.js';
import { containerPrefix } from '../containers/keys.js';
import type { NameReservation } from '../containers/name-reservations.js';
import type { PolicedRecord } from '../containers/stored-policies.js';
import {
  checkTableName,
  isSystemTable,
  isTableName,
  systemTablePrefix,
  tableIdentity,
} from './table-name.js';
import { queryTableNames } from './table-query.js';
import { tableKind } from './table-record.js';
import type { TableInfo, TablePage, TableQuery } from './types.js';

/** Greater than the number of names of system tables. */
const systemTablesMax = 100;

/** A table that the server keeps, and the prefix of its entities. */
export interface SystemTable {
  readonly name: string;
  readonly prefix: Bytes;
}

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
    if (isSystemTable(name)) throw new StorageError('AuthorizationFailure');
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
  prefixOf(account: string, name: string): Bytes | Promise<Bytes> {
    const prefix = this.#containers.prefixOf(account, name);
    return prefix instanceof Promise ? prefix.then((found) => found ?? refuse(name)) : prefix;
  }

  /** The prefix of the entities of a system table, which is made when it is not there yet. */
  async openSystemTable(account: string, name: string): Promise<Bytes> {
    invariant(isSystemTable(name), 'a table that the server keeps');
    const known = await this.#containers.prefixOf(account, name);
    if (known !== undefined) return known;
    const make = (id: number): PolicedRecord => ({ id, name, identifiers: [] });
    // The server's own writes go on where clients are refused.
    const options = { grows: false };
    const { record } = await this.#containers.create(account, tableIdentity(name), make, options);
    return containerPrefix(tableKind.service, account, record.id);
  }

  /** The system tables of an account that are there. */
  async systemTables(account: string): Promise<readonly SystemTable[]> {
    const options = { startsWith: systemTablePrefix, limit: systemTablesMax };
    const { records, next } = await this.#containers.list(account, options);
    invariant(next === undefined, 'an account has few system tables');
    return Array.from(records, ({ id, name }) => ({
      name,
      prefix: containerPrefix(tableKind.service, account, id),
    }));
  }

  async #find(account: string, name: string): Promise<PolicedRecord | undefined> {
    return isTableName(name) ? this.#containers.find(account, tableIdentity(name)) : undefined;
  }
}

function refuse(name: string): never {
  throw missing(name);
}

/** The error for a missing table or an illegal table name. */
function missing(name: string): StorageError {
  if (isSystemTable(name)) return new StorageError('TableNotFound');
  try {
    checkTableName(name);
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
  return new StorageError('TableNotFound');
}
