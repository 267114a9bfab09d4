import type { Clock } from '../../../base/clock.js';
import { own } from '../../../base/own.js';
import { systemRandomness } from '../../../base/randomness.js';
import { isShardKeyText, type ShardKeyType } from '../../../placement/typed-routing.js';
import { isReservedKey } from '../../definition/reserved-keys.js';
import { DefinitionError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { findMapState } from '../shard-map/map-row.js';
import { shardsOfState } from '../shard-map/map-state.js';
import type { MapRules } from '../shard-map/shard-map-options.js';
import { managedShardMapOf } from '../shard-map/shard-map.js';
import { ManagedMap } from './managed-map.js';
import type { ManagerRows } from './manager-rows.js';
import { MapOperations } from './map-operations.js';
import { printOfSchema, routedByKeys, type MapSchema } from './map-schema.js';
import type { ShardMapManagerOptions } from './manager-options.js';
import { referenceName } from './reference-table.js';
import { sharedLook } from './restoring-shards.js';
import type { ShardLocation } from './shard-location.js';
import {
  guardedTable,
  tableOfLocation,
  type ShardInfo,
  type ShardStatuses,
} from './shard-statuses.js';

/** What a manager gives to the maps that it opens. */
export interface OpenedMapParts {
  readonly options: ShardMapManagerOptions;
  readonly rows: ManagerRows;
  readonly statuses: ShardStatuses;
  readonly clock: Clock;
  readonly shards: () => Promise<readonly ShardInfo[]>;
  /** Makes the tables that a map lacks on a shard. */
  readonly createTables: (shard: string, map: string) => Promise<void>;
  /** Throws `DefinitionError` for a manager without one. */
  readonly home: () => ShardLocation;
  /** The tables of this name on all shards with copies of reference data, by shard. */
  readonly copies: (table: string) => Promise<ReadonlyMap<string, TableGateway>>;
}

/** The map that is opened. */
export interface OpenedMapName<T extends ShardKeyType> {
  readonly name: string;
  readonly table: string;
  readonly schema: MapSchema<T>;
  /**
   * The shard that is being compared with the maps. Its table is read as empty when it does not
   * exist, even if the map leads to it.
   */
  readonly compared?: string | undefined;
}

/** A map over the tables of its shards. Sends nothing. */
export function openedMap<T extends ShardKeyType>(
  { options, rows, statuses, clock, shards, createTables, home, copies }: OpenedMapParts,
  { name, table, schema, compared }: OpenedMapName<T>,
): ManagedMap<T> {
  const { control, controlCopies, shards: locations } = options;
  const { randomness = systemRandomness } = options;
  const { keyType } = printOfSchema(name, schema);
  // A shard gets its tables when it is registered, and when it comes back.
  const mayBeAbsent = async (shard: string): Promise<boolean> => {
    if (shard === compared || (await rows.find('shard', shard)) === undefined) return true;
    const state = await findMapState(control, name);
    return state !== undefined && !shardsOfState(state).includes(shard);
  };
  const entries = Object.entries(locations).map(([shard, location]) => [
    shard,
    tableOfLocation(location.table(table), () => mayBeAbsent(shard)),
  ]);
  const tables = Object.fromEntries(entries) as Readonly<Record<string, TableGateway>>;
  const guarded = Object.fromEntries(
    Object.entries(tables).map(([shard, gateway]) => [
      shard,
      guardedTable(gateway, (use) => statuses.allow(shard, use)),
    ]),
  );
  const { reads, refreshMs, settleMs, takeOverMs, patienceMs, timers } = options;
  const settings = {
    ...(controlCopies === undefined ? {} : { controlCopies }),
    ...(reads === undefined ? {} : { reads }),
    ...(refreshMs === undefined ? {} : { refreshMs }),
    ...(settleMs === undefined ? {} : { settleMs }),
    ...(takeOverMs === undefined ? {} : { takeOverMs }),
    ...(patienceMs === undefined ? {} : { patienceMs }),
    ...(timers === undefined ? {} : { timers }),
  };
  const routeBy = routedByKeys(schema);
  const common = { ...settings, name, control, routeBy, clock, randomness };
  const rules = rulesOf(rows, keyType);
  const unguarded = managedShardMapOf({ ...common, shards: tables }, rules);
  const map = managedShardMapOf({ ...common, shards: guarded }, rules);
  return new ManagedMap<T>({
    name,
    keyType: keyType as T,
    schema,
    map,
    unguarded,
    operations: new MapOperations<T>({
      name,
      rows,
      map: unguarded,
      followed: map,
      textOf: routeBy,
      tableOf: tableIn(tables),
      shards,
      createTables: (shard) => createTables(shard, name),
      clock,
      randomness,
    }),
    tableOf: tableIn(guarded),
    referenceOptions: (type) => ({
      name: referenceName(name, type.table),
      home: home().table(type.table),
      rows,
      clock,
      shards: () => copies(type.table),
    }),
  });
}

function tableIn(tables: Readonly<Record<string, TableGateway>>): (shard: string) => TableGateway {
  return (shard) => {
    const found = own(tables, shard);
    if (found === undefined) throw new DefinitionError(`no location of the shard '${shard}'`);
    return found;
  };
}

function rulesOf(rows: ManagerRows, keyType: ShardKeyType): MapRules {
  return {
    requireWhole: sharedLook(rows),
    // Rows of the library have partitions of their own.
    isText: (text) => isShardKeyText(keyType, text) || isReservedKey(text),
    wanted: `a key of the type ${keyType}: give that of the key, by textOf`,
  };
}
