import type { AnyDefinition } from '../../definition/entity-definition.js';
import { parseKey } from '../../definition/key-template.js';
import type { PartitionOf, ReadOf } from '../../definition/shapes.js';
import type { Stored } from '../../definition/stored-entity.js';
import { DefinitionError } from '../../rows/model-error.js';
import { Entities, type EntitiesOptions } from '../../table/entities.js';
import type { Query } from '../../table/query.js';
import type { TableScan } from '../../table/query-plan.js';
import { transaction, type Transaction } from '../../table/transaction.js';
import type { ShardMap } from './shard-map.js';

/**
 * The entities of a definition over all shards of a map. Every method of `Entities` goes to the
 * shard of the partition and behaves as it does there: a write takes one transaction. The first
 * write of a partition takes seven more requests; a write with an outdated map takes one more
 * transaction and one point read, and is applied where it belongs.
 *
 * The ETag of an entity changes when its partition is handed over: a `replace` of an entity that
 * was read before throws `ConditionFailedError`, and `update` reads again by itself.
 */
export class ShardedEntities<D extends AnyDefinition> extends Entities<D> {
  /**
   * Entities of all shards in key order. One range read of every shard for each page. Entities of a
   * partition that is being handed over come from the shard with the current rows, for two point
   * reads for each such partition of a page.
   */
  queryAll(query?: TableScan<D>): Query<Stored<ReadOf<D>>> {
    return this.scanTable(query);
  }

  /** An entity group transaction of one partition, of at most 99 writes. Sends nothing yet. */
  transaction(): Transaction {
    return transaction(this.table);
  }
}

/** The entities of a definition in a shard map. Sends nothing. */
export function shardedEntitiesOf<D extends AnyDefinition>(
  definition: D,
  map: Pick<ShardMap, 'table'>,
  options?: EntitiesOptions,
): ShardedEntities<D> {
  return new ShardedEntities(definition, map.table, options);
}

/**
 * Routes by one property of the PartitionKey, such as its tenant: by its text in the key, without
 * escapes. A PartitionKey that does not match the definition is routed as a whole. Throws
 * `DefinitionError` for a property that is not in the PartitionKey.
 */
export function routedBy<D extends AnyDefinition>(
  { type, partitionKey: template }: D,
  property: keyof PartitionOf<D> & string,
): (partitionKey: string) => string {
  const found = template.parts.find((part) => part.property === property);
  if (found === undefined)
    throw new DefinitionError(`${type}.${property} is not in the PartitionKey`);
  return (partitionKey) => {
    const value = parseKey(template, partitionKey)?.[property];
    return value === undefined ? partitionKey : found.format.format(value);
  };
}
