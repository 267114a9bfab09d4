import type { Bytes } from '../../base/bytes.js';
import type { Store } from '../../kv/store.js';
import { StorageError } from '../../wire/errors/storage-error.js';
import {
  decodeTableRecord,
  droppedTableKey,
  encodeTableRecord,
  tableNameKey,
  tablePrefix,
} from './keys.js';
import { queryTableNames } from './table-query.js';
import { TableIds } from './table-ids.js';
import { checkTableName, isTableName, tableIdentity } from './table-name.js';
import type { TableInfo, TablePage, TableQuery } from './types.js';

/** Tries to drop a table while others drop and create it under the same name. */
const dropAttemptsMax = 100;

/** Tables whose keys are remembered; beyond it all are forgotten. */
const knownTablesMax = 10_000;

interface KnownTable {
  /** Of the directory entry. */
  readonly key: Bytes;
  readonly version: number;
  readonly prefix: Bytes;
}

/** The tables of all accounts: which exist, and under which prefix their entities are. */
export class Tables {
  readonly #store: Store;
  readonly #ids: TableIds;
  /** By account and name as spelled. Only saves encoding: each use checks the stored version. */
  readonly #known = new Map<string, KnownTable>();

  constructor(store: Store) {
    this.#store = store;
    this.#ids = new TableIds(store);
  }

  async create(account: string, name: string): Promise<TableInfo> {
    checkTableName(name);
    const key = tableNameKey(account, tableIdentity(name));
    // Looked up first because clients create tables that exist all day long, and ids are not free.
    if ((await this.#store.get(key)) !== undefined) throw new StorageError('TableAlreadyExists');
    const id = await this.#ids.next(account);
    const result = await this.#store.commit({
      checks: [{ key, version: 'absent' }],
      puts: [{ key, value: encodeTableRecord({ id, name }) }],
      deletes: [],
    });
    if (!result.ok) throw new StorageError('TableAlreadyExists');
    return { name };
  }

  async get(account: string, name: string): Promise<TableInfo> {
    if (!isTableName(name)) throw new StorageError('ResourceNotFound');
    const entry = await this.#store.get(tableNameKey(account, tableIdentity(name)));
    if (entry === undefined) throw new StorageError('ResourceNotFound');
    return { name: decodeTableRecord(entry.value).name };
  }

  /** One commit. The name is free when it resolves; `reclaim` frees the space later. */
  async drop(account: string, name: string): Promise<void> {
    if (!isTableName(name)) throw new StorageError('ResourceNotFound');
    const key = tableNameKey(account, tableIdentity(name));
    for (let attempt = 0; attempt < dropAttemptsMax; attempt += 1) {
      const entry = await this.#store.get(key);
      if (entry === undefined) throw new StorageError('ResourceNotFound');
      const { id } = decodeTableRecord(entry.value);
      const result = await this.#store.commit({
        checks: [{ key, version: entry.version }],
        puts: [{ key: droppedTableKey(account, id), value: entry.value }],
        deletes: [key],
      });
      if (result.ok) return;
    }
    throw new StorageError('ServerBusy');
  }

  query(account: string, query: TableQuery): Promise<TablePage> {
    return queryTableNames(this.#store, account, query);
  }

  /** The prefix of a table's entities. One read: any process may have dropped the table. */
  async prefixOf(account: string, name: string): Promise<Bytes> {
    const spelled = `${account}/${name}`;
    const known = this.#known.get(spelled);
    if (known === undefined && !isTableName(name)) throw new StorageError('TableNotFound');
    const key = known?.key ?? tableNameKey(account, tableIdentity(name));
    const entry = await this.#store.get(key);
    if (entry === undefined) throw new StorageError('TableNotFound');
    if (known?.version === entry.version) return known.prefix;
    const prefix = tablePrefix(account, decodeTableRecord(entry.value).id);
    if (this.#known.size >= knownTablesMax) this.#known.clear();
    this.#known.set(spelled, { key, version: entry.version, prefix });
    return prefix;
  }
}
