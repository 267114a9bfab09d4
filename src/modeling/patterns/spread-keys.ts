import { bucketOf } from '../../placement/hash.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { escapeKeyText } from '../definition/key-escape.js';
import { formatKey, type KeyValues } from '../definition/key-template.js';
import type { CreateOf, KeyOf, MergeOf, PartitionOf, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { DefinitionError } from '../rows/model-error.js';
import type { Row } from '../rows/row.js';
import { Entities, type EntitiesOptions, type UpdateOptions } from '../table/entities.js';
import { EntityExistsError } from '../table/errors.js';
import type { TableGateway } from '../table/gateway.js';
import type { Query } from '../table/query.js';
import type { RowConditions, RowKeyBounds } from '../table/query-plan.js';
import type { WriteCondition } from '../table/row-writes.js';

/** How keys are spread. */
export interface SpreadOptions<B> extends EntitiesOptions {
  /** The property of the PartitionKey that holds the bucket's number: an `int32()`. */
  readonly bucket: B;
  /**
   * How many buckets there are, 2 to 1000: enough that none takes more than about 2,000 entities a
   * second, and few enough to read all of them. Fixed: another number moves almost every row.
   */
  readonly buckets: number;
}

/** A key, a partition or an entity as the caller knows it: without the bucket. */
export type Unspread<T, B> = Omit<T, B & keyof T>;

/** Rows of all buckets. */
export interface SpreadQuery<D extends AnyDefinition, B> extends RowKeyBounds<D>, RowConditions<D> {
  /** The rest of the PartitionKey; `{}` when the bucket is all of it. */
  readonly partition: Unspread<PartitionOf<D>, B>;
  /** Buckets read at a time. 16 when absent. */
  readonly concurrency?: number;
}

const bucketsMax = 1000;
const hashName = 'murmur3-32';

/**
 * Where the table says how its rows are spread. No template writes such a PartitionKey by chance.
 */
const layoutPartition = '!spread-keys';

/**
 * Entities whose keys grow, such as events by their time, spread over buckets so that inserts go to
 * many partitions instead of the last one. The bucket is the hash of the RowKey: whoever has the
 * keys of one entity finds it by a point read, and a range of RowKeys is read from all buckets and
 * merged in its order.
 *
 * Every method but `query` sends what the method of `Entities` with its name sends.
 */
export class SpreadEntities<D extends AnyDefinition, B extends keyof PartitionOf<D> & string> {
  /** The entities with their buckets; for transactions of one bucket, see `key`. */
  readonly entities: Entities<D>;
  readonly #bucket: B;
  readonly #buckets: number;

  /** Use `openSpreadEntities`, which makes sure that the table is spread like this. */
  constructor(definition: D, table: TableGateway, options: SpreadOptions<B>) {
    const { bucket, buckets } = options;
    checkLayout(definition, bucket, buckets);
    this.entities = new Entities(definition, table, options);
    this.#bucket = bucket;
    this.#buckets = buckets;
  }

  /** The whole key, the bucket with it. Sends nothing. */
  key(key: Unspread<KeyOf<D>, B>): KeyOf<D> {
    return this.#spread(key) as KeyOf<D>;
  }

  /** The whole entity, the bucket with it. Sends nothing. */
  entity(entity: Unspread<CreateOf<D> | ReadOf<D>, B>): CreateOf<D> {
    return this.#spread(entity) as CreateOf<D>;
  }

  /** One point read. */
  get(key: Unspread<KeyOf<D>, B>): Promise<Stored<ReadOf<D>> | undefined> {
    return this.entities.get(this.key(key));
  }

  insert(entity: Unspread<CreateOf<D>, B>): Promise<Stored<ReadOf<D>>> {
    return this.entities.insert(this.#create(entity));
  }

  insertIfAbsent(entity: Unspread<CreateOf<D>, B>): Promise<Stored<ReadOf<D>> | undefined> {
    return this.entities.insertIfAbsent(this.#create(entity));
  }

  /** Of an entity that was read, or with `ifMatch`. */
  replace(entity: Unspread<ReadOf<D>, B>, condition?: WriteCondition): Promise<Stored<ReadOf<D>>> {
    return this.entities.replace(this.#spread(entity) as ReadOf<D>, condition);
  }

  merge(
    key: Unspread<KeyOf<D>, B>,
    changes: MergeOf<D>,
    condition: WriteCondition,
  ): Promise<{ readonly etag: string }> {
    return this.entities.merge(this.key(key), changes, condition);
  }

  upsertReplace(entity: Unspread<CreateOf<D>, B>): Promise<Stored<ReadOf<D>>> {
    return this.entities.upsertReplace(this.#create(entity));
  }

  upsertMerge(entity: Unspread<CreateOf<D>, B>): Promise<{ readonly etag: string }> {
    return this.entities.upsertMerge(this.#create(entity));
  }

  delete(key: Unspread<KeyOf<D>, B>, condition: WriteCondition): Promise<void> {
    return this.entities.delete(this.key(key), condition);
  }

  deleteIfExists(key: Unspread<KeyOf<D>, B>, condition?: WriteCondition): Promise<boolean> {
    return this.entities.deleteIfExists(this.key(key), condition);
  }

  update(
    key: Unspread<KeyOf<D>, B>,
    change: (current: Stored<ReadOf<D>>) => ReadOf<D> | undefined | Promise<ReadOf<D> | undefined>,
    options?: UpdateOptions<D>,
  ): Promise<Stored<ReadOf<D>>> {
    return this.entities.update(this.key(key), change, options);
  }

  /**
   * A range of RowKeys in their order, as if it were one partition. One range read for each bucket
   * and another for each 1,000 rows of one; a page asks every bucket. Sends nothing yet.
   */
  query({ partition, concurrency, ...query }: SpreadQuery<D, B>): Query<Stored<ReadOf<D>>> {
    const partitions = Array.from({ length: this.#buckets }, (_, bucket): unknown => ({
      ...partition,
      [this.#bucket]: bucket,
    })) as PartitionOf<D>[];
    return this.entities.queryPartitions({
      ...query,
      partitions,
      order: 'row-key',
      ...(concurrency === undefined ? {} : { concurrency }),
    });
  }

  #create(entity: Unspread<CreateOf<D>, B>): CreateOf<D> {
    return this.#spread(entity) as CreateOf<D>;
  }

  /** The values with the bucket that the RowKey of them has. */
  #spread(values: object): unknown {
    const { rowKey } = this.entities.definition;
    const bucket = bucketOf(formatKey(rowKey, values as KeyValues), this.#buckets);
    return { ...values, [this.#bucket]: bucket };
  }
}

function checkLayout(definition: AnyDefinition, bucket: string, buckets: number): void {
  const { type, partitionKey, rowKey } = definition;
  if (!Number.isInteger(buckets) || buckets < 2 || buckets > bucketsMax) {
    throw new DefinitionError(`${type}: ${buckets} buckets; give 2 to ${bucketsMax}`);
  }
  const part = partitionKey.parts.find(({ property }) => property === bucket);
  const isInRowKey = rowKey.parts.some(({ property }) => property === bucket);
  if (part === undefined || isInRowKey || definition.properties[bucket]?.model.kind !== 'int32') {
    throw new DefinitionError(`${type}.${bucket} is no int32() of the PartitionKey alone`);
  }
  // Refused now, not with the first row of the highest bucket.
  part.format.format(buckets - 1);
}

/**
 * Opens entities that are spread over buckets. Two requests the first time, which write down how
 * the table is spread; one point read later. Throws `DefinitionError` when the table's rows of this
 * type are spread over another number of buckets.
 */
export async function openSpreadEntities<
  D extends AnyDefinition,
  B extends keyof PartitionOf<D> & string,
>(definition: D, table: TableGateway, options: SpreadOptions<B>): Promise<SpreadEntities<D, B>> {
  const spread = new SpreadEntities(definition, table, options);
  const wanted = layoutRow(definition.type, options.buckets);
  const found = await writeOrReadLayout(table, wanted);
  if (layoutOf(found) === layoutOf(wanted)) return spread;
  throw new DefinitionError(
    `${definition.type}: ${table.table} is spread over ${layoutOf(found)}, not over ` +
      `${layoutOf(wanted)}; move its rows to another table to change that: see reKeyingOf`,
  );
}

function layoutOf({ properties }: Row): string {
  return `${String(properties['Buckets']?.value)} buckets by ${String(properties['Hash']?.value)}`;
}

function layoutRow(type: string, buckets: number): Row {
  return {
    partitionKey: layoutPartition,
    rowKey: escapeKeyText(type, ''),
    properties: {
      EntityType: { type: 'String', value: 'SpreadKeys' },
      Buckets: { type: 'Int32', value: buckets },
      Hash: { type: 'String', value: hashName },
    },
  };
}

/** The row that is there, which is this one when there was none. */
async function writeOrReadLayout(table: TableGateway, row: Row): Promise<Row> {
  const stored = await table.get(row);
  if (stored !== undefined) return stored;
  try {
    await table.write({ kind: 'insert', row });
    return row;
  } catch (error) {
    if (!(error instanceof EntityExistsError)) throw error;
    return (await table.get(row)) ?? row;
  }
}
