import type { ShardKeyType, ShardKeyValues } from '../../../placement/typed-routing.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { DefinitionError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { shardedEntitiesOf, type ShardedEntities } from '../shard-map/sharded-entities.js';
import type { ShardMap } from '../shard-map/shard-map.js';
import { isOwned } from '../shard-map/fence.js';
import type { ShardViews } from '../shard-map/shard-view.js';
import type { MapOperations } from './map-operations.js';
import { textOfKey, type MapSchema, type ReferenceType, type ShardKeyText } from './map-schema.js';
import { ReferenceTable, type ReferenceTableOptions } from './reference-table.js';
import { ManagerError } from './manager-errors.js';

/** What a map that was opened consists of. */
export interface ManagedMapParts<T extends ShardKeyType> {
  readonly name: string;
  readonly keyType: T;
  readonly schema: MapSchema<T>;
  readonly map: ShardMap;
  /** The same map, over tables that are used whatever the status of their shards. */
  readonly unguarded: ShardMap;
  readonly operations: MapOperations<T>;
  /** The table of a shard, as its status allows it. */
  readonly tableOf: (shard: string) => TableGateway;
  readonly referenceOptions: (type: ReferenceType) => ReferenceTableOptions;
}

/** A named map that was opened with the schema that it has. */
export class ManagedMap<T extends ShardKeyType = ShardKeyType> {
  readonly name: string;
  readonly keyType: T;
  readonly schema: MapSchema<T>;
  /** For programs: refuses what the status of a shard forbids. */
  readonly map: ShardMap;
  /** For recovery, which also writes to shards that programs may not use. */
  readonly unguarded: ShardMap;
  /** Its changes, with ids. */
  readonly operations: MapOperations<T>;
  readonly #tableOf: (shard: string) => TableGateway;
  readonly #referenceOptions: ManagedMapParts<T>['referenceOptions'];

  constructor(parts: ManagedMapParts<T>) {
    this.name = parts.name;
    this.keyType = parts.keyType;
    this.schema = parts.schema;
    this.map = parts.map;
    this.unguarded = parts.unguarded;
    this.operations = parts.operations;
    this.#tableOf = parts.tableOf;
    this.#referenceOptions = parts.referenceOptions;
  }

  /** The text of a key in routings and their changes. Throws `ValueError`. Sends nothing. */
  textOf(key: ShardKeyValues[T]): ShardKeyText<T> {
    return textOfKey(this.keyType, key);
  }

  /** The shard of a key; undefined when a list has none. A point read each `refreshMs`. */
  async shardOf(key: ShardKeyValues[T]): Promise<string | undefined> {
    return this.map.shardOfText(this.textOf(key));
  }

  /**
   * The shard of a key and its table, for reads of a program's own; write through `entities`. With
   * `validate` it asks the shard whether it has that partition, by one more point read. Throws
   * `ManagerError` for a key without a shard, and for a partition that is elsewhere.
   */
  async connection(
    key: ShardKeyValues[T],
    { validate }: { readonly validate?: { readonly partitionKey: string } } = {},
  ): Promise<{ readonly shard: string; readonly table: TableGateway }> {
    const shard = await this.shardOf(key);
    if (shard === undefined) {
      throw new ManagerError(`the map '${this.name}' has no shard for ${String(key)}`);
    }
    const table = this.#tableOf(shard);
    if (validate !== undefined && !(await isOwned(table, validate.partitionKey))) {
      throw new ManagerError(
        `the shard '${shard}' does not have '${validate.partitionKey}'; it moves, or was never ` +
          'written',
      );
    }
    return { shard, table };
  }

  /** As those of `map`, so that `shardQueryOf` takes a managed map. */
  views(): Promise<ShardViews> {
    return this.map.views();
  }

  /** The entities of a sharded type. Throws `DefinitionError` for another. Sends nothing. */
  entities<D extends AnyDefinition>(definition: D): ShardedEntities<D> {
    if (this.schema.sharded.some((each) => each.definition === definition)) {
      return shardedEntitiesOf(definition, this.map);
    }
    throw new DefinitionError(`the map '${this.name}' has no sharded type ${definition.type}`);
  }

  /** A type of reference data. Throws `DefinitionError` for another. Sends nothing. */
  reference<D extends AnyDefinition>(definition: D): ReferenceTable<D> {
    const type = this.schema.reference?.find((each) => each.definition === definition);
    if (type !== undefined) return new ReferenceTable(definition, this.#referenceOptions(type));
    throw new DefinitionError(`the map '${this.name}' has no reference type ${definition.type}`);
  }
}
