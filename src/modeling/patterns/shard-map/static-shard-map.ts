import { allRows } from '../../table/all-rows.js';
import {
  routingFault,
  shardOfText,
  shardsOf,
  type ShardRouting,
} from '../../../placement/shard-routing.js';
import { DefinitionError } from '../../rows/model-error.js';
import { keyOfWrite, type TableGateway } from '../../table/gateway.js';
import { routeOf, shardsOfRoute, type MapState, type Route } from './map-state.js';
import { PartitionHomes } from './partition-homes.js';
import { UnknownShardError, type MisplacedPartition } from './shard-errors.js';
import type { ShardMapOptions } from './shard-map-options.js';
import { ShardView, type ShardViews } from './shard-view.js';
import { ShardedTable, type RoutedPartitions } from './sharded-table.js';

/** The options of a static shard map. */
export interface StaticShardMapOptions extends Pick<ShardMapOptions, 'name' | 'routeBy'> {
  /** The table of each shard, of any account. */
  readonly shards: Readonly<Record<string, TableGateway>>;
  readonly routing: ShardRouting;
}

/**
 * Partitions over several tables by a routing that is part of the program. The shards hold nothing
 * but entities, and requests are those of one table; a page that is not of one partition reads from
 * every shard.
 *
 * Nothing stops a program with another routing from writing elsewhere: all programs must have the
 * same one, and it must not change while rows are there. A `ShardMap` that is created with this
 * routing over the same tables takes the rows over as they are, and can change it.
 */
export class StaticShardMap {
  /** All shards as one table: for `shardedEntitiesOf`, transactions and patterns. */
  readonly table: TableGateway;
  readonly #options: StaticShardMapOptions;
  readonly #state: MapState;

  /** Throws `DefinitionError` for a routing that does not fit the shards. Sends nothing. */
  constructor(options: StaticShardMapOptions) {
    const { name, shards, routing } = options;
    const fault = routingFault(routing);
    if (fault !== undefined) throw new DefinitionError(`the shard map '${name}': ${fault}`);
    const missing = shardsOf(routing).find((shard) => shards[shard] === undefined);
    if (missing !== undefined) {
      throw new DefinitionError(`the shard map '${name}' has no table for the shard '${missing}'`);
    }
    const tables = Object.values(shards);
    if (new Set(tables).size < tables.length) {
      throw new DefinitionError(`two shards of '${name}' are the same table`);
    }
    this.#options = options;
    this.#state = { version: 1, phase: 'settled', routing };
    const map = { name, known: () => Promise.resolve(this.#state) };
    this.table = new ShardedTable(map, this.#partitions(), tables);
  }

  /** The shard of a partition; undefined when a list has none for it. Sends nothing. */
  shardOf(partitionKey: string): string | undefined {
    const { routing } = this.#options;
    return shardOfText(routing, this.#text(partitionKey));
  }

  /** A view of each shard, with the rows whose partitions the map assigns to it. Sends nothing. */
  async views(): Promise<ShardViews> {
    const { name, shards } = this.#options;
    const homes = this.#homes();
    const tableOf = (shard: string): TableGateway => {
      const table = shards[shard];
      if (table !== undefined) return table;
      throw new UnknownShardError(`the map '${name}' has no shard '${shard}'`, shard);
    };
    return {
      shards: Object.keys(shards).sort(),
      shardsOf: (text) => shardsOfRoute(this.#route(text)),
      view: (shard) => new ShardView(shard, { homes, tableOf }),
    };
  }

  /**
   * The partitions on shards where the map does not look for them, such as those that a program
   * with another routing has written. One range read per 1,000 rows of every shard, of which it
   * reads only the keys.
   */
  async *misplaced(): AsyncGenerator<MisplacedPartition, void, undefined> {
    for (const [shard, table] of Object.entries(this.#options.shards)) {
      let last: string | undefined;
      for await (const { partitionKey } of allRows(table, { select: [] })) {
        const home = this.shardOf(partitionKey);
        if (partitionKey !== last && home !== shard) yield { partitionKey, shard, home };
        last = partitionKey;
      }
    }
  }

  #text(partitionKey: string): string {
    const { routeBy } = this.#options;
    return routeBy === undefined ? partitionKey : routeBy(partitionKey);
  }

  #route(text: string): Route {
    return routeOf(this.#state, text);
  }

  #homes(): PartitionHomes {
    return new PartitionHomes({
      route: (partitionKey) => this.#route(this.#text(partitionKey)),
      decide: async ({ home }) => home,
    });
  }

  #partitions(): RoutedPartitions {
    const { name, shards } = this.#options;
    const shard = (found: string | undefined, partitionKey?: string): TableGateway => {
      const table = found === undefined ? undefined : shards[found];
      if (table !== undefined) return table;
      throw new UnknownShardError(`the map '${name}' has no shard for '${partitionKey}'`, found);
    };
    const home = (partitionKey: string): TableGateway =>
      shard(this.shardOf(partitionKey), partitionKey);
    return {
      ownWrites: 0,
      shard,
      readable: async (partitionKey) => home(partitionKey),
      homes: () => this.#homes(),
      confirmed: async (found) => found,
      writeOne: async (write) => home(keyOfWrite(write).partitionKey).write(write),
      write: async (partitionKey, writes) => home(partitionKey).transact(writes),
    };
  }
}

/** A map of shards that does not change. Sends nothing. */
export function staticShardMapOf(options: StaticShardMapOptions): StaticShardMap {
  return new StaticShardMap(options);
}
