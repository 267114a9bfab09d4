import { requireCounts } from '../../definition/count.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyNames, KeyOf, ReadOf } from '../../definition/shapes.js';
import { rowKeyOf, type Stored } from '../../definition/stored-entity.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import type { Entities } from '../../table/entities.js';
import { keyOfText, type KeyList } from '../index-entities/key-list.js';
import { readRowList } from '../index-entities/row-list.js';
import type { IndexPlaces } from './index-places.js';
import { concurrentlyInOrder } from '../../../base/async/concurrently.js';
import type { ResolvedCopies, ResolvedIndex, ResolvedLists } from './with-indexes.js';

/** How look-ups read entities. */
export interface LoadOptions {
  /** Concurrent reads. 16 when absent. */
  readonly concurrency?: number;
}

const concurrencyDefault = 16;

/** The reading methods of `Entities`. */
export type EntityReads<D extends AnyDefinition> = Pick<
  Entities<D>,
  'get' | 'getMany' | 'query' | 'queryPartitions' | 'scanTable'
>;

/** The values in an index row that make its entity's keys. */
type PrimaryValues<D extends AnyDefinition, X extends AnyDefinition> = Pick<
  ReadOf<X>,
  Extract<KeyNames<D>, keyof ReadOf<X>>
>;

/** The entity, if its index entry is still at this key. */
async function entityAt<D extends AnyDefinition>(
  places: IndexPlaces,
  index: ResolvedIndex,
  primary: RowKey,
  at: RowKey,
): Promise<Stored<ReadOf<D>> | undefined> {
  const row: StoredRow | undefined = await places.primary(primary);
  if (row === undefined || places.entryAt(index, row, at) === undefined) return undefined;
  return places.codec.fromRow(row) as Stored<ReadOf<D>>;
}

/**
 * Look-ups through an index of copies. `get`, `query` and so on read the copies themselves, with
 * the included properties; copies outside of the entity's partition may be older than the entities.
 * `entity` and `entities` also read the entities, and leave out those that no longer have the
 * value. `where` is evaluated on the stored copies, including those of an older version.
 */
export class CopyLookUp<
  D extends AnyDefinition,
  X extends AnyDefinition,
> implements EntityReads<X> {
  readonly get: Entities<X>['get'];
  readonly getMany: Entities<X>['getMany'];
  readonly query: Entities<X>['query'];
  readonly queryPartitions: Entities<X>['queryPartitions'];
  readonly scanTable: Entities<X>['scanTable'];
  readonly #places: IndexPlaces;
  readonly #index: ResolvedCopies;

  constructor(places: IndexPlaces, index: ResolvedCopies, rows: Entities<X>) {
    this.#places = places;
    this.#index = index;
    this.get = rows.get.bind(rows);
    this.getMany = rows.getMany.bind(rows);
    this.query = rows.query.bind(rows);
    this.queryPartitions = rows.queryPartitions.bind(rows);
    this.scanTable = rows.scanTable.bind(rows);
  }

  /** The entity with a value, by two point reads. Undefined when there is none. */
  async entity(key: KeyOf<X>): Promise<Stored<ReadOf<D>> | undefined> {
    const row = await this.get(key);
    if (row === undefined) return undefined;
    return this.#entityOf(row);
  }

  /**
   * The entities of index rows, such as the results of a query of the index, in the order of the
   * rows: one point read each, several at a time.
   */
  entities(
    rows: AsyncIterable<PrimaryValues<D, X>> | Iterable<PrimaryValues<D, X>>,
    { concurrency = concurrencyDefault }: LoadOptions = {},
  ): AsyncGenerator<Stored<ReadOf<D>>, void, undefined> {
    requireCounts({ concurrency });
    return present(concurrentlyInOrder(rows, concurrency, (row) => this.#entityOf(row)));
  }

  #entityOf(row: PrimaryValues<D, X>): Promise<Stored<ReadOf<D>> | undefined> {
    const primary = this.#places.codec.key(row);
    return entityAt<D>(this.#places, this.#index, primary, rowKeyOf(row));
  }
}

/**
 * Look-ups through index entities: from a value to the keys of all entities with it, or to the
 * entities. A list outside of the entity's partition may be older than the entities.
 */
export class ListLookUp<D extends AnyDefinition, X extends AnyDefinition> {
  readonly #places: IndexPlaces;
  readonly #index: ResolvedLists;

  constructor(places: IndexPlaces, index: ResolvedLists) {
    this.#places = places;
    this.#index = index;
  }

  /**
   * The keys of the entities with a value, in ordinal order. One point read, or one read of a blob;
   * a list in several rows also takes a range read for each page of them.
   */
  async keys(value: KeyOf<X>): Promise<readonly KeyOf<D>[]> {
    const texts = await this.#texts(this.#keyOf(value));
    return texts.map(
      (text) => this.#places.codec.parseKey(this.#primaryOf(text, value)) as KeyOf<D>,
    );
  }

  /**
   * The entities with a value, in the order of their keys: the requests of `keys`, and one point
   * read for each entity, several at a time. Leaves out entities that no longer have the value.
   */
  async *entities(
    value: KeyOf<X>,
    { concurrency = concurrencyDefault }: LoadOptions = {},
  ): AsyncGenerator<Stored<ReadOf<D>>, void, undefined> {
    requireCounts({ concurrency });
    const at = this.#keyOf(value);
    const texts = await this.#texts(at);
    yield* present(
      concurrentlyInOrder(texts, concurrency, (text) =>
        entityAt<D>(this.#places, this.#index, this.#primaryOf(text, value), at),
      ),
    );
  }

  #keyOf(value: KeyOf<X>): RowKey {
    return this.#index.codec.key(value);
  }

  async #texts(key: RowKey): Promise<KeyList> {
    if (this.#index.place === 'blob') {
      return (await this.#places.blobsOf(this.#index).read(key.rowKey))?.list ?? [];
    }
    return readRowList(this.#places.tableOf(this.#index), key, this.#index.layout);
  }

  #primaryOf(text: string, value: KeyOf<X>): RowKey {
    if (this.#index.place !== 'same-partition') return keyOfText(text);
    return { partitionKey: this.#keyOf(value).partitionKey, rowKey: text };
  }
}

async function* present<T>(
  items: AsyncIterable<T | undefined>,
): AsyncGenerator<T, void, undefined> {
  for await (const item of items) if (item !== undefined) yield item;
}
