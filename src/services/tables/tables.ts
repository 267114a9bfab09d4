import type { Bytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import { Containers, type ContainerRecord } from '../containers/containers.js';
import type { NameHold } from '../containers/held-names.js';
import { checkTableName, isTableName, tableIdentity } from './table-name.js';
import { queryTableNames } from './table-query.js';
import { tableKind } from './table-record.js';
import type { TableInfo, TablePage, TableQuery } from './types.js';

/** The tables of all accounts: which exist, and under which prefix their entities are. */
export class Tables {
  readonly #containers: Containers<ContainerRecord>;

  /** `hold`: what keeps the names of dropped tables taken for a while. */
  constructor(store: Store, hold?: NameHold) {
    this.#containers = new Containers(store, tableKind, hold);
  }

  async create(account: string, name: string): Promise<TableInfo> {
    checkTableName(name);
    const make = (id: number) => ({ id, name });
    const { created } = await this.#containers.create(account, tableIdentity(name), make);
    if (!created) throw new StorageError('TableAlreadyExists');
    return { name };
  }

  async get(account: string, name: string): Promise<TableInfo> {
    if (!isTableName(name)) throw new StorageError('ResourceNotFound');
    const record = await this.#containers.find(account, tableIdentity(name));
    if (record === undefined) throw new StorageError('ResourceNotFound');
    return { name: record.name };
  }

  async drop(account: string, name: string): Promise<void> {
    if (!isTableName(name)) throw new StorageError('ResourceNotFound');
    const dropped = await this.#containers.drop(account, tableIdentity(name));
    if (!dropped) throw new StorageError('ResourceNotFound');
  }

  query(account: string, query: TableQuery): Promise<TablePage> {
    return queryTableNames(this.#containers, account, query);
  }

  /** The prefix of a table's entities. */
  async prefixOf(account: string, name: string): Promise<Bytes> {
    const prefix = await this.#containers.prefixOf(account, name);
    if (prefix === undefined) throw new StorageError('TableNotFound');
    return prefix;
  }
}
