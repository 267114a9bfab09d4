import { bucketOf } from '../../placement/hashes/text-hash.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { absentValue, completeValues, fieldsOf } from '../definition/entity-fields.js';
import { escapeKeyText } from '../definition/key-escape.js';
import { reservedPartitionKeys } from '../definition/reserved-keys.js';
import { formatKey, type KeyValues } from '../definition/key-template.js';
import type { PropertyModel } from '../definition/property.js';
import type { CreateOf, KeyOf, MergeOf, PartitionOf, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { DefinitionError } from '../rows/model-error.js';
import type { Row } from '../rows/row.js';
import { Entities, type EntitiesOptions } from '../table/entities.js';
import type { ScopedChange, UpdateOptions } from '../table/change.js';
import { EntityExistsError } from '../table/errors.js';
import type { TableGateway } from '../table/gateway.js';
import type { Query } from '../table/query.js';
import type { RowConditions, RowKeyBounds } from '../table/query-plan.js';
import type { WriteCondition } from '../table/row-writes.js';

/** The options of spread keys. */
export interface SpreadOptions<B> extends EntitiesOptions {
  /** The property of the PartitionKey with the number of the bucket: an `int32()`. */
  readonly bucket: B;
  /**
   * The number of buckets, 2 to 1000: enough that none gets more than about 2,000 entities per
   * second, and few enough to read all of them. Must not change: another number moves almost every
   * row.
   */
  readonly buckets: number;
}

/** A key, a partition or an entity without its bucket, as the caller uses it. */
export type Unspread<T, B> = Omit<T, B & keyof T>;

/** Selects rows of all buckets. */
export interface SpreadQuery<D extends AnyDefinition, B> extends RowKeyBounds<D>, RowConditions<D> {
  /** The rest of the PartitionKey; `{}` when the bucket is all of it. */
  readonly partition: Unspread<PartitionOf<D>, B>;
  /** Buckets read concurrently. 16 when absent. */
  readonly concurrency?: number;
}

const bucketsMax = 1000;
const hashName = 'murmur3-32';

/** The partition with the layout of the table. */
const { spreadKeys: layoutPartition } = reservedPartitionKeys;

/**
 * Entities with growing keys, such as events by time, spread over buckets so that inserts go to
 * many partitions instead of the last one. The bucket is the hash of the RowKey, so the keys of one
 * entity determine it, for a point read. A range of RowKeys is read from all buckets and merged in
 * order.
 *
 * Every method except `query` sends what the method of `Entities` with its name sends.
 */
export class SpreadEntities<D extends AnyDefinition, B extends keyof PartitionOf<D> & string> {
  /** The entities with their buckets; for transactions of one bucket, see `key`. */
  readonly entities: Entities<D>;
  readonly #bucket: B;
  readonly #buckets: number;

  /** Use `openSpreadEntities`, which checks that the table has this layout. */
  constructor(definition: D, table: TableGateway, options: SpreadOptions<B>) {
    const { bucket, buckets } = options;
    checkLayout(definition, bucket, buckets);
    this.entities = new Entities(definition, table, options);
    this.#bucket = bucket;
    this.#buckets = buckets;
  }

  /** The whole key, with its bucket. Sends nothing. */
  key(key: Unspread<KeyOf<D>, B>): KeyOf<D> {
    return this.#spread(key) as KeyOf<D>;
  }

  /** The whole entity, with its bucket and the absent values of its RowKey. Sends nothing. */
  entity(entity: Unspread<CreateOf<D> | ReadOf<D>, B>): CreateOf<D> {
    return this.#create(entity);
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

  /** Needs the ETag that the entity was read with, or `ifMatch`. */
  replace(entity: Unspread<ReadOf<D>, B>, condition?: WriteCondition): Promise<Stored<ReadOf<D>>> {
    return this.entities.replace(this.#whole(entity, absentValue) as ReadOf<D>, condition);
  }

  merge(
    key: Unspread<KeyOf<D>, B>,
    changes: MergeOf<D>,
    condition: Required<WriteCondition>,
  ): Promise<{ readonly etag: string }> {
    return this.entities.merge(this.key(key), changes, condition);
  }

  upsertReplace(entity: Unspread<CreateOf<D>, B>): Promise<Stored<ReadOf<D>>> {
    return this.entities.upsertReplace(this.#create(entity));
  }

  upsertMerge(entity: Unspread<CreateOf<D>, B>): Promise<{ readonly etag: string }> {
    // Defaults are not filled in, because they would change stored values.
    return this.entities.upsertMerge(this.#whole(entity, () => undefined) as CreateOf<D>);
  }

  delete(key: Unspread<KeyOf<D>, B>, condition: Required<WriteCondition>): Promise<void> {
    return this.entities.delete(this.key(key), condition);
  }

  deleteIfExists(key: Unspread<KeyOf<D>, B>, condition?: WriteCondition): Promise<boolean> {
    return this.entities.deleteIfExists(this.key(key), condition);
  }

  update<R extends ReadOf<D>>(
    key: Unspread<KeyOf<D>, B>,
    change: ScopedChange<D, R>,
    options?: UpdateOptions<D>,
  ): Promise<Stored<ReadOf<D>>> {
    return this.entities.update(this.key(key), change, options);
  }

  /**
   * A range of RowKeys in order, as if it were one partition. One range read per bucket, and
   * another per 1,000 rows of one; each page reads from every bucket. Sends nothing yet.
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

  #create(entity: object): CreateOf<D> {
    return this.#whole(entity, absentValue) as CreateOf<D>;
  }

  /**
   * The entity with its defaults, which are drawn here once, and with the bucket of the RowKey that
   * it is stored with, which may be computed from them.
   */
  #whole(entity: object, absent: (model: PropertyModel) => unknown): unknown {
    const { definition } = this.entities;
    const given = { ...entity, [this.#bucket]: 0 };
    const values = completeValues(definition.type, fieldsOf(definition), given, absent);
    return this.#spread({ ...entity, ...values });
  }

  /** The values with the bucket of their RowKey. */
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
  // Throws now instead of at the first row of the highest bucket.
  part.format.format(buckets - 1);
}

/**
 * Opens entities that are spread over buckets. Sends two requests the first time, which store the
 * layout of the table; one point read later. Throws `DefinitionError` when the table's rows of this
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

/** The stored row, or this one, stored now, when there was none. */
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
