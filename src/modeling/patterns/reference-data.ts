import { requireCounts } from '../definition/count.js';
import { systemClock, type Clock } from '../../base/clock.js';
import { DefinitionError, ModelError } from '../rows/model-error.js';

/** The type of keys by which rows refer to items. */
export type ReferenceKey = string | number | bigint;

/** Options of a cached table: its items, and how long they stay valid. */
export interface ReferenceDataOptions<Item, Key extends ReferenceKey> {
  /**
   * Reads all items, such as `() => departments.scanTable()`. One load sends the requests of that
   * call.
   */
  readonly load: () => AsyncIterable<Item> | Promise<Iterable<Item>>;
  readonly keyOf: (item: Item) => Key;
  /** The maximum age of the copy, in milliseconds. */
  readonly ttlMs: number;
  /**
   * The maximum age of a copy that is used because loading failed, in milliseconds. 0 when absent:
   * the error is thrown.
   */
  readonly staleMsMax?: number;
  /** The number of items that are cached at most; a load of more fails. 10,000 when absent. */
  readonly itemsMax?: number;
  readonly clock?: Clock;
}

interface Copy<Item, Key> {
  readonly items: ReadonlyMap<Key, Item>;
  /** When its load began: later writes may be missing. */
  readonly loadedMs: number;
}

/**
 * Small tables that rarely change, such as departments or currencies, cached in memory and joined
 * with rows there. The first use loads all items; after `ttlMs` the next use loads them again.
 * Concurrent uses share one load. An item is at most `ttlMs` old, or up to `staleMsMax` while the
 * service fails.
 *
 * Sends the requests of `load`, once per `ttlMs`.
 */
export class ReferenceData<Item, Key extends ReferenceKey> {
  readonly #options: ReferenceDataOptions<Item, Key>;
  readonly #clock: Clock;
  #copy: Copy<Item, Key> | undefined;
  #loading: Promise<Copy<Item, Key>> | undefined;

  /** Throws `DefinitionError` for impossible times. Sends nothing. */
  constructor(options: ReferenceDataOptions<Item, Key>) {
    const { ttlMs, staleMsMax = 0, clock = systemClock } = options;
    if (!(ttlMs > 0) || !(staleMsMax >= 0)) {
      throw new DefinitionError(`ttlMs of ${ttlMs}, staleMsMax of ${staleMsMax}: no such times`);
    }
    this.#options = options;
    this.#clock = clock;
  }

  /** Every item, in the order of loading. Loads when there is no fresh copy. */
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
   * Each row with the item that it refers to, in the order of the rows: the join that the service
   * does not have. The item is undefined when none has the key, or the row has no key. Loads when
   * there is no fresh copy.
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

  /** Loads, however fresh the copy is. Writes from before the call are in the new copy. */
  async refresh(): Promise<void> {
    this.invalidate();
    await this.#load();
  }

  /** Makes the next use load again, even if a load is already in progress. */
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
    requireCounts({ itemsMax });
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

/** Reference data. Throws `DefinitionError` for impossible times. Sends nothing. */
export function referenceDataOf<Item, Key extends ReferenceKey>(
  options: ReferenceDataOptions<Item, Key>,
): ReferenceData<Item, Key> {
  return new ReferenceData(options);
}
