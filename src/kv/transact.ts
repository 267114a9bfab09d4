import { nameOfBytes, type Bytes } from '../base/bytes.js';
import { TransactionConflictError } from './errors.js';
import type { Check, Entry, KeyRange, RangeOptions, RangePage, Store } from './store.js';

const attemptsMaxDefault = 32;

/**
 * The operations of a transaction body. Every key read becomes a check of the commit: the
 * transaction applies only if those entries have not changed. All keys belong to one partition
 * prefix.
 */
export interface Transaction {
  /** Sees the transaction's own puts, with version 0, and its deletes. */
  get(key: Bytes): Promise<Entry | undefined>;
  /**
   * Entries as stored, without the transaction's own writes. Each entry of the page becomes a
   * check; keys that others add to the range are not noticed.
   */
  range(range: KeyRange, options: RangeOptions): Promise<RangePage>;
  put(key: Bytes, value: Bytes): void;
  delete(key: Bytes): void;
}

/** `version` is that of the commit; undefined when nothing was written, so nothing committed. */
export interface TransactionResult<T> {
  readonly result: T;
  readonly version: number | undefined;
}

export interface TransactOptions {
  /** How often the body may run. 32 when absent. */
  readonly attemptsMax?: number;
}

/**
 * Runs the body and commits what it wrote, atomically. When a key that it read has changed, the
 * whole body runs again, so it must have no effect outside the transaction. Throws
 * `TransactionConflictError` after `attemptsMax` conflicts; what the body throws passes through
 * and nothing is committed.
 */
export async function transact<T>(
  store: Store,
  body: (transaction: Transaction) => Promise<T>,
  options: TransactOptions = {},
): Promise<TransactionResult<T>> {
  const attemptsMax = options.attemptsMax ?? attemptsMaxDefault;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const transaction = new StoreTransaction(store);
    const result = await body(transaction);
    if (!transaction.wrote) return { result, version: undefined };
    const committed = await store.commit(transaction.batch());
    if (committed.ok) return { result, version: committed.version };
  }
  throw new TransactionConflictError(attemptsMax);
}

class StoreTransaction implements Transaction {
  readonly #store: Store;
  /** By key: the first version seen, which is checked at the commit. */
  readonly #checks = new Map<string, Check>();
  /** By key: the value to put, or undefined to delete. */
  readonly #writes = new Map<string, { readonly key: Bytes; readonly value: Bytes | undefined }>();

  constructor(store: Store) {
    this.#store = store;
  }

  get wrote(): boolean {
    return this.#writes.size > 0;
  }

  async get(key: Bytes): Promise<Entry | undefined> {
    const written = this.#writes.get(nameOfBytes(key));
    if (written !== undefined) {
      return written.value === undefined ? undefined : { key, value: written.value, version: 0 };
    }
    const entry = await this.#store.get(key);
    this.#check(key, entry?.version ?? 'absent');
    return entry;
  }

  async range(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    const page = await this.#store.range(range, options);
    for (const entry of page.entries) this.#check(entry.key, entry.version);
    return page;
  }

  put(key: Bytes, value: Bytes): void {
    this.#writes.set(nameOfBytes(key), { key, value });
  }

  delete(key: Bytes): void {
    this.#writes.set(nameOfBytes(key), { key, value: undefined });
  }

  batch() {
    const writes = [...this.#writes.values()];
    return {
      checks: [...this.#checks.values()],
      puts: writes.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }])),
      deletes: writes.flatMap(({ key, value }) => (value === undefined ? [key] : [])),
    };
  }

  #check(key: Bytes, version: number | 'absent'): void {
    const name = nameOfBytes(key);
    if (!this.#checks.has(name)) this.#checks.set(name, { key, version });
  }
}
