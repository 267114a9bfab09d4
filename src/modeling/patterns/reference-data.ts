import { systemClock, type Clock } from '../../base/clock.js';
import { DefinitionError, ModelError } from '../rows/model-error.js';

/** What a row can name an item by. */
export type ReferenceKey = string | number | bigint;

/** What is kept in memory, and for how long. */
export interface ReferenceDataOptions<Item, Key extends ReferenceKey> {
  /** Reads all items, such as `() => departments.scanTable()`: its requests are those of a load. */
  readonly load: () => AsyncIterable<Item> | Promise<Iterable<Item>>;
  readonly keyOf: (item: Item) => Key;
  /** How old the copy may be, in milliseconds. */
  readonly ttlMs: number;
  /**
   * How old a copy may be that is used because loading failed. 0 when absent: the error is thrown.
   */
  readonly staleMsMax?: number;
  /** A larger table is refused: it does not belong into memory. 10,000 when absent. */
  readonly itemsMax?: number;
  readonly clock?: Clock;
}

interface Copy<Item, Key> {
  readonly items: ReadonlyMap<Key, Item>;
  /** When its load began: what was written later may lack. */
  readonly loadedMs: number;
}

/**
 * Small tables that rarely change, such as departments or currencies, kept in memory, and joined
 * with rows there. The first use loads all items; after `ttlMs` the next use loads them again. Uses
 * at the same time share one load. An item is as it was at most `ttlMs` ago, and may be older while
 * the service fails, up to `staleMsMax`.
 *
 * Requests: those of `load`, once in `ttlMs`; none otherwise.
 */
export class ReferenceData<Item, Key extends ReferenceKey> {
  readonly #options: ReferenceDataOptions<Item, Key>;
  readonly #clock: Clock;
  #copy: Copy<Item, Key> | undefined;
  #loading: Promise<Copy<Item, Key>> | undefined;

  /** Sends nothing. Throws `DefinitionError` for times that are no times. */
  constructor(options: ReferenceDataOptions<Item, Key>) {
    const { ttlMs, staleMsMax = 0, clock = systemClock } = options;
    if (!(ttlMs > 0) || !(staleMsMax >= 0)) {
      throw new DefinitionError(`ttlMs of ${ttlMs}, staleMsMax of ${staleMsMax}: no such times`);
    }
    this.#options = options;
    this.#clock = clock;
  }

  /** Every item, in the order in which it was loaded. Loads when there is no fresh copy. */
  async all(): Promise<readonly Item[]> {
    const { items } = await this.#fresh();
    return [...items.values()];
  }

  /** Undefined when no item has the key. Loads when there is no fresh copy. */
  async get(key: Key): Promise<Item | undefined> {
    const { items } = await this.#fresh();
    return items.get(key);
  }

  /**
   * Each row with the item that it names, in the order of the rows: the join that the service does
   * not have. The item is undefined when none has the key, or when the row names none. Loads once,
   * at the first row, when there is no fresh copy.
   */
  async *join<Row, Joined>(
    rows: AsyncIterable<Row> | Iterable<Row>,
    keyOf: (row: Row) => Key | undefined,
    combine: (row: Row, item: Item | undefined) => Joined,
  ): AsyncGenerator<Joined> {
    for await (const row of rows) {
      const key = keyOf(row);
      yield combine(row, key === undefined ? undefined : await this.get(key));
    }
  }

  /** Loads, however fresh the copy is. What was written before the call is in the new copy. */
  async refresh(): Promise<void> {
    this.invalidate();
    await this.#load();
  }

  /** The next use loads again. Later callers do not use a load that is already in progress. */
  invalidate(): void {
    this.#copy = undefined;
    this.#loading = undefined;
  }

  async #fresh(): Promise<Copy<Item, Key>> {
    const copy = this.#copy;
    const ageMs = this.#ageMs(copy);
    if (copy !== undefined && ageMs <= this.#options.ttlMs) return copy;
    try {
      return await this.#load();
    } catch (error) {
      if (copy !== undefined && ageMs <= (this.#options.staleMsMax ?? 0)) return copy;
      throw error;
    }
  }

  #ageMs(copy: Copy<Item, Key> | undefined): number {
    return copy === undefined
      ? Number.POSITIVE_INFINITY
      : this.#clock.monotonicMs() - copy.loadedMs;
  }

  #load(): Promise<Copy<Item, Key>> {
    if (this.#loading !== undefined) return this.#loading;
    const loading = this.#read()
      .then((copy) => {
        if (this.#loading === loading) this.#copy = copy;
        return copy;
      })
      .finally(() => {
        if (this.#loading === loading) this.#loading = undefined;
      });
    this.#loading = loading;
    return loading;
  }

  async #read(): Promise<Copy<Item, Key>> {
    const { load, keyOf, itemsMax = 10_000 } = this.#options;
    const loadedMs = this.#clock.monotonicMs();
    const items = new Map<Key, Item>();
    for await (const item of await load()) {
      const key = keyOf(item);
      if (items.has(key)) throw new ModelError(`two items of reference data have the key '${key}'`);
      items.set(key, item);
      if (items.size <= itemsMax) continue;
      throw new ModelError(
        `reference data of more than ${itemsMax} items: read them when they are needed instead`,
      );
    }
    return { items, loadedMs };
  }
}
