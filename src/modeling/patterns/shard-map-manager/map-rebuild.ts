import type { RoutingKind } from '../../../placement/rebuilt-routing.js';
import { shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import type { ShardKeyType } from '../../../placement/typed-routing.js';
import { ifTableExists } from '../../table/if-table-exists.js';
import type { TableGateway } from '../../table/gateway.js';
import { findMapState } from '../shard-map/map-row.js';
import { shardsOfState } from '../shard-map/map-state.js';
import type { RecoveryPlan } from '../shard-map/recovery.js';
import { ownerOfShard, refuseOtherShard } from '../shard-map/shard-binding.js';

import type { ManagedMap } from './managed-map.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRows, Texts } from './manager-rows.js';
import type { MapSchema } from './map-schema.js';
import { textsOfShard } from './shard-statuses.js';

/** A map some of whose rows in the control table are lost. */
export interface LostMap<T extends ShardKeyType> {
  readonly name: string;
  /** The name of its table in the account of each shard. */
  readonly table: string;
  /** As the shards have its types. */
  readonly schema: MapSchema<T>;
  /** What is made of the texts that shards own, when the routing is lost. */
  readonly routing: RoutingKind;
}

/** What was lost of a map, and is made again, or would be. */
export interface MapRebuild {
  /** Shards that have tables of the map and are not registered. */
  readonly shards: readonly string[];
  /** Whether the map itself is not registered. */
  readonly isUnregistered: boolean;
  /**
   * The routing by which every partition is where it was last open, or, where it never was, where
   * its rows are; undefined: none is lost.
   */
  readonly routing: ShardRouting | undefined;
  /** Where the stored routing and the shards disagree; undefined: it is lost, or changing. */
  readonly plan: RecoveryPlan | undefined;
}

/** What the manager gives to make the rows of a map again. */
export interface RebuildParts<T extends ShardKeyType> {
  readonly control: TableGateway;
  readonly rows: ManagerRows;
  /** The table of the map on every shard that the program has a location of. */
  readonly tables: ReadonlyMap<string, TableGateway>;
  readonly map: ManagedMap<T>;
  /** The row of its registration. */
  readonly texts: Texts;
}

/** What is lost of a map. Range reads of all shards, and a few point reads. Writes nothing. */
export async function findLost<T extends ShardKeyType>(
  { control, rows, tables, map }: RebuildParts<T>,
  wanted: RoutingKind,
): Promise<MapRebuild> {
  const bound = await boundShards(tables, { map: map.name, control: control.table });
  const known = new Set((await rows.list('shard')).map(({ name }) => name));
  const isUnregistered = (await rows.find('map', map.name)) === undefined;
  const state = await findMapState(control, map.name);
  const { recovery } = map.unguarded;
  const routing = state === undefined ? await recovery.rebuiltRouting(wanted) : undefined;
  const used = routing === undefined ? [] : shardsOf(routing);
  const plan = state?.phase === 'settled' ? await recovery.plan('shards') : undefined;
  const routed = state === undefined ? used : shardsOfState(state);
  const shards = [...new Set([...bound, ...routed])].filter((shard) => !known.has(shard)).sort();
  return Object.freeze({ shards, isUnregistered, routing, plan });
}

/**
 * Writes what was found to be lost: shards as detached, since nobody knows what they were, then the
 * map, then its routing. Inserts alone; what others have made again meanwhile stays.
 */
export async function writeLost<T extends ShardKeyType>(
  { rows, map, texts }: RebuildParts<T>,
  { shards, routing }: MapRebuild,
): Promise<void> {
  for (const shard of shards) {
    const texts = textsOfShard({ status: 'detached', region: '', holds: [] });
    await rows.put('shard', shard, texts, undefined);
  }
  await rows.put('map', map.name, texts, undefined);
  if (routing !== undefined) await map.unguarded.create(routing);
}

/**
 * The shards whose tables are of the map. Throws `ManagerError` when there is none,
 * `ShardTakenError` for a table that is another shard of it.
 */
async function boundShards(
  tables: ReadonlyMap<string, TableGateway>,
  owner: { readonly map: string; readonly control: string },
): Promise<readonly string[]> {
  const bound: string[] = [];
  for (const [shard, table] of tables) {
    const found = await ifTableExists(() => ownerOfShard(table));
    if (found?.map !== owner.map || found.control !== owner.control) continue;
    refuseOtherShard(table, found, shard);
    bound.push(shard);
  }
  if (bound.length > 0) return bound;
  throw new ManagerError(
    `no table of a shard is of the map '${owner.map}' in ${owner.control}; create it, or give the ` +
      'locations of its shards and the name of its table',
  );
}
